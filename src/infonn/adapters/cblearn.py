"""cblearn, both ways: its embeddings learn in our loop, and our posterior is one of its estimators.

create_study(..., learner="cblearn:SOE")              # theirs in our loop
PosteriorEmbedding(n_components=2).fit(triplets)      # ours in theirs
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import cblearn.embedding
import numpy as np
from cblearn import utils
from cblearn.embedding._base import TripletEmbeddingMixin
from numpy.random import Generator
from sklearn.base import BaseEstimator

from infonn.beliefs import Belief
from infonn.errors import unknown_name
from infonn.estimators import Embedding
from infonn.queries import Answers, split_into_triplets


@dataclass(frozen=True)
class EmbeddingOf:
    """An embedding of cblearn ("SOE", "TSTE", "CKL", "FORTE", ...) as a learner: a point estimate without draws.

    `settings` are what its constructor takes, such as `n_components`. A fit goes on from the one before where the
    estimator takes a start.
    """

    name: str
    n_items: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _estimator(self.name)  # a wrong name shows now

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """The estimator's embedding of all triplets in the answers; without any, places drawn at random."""
        seed = int(rng.integers(2**31 - 1))
        estimator = _estimator(self.name)(**self.settings, random_state=seed)
        triplets = split_into_triplets(answers)
        if not len(triplets):
            return Belief(rng.standard_normal((self.n_items, estimator.n_components)))
        takes = inspect.signature(estimator.fit).parameters
        given: dict[str, Any] = {"n_objects": self.n_items} if "n_objects" in takes else {}
        if start is not None and "init" in takes and start.embedding.shape[1] == estimator.n_components:
            given["init"] = np.asarray(start.embedding, float)
        return Belief(np.asarray(estimator.fit(triplets.astype(np.int64), **given).embedding_, float))


def learner_part(name: str) -> Callable[..., EmbeddingOf]:
    """What the name "cblearn:SOE" stands for: a part that takes that estimator's own settings."""
    theirs = [key for key in inspect.signature(_estimator(name)).parameters if key != "random_state"]

    def part(n_items: int, **settings: Any) -> EmbeddingOf:
        return EmbeddingOf(name, n_items, settings)

    keyword = inspect.Parameter.KEYWORD_ONLY
    part.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("n_items", keyword),
            *[inspect.Parameter(key, keyword, default=None) for key in theirs],
        ]
    )
    part.__doc__ = f"{name} of cblearn."
    return part


def _estimator(name: str) -> Any:
    known = [key for key, value in vars(cblearn.embedding).items() if hasattr(value, "fit")]
    if name not in known:
        raise unknown_name("Embedding of cblearn", name, known)
    return getattr(cblearn.embedding, name)


class PosteriorEmbedding(TripletEmbeddingMixin, BaseEstimator):  # type: ignore[misc]
    """infonn's posterior as an estimator of cblearn: triplets in any of its formats, `embedding_` out.

    `belief_` has the draws beside the point estimate, and the response model that the answers chose.
    """

    def __init__(self, n_components: int = 2, n_chains: int = 48, random_state: Any = None) -> None:
        self.n_components = n_components
        self.n_chains = n_chains
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, n_objects: int | None = None) -> PosteriorEmbedding:
        """Learn from triplets (i, j, k): i is nearer to j than to k, or as the responses `y` say."""
        self.fit_X_ = utils.check_query(X, result_format="list-order")
        triplets = np.asarray(utils.check_query_response(X, y, result_format="list-order"), np.int64)
        self.n_features_in_ = 3
        queries = np.hstack([triplets[:, :1], np.sort(triplets[:, 1:], axis=1)])
        model = Embedding(
            "posterior",
            n_items=n_objects or int(triplets.max()) + 1,
            settings={"dims": self._validate_n_components(), "n_chains": self.n_chains},
            random_state=self.random_state,
        ).fit(queries, (queries[:, 2] == triplets[:, 1]).astype(np.int32))
        self.belief_, self.embedding_ = model.belief_, np.asarray(model.embedding_, float)
        return self
