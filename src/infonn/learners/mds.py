"""Probabilistic multidimensional scaling: one embedding that makes the answers likely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray
from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.maths.distances import largest_distance
from infonn.maths.kernels.comparisons import descend
from infonn.maths.responses import ResponseSettings
from infonn.queries import Answers, split_into_triplets


@dataclass(frozen=True)
class MDS:
    """A fixed number of gradient steps on the mean log-loss of the answers' comparisons (paper, App. "MDS").

    With `mu="diminishing"` fit k uses mu_k = D_max 0.99^k, where D_max is the largest distance in the embedding it
    starts from; a number keeps mu constant. The belief carries the mu of the *next* fit, which is the one its
    queries are scored with: score and fit of one round agree. Without `start` the embedding is drawn uniformly
    from [0, 1] and k is 0.
    """

    n_items: int
    dims: int = 2
    mu: float | Literal["diminishing"] = "diminishing"
    shrink: float = 0.99
    steps: int = 500
    step: float = 0.5

    def __post_init__(self) -> None:
        if self.n_items < 1 or self.dims < 1:
            raise ValueError(f"{self.n_items} items in {self.dims} dimensions; both must be at least 1.")
        if not (self.mu == "diminishing" or (not isinstance(self.mu, str) and self.mu > 0)):
            raise ValueError(f'mu is {self.mu!r}; it must be above 0, or "diminishing".')
        if not (self.steps >= 0 and self.step > 0 and 0 < self.shrink <= 1):
            raise ValueError(
                f"steps={self.steps}, step={self.step}, shrink={self.shrink}; steps must not be negative, "
                "step must be above 0, shrink above 0 and at most 1."
            )

    def with_dims(self, dims: int) -> MDS:
        """The same in so many dimensions."""
        return replace(self, dims=dims)

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """The belief after `steps` more gradient steps on all answers."""
        triplets = split_into_triplets(answers)
        if len(triplets) and int(triplets.max()) >= self.n_items:
            raise DataError(f"Item {int(triplets.max())} was answered about, and there are {self.n_items} items.")
        if start is None:
            embedding: FloatArray = rng.random((self.n_items, self.dims))
            round, mu = 0, self._mu(embedding, 0)
        else:
            if start.embedding.shape != (self.n_items, self.dims):
                raise DataError(
                    f"The belief to start from has shape {start.embedding.shape}; "
                    f"it must be {(self.n_items, self.dims)}."
                )
            embedding = start.embedding
            round = int(start.state["round"]) if start.state else 0
            mu = start.response.mu if start.response else self._mu(embedding, round)
        embedding = descend(embedding, triplets, mu, self.steps, self.step)
        response = ResponseSettings(self._mu(embedding, round + 1))
        return Belief(embedding, response=response, state={"round": np.array(round + 1)})

    def _mu(self, embedding: FloatArray, round: int) -> float:
        if self.mu != "diminishing":
            return float(self.mu)
        spread = largest_distance(embedding)
        return max(spread, 1e-12) * self.shrink**round  # points that all coincide still have a mu above 0
