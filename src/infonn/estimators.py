"""The scikit-learn face of the learners: fit, transform, predict, score.

model = Embedding(settings={"dims": 2}).fit(queries, responses)
model.embedding_                     # where the items lie
model.score(test_queries, test_responses)

model = Embedding("network", features=tastes).fit(queries, responses)
model.transform(tastes_of_new_ones)  # where items lie that nobody was asked about
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.contracts.loop import PlacingLearner
from infonn.datasets.items import as_features, check_features
from infonn.errors import DataError, unknown_name
from infonn.loop import checked, map_by
from infonn.maths.accuracy import triplet_accuracy
from infonn.maths.placement import beside
from infonn.maths.prediction import expected_responses
from infonn.queries import Answers, Kind, check_kind, check_queries, check_responses, split_into_triplets
from infonn.specs.registry import DEFAULT_LEARNERS, LEARNERS, build_part
from infonn.specs.settings import check_ranges

_KINDS = ("nearest", "ranking", "odd_one_out")


class Embedding(BaseEstimator):  # type: ignore[misc]
    """An embedding learned from similarity answers. `X` are queries, `y` the responses to them.

    `learner` is a name ("posterior", which is a study's default, "mds", "network") and `settings` its settings;
    `features` (items, ...) are what a network learns from. Without `features`, `n_items` says how many items there are;
    without either, the queries do. `embedding_` has the columns that `settings={"dims": 2}` asks for, or else as many
    as the answers support; `predict` and `score` use `belief_.embedding`, whose columns keep all that was learned.
    """

    def __init__(
        self,
        learner: str = "default",
        *,
        features: Any = None,
        n_items: int | None = None,
        kind: Kind = "nearest",
        settings: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.features = features
        self.n_items = n_items
        self.kind = kind
        self.settings = settings
        self.random_state = random_state

    def fit(self, queries: Any, responses: Any) -> Embedding:
        """Learn from `queries` (n, 1 + C) and the position each response chose (for rankings, the order's index).

        With `kind="odd_one_out"` a query is three items, and the response the position of the odd one.
        """
        features = None if self.features is None else as_features(self.features)
        n_items = _count_items(queries, features, self.n_items)
        if features is not None:
            check_features(features.reshape(len(features), -1), n_items)
        answers = self._answers(queries, responses, n_items)
        context = {"n_items": n_items, "features": features, "kind": self.kind}
        check_ranges("settings", self.settings or {})
        self.learner_ = build_part("Learner", LEARNERS, self._name, dict(self.settings or {}), context)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        self.belief_ = checked(self.learner_.fit(answers, np.random.default_rng(seed)), n_items)
        self.embedding_: FloatArray = map_by(self.learner_, self.belief_)
        self.n_items_ = n_items
        return self

    def transform(self, items: Any) -> FloatArray:
        """Where items lie: the features of new ones (n, ...), or the numbers of known ones (n,)."""
        check_is_fitted(self)
        array = np.asarray(items)
        if array.ndim == 1 and np.issubdtype(array.dtype, np.integer):
            if len(array) and not (array.min() >= 0 and array.max() < self.n_items_):
                raise DataError(
                    f"Items are numbered 0 to {self.n_items_ - 1}; {array.min()} to {array.max()} were given."
                )
            return self.embedding_[array]
        if not isinstance(self.learner_, PlacingLearner):
            raise DataError(
                f'Learner "{self._name}" places only items it was asked about: give their numbers. '
                'To place new items by their features, use learner="posterior" or "network".'
            )
        placed: FloatArray = self.learner_.transform(array, self.belief_)
        whole = to_numpy(self.belief_.embedding)
        return placed if whole.shape[1] == self.embedding_.shape[1] else beside(whole, self.embedding_, placed)

    def fit_transform(self, queries: Any, responses: Any) -> FloatArray:
        """Learn, and give the embedding of all items."""
        return self.fit(queries, responses).embedding_

    def predict(self, queries: Any) -> IntArray:
        """The response the embedding would give to each query."""
        check_is_fitted(self)
        asked = self._queries(queries, self.n_items_)
        return expected_responses(to_numpy(self.belief_.embedding), asked, self.kind).astype(np.int32)

    def score(self, queries: Any, responses: Any) -> float:
        """Triplet accuracy: share of the triplets in these answers that the embedding agrees with."""
        check_is_fitted(self)
        answers = self._answers(queries, responses, self.n_items_)
        return triplet_accuracy(to_numpy(self.belief_.embedding), split_into_triplets(answers))

    @property
    def _name(self) -> str:
        """What "default" stands for: what it does in a study."""
        return DEFAULT_LEARNERS["similarity", self.features is not None] if self.learner == "default" else self.learner

    def _answers(self, queries: Any, responses: Any, n_items: int) -> Answers:
        checked = self._queries(queries, n_items)
        return Answers(checked, check_responses(responses, checked, self.kind), self.kind)

    def _queries(self, queries: Any, n_items: int) -> IntArray:
        if self.kind not in _KINDS:
            raise unknown_name("Kind of question", self.kind, _KINDS)
        checked = check_queries(queries, n_items)
        check_kind(checked.shape[1] - 1, self.kind)
        return checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False  # rows of item numbers, not a table of features
        tags.no_validation = True
        return tags


def _count_items(queries: Any, features: FloatArray | None, n_items: int | None) -> int:
    if n_items is not None:
        if isinstance(n_items, bool) or not isinstance(n_items, int | np.integer) or n_items < 1:
            raise DataError(f"n_items is {n_items!r}; it must be a whole number, at least 1.")
        return int(n_items)
    if features is not None:
        return len(features)
    try:
        array = np.asarray(queries)
    except ValueError:  # rows of different lengths, of which the check has more to say
        array = check_queries(queries, 0)
    if not array.size or not np.issubdtype(array.dtype, np.integer):
        raise DataError("How many items are there? Give n_items, or features, or queries of whole numbers.")
    return int(array.max()) + 1
