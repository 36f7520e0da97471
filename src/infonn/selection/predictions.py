"""How draws of a belief become log_probs (draws, queries, options): predictors, and the predictions they make.

A predictor is called once for each selection and makes the draws; the prediction it gives back is what criteria
and joint batch rules ask. Draws belong to items, so the order of candidates, the chunk and the thread change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator

from infonn.arrays import Array, IntArray, as_like, to_numpy
from infonn.beliefs import Belief
from infonn.errors import NeedsDrawsError
from infonn.framework import Prediction, Situation
from infonn.maths.distances import pairwise_spread, query_squared_distances
from infonn.maths.draws import DEFAULT_DRAWS, DrawMethod, normal_draws
from infonn.maths.responses import ResponseSettings, nearest_log_probs, ranking_log_probs
from infonn.queries import Kind

ALL_PAIRS = 20_000  # with more items, sigma and mu come from the distances that the pool asks about

# --- predictions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DistancePrediction:
    """Distances drawn around those of one embedding: D + sigma * normal of the candidate (Info-NN-distances)."""

    embedding: Array  # (items, dims)
    normals: Array  # (draws, candidates): one column for each item that is a candidate somewhere in the pool
    column: Array  # (items,): an item's column in `normals`
    sigma: float
    response: ResponseSettings
    kind: Kind = "nearest"

    def __call__(self, queries: IntArray) -> Array:
        queries = as_like(queries, self.embedding)
        distances = query_squared_distances(self.embedding, queries) ** 0.5
        drawn = distances + self.sigma * self.normals[:, self.column[queries[:, 1:]]]
        return option_log_probs(drawn**2, self.response, self.kind)


@dataclass(frozen=True)
class EmbeddingPrediction:
    """Distances in drawn embeddings (Info-NN-embedding), be they a belief's own or noise around one embedding."""

    belief: Belief  # with draws
    response: ResponseSettings
    kind: Kind = "nearest"

    def __call__(self, queries: IntArray) -> Array:
        items, local = np.unique(to_numpy(queries), return_inverse=True)
        draws = self.belief.draws_of(items)  # padding (-1) fetches the last item, and is not read
        local = np.where(to_numpy(queries) < 0, -1, local.reshape(queries.shape))
        return option_log_probs(query_squared_distances(draws, as_like(local, draws)), self.response, self.kind)


def option_log_probs(squared_distances: Array, response: ResponseSettings, kind: Kind) -> Array:
    """log P(option) for each NN query, or log P(order) for each ranking."""
    if kind == "ranking":
        return ranking_log_probs(squared_distances, response)
    return nearest_log_probs(squared_distances, response)


# --- predictors ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DistanceNoise:
    """Info-NN-distances (Alg. 2 of the paper). `sigma` None: the sample deviation of all pairwise distances."""

    sigma: float | None = None
    mu: float | None = None
    n_draws: int = DEFAULT_DRAWS
    method: DrawMethod = "sobol"
    kind: Kind | None = None  # None: as the answers are

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        spread = _Spread(situation)
        embedding = situation.belief.embedding
        items = _items_in(situation.pool[:, 1:])
        column = np.zeros(len(embedding), np.int32)
        column[items] = np.arange(len(items))
        return DistancePrediction(
            embedding,
            as_like(normal_draws(self.n_draws, len(items), rng, self.method), embedding),
            as_like(column, embedding),
            spread.deviation if self.sigma is None else self.sigma,
            _response(self.mu, spread),
            self.kind or situation.answers.kind,
        )


@dataclass(frozen=True)
class EmbeddingNoise:
    """Info-NN-embedding (Alg. 1 of the paper): N(0, sigma^2) on every coordinate of the embedding."""

    sigma: float = 1.0
    mu: float | None = None
    n_draws: int = DEFAULT_DRAWS
    method: DrawMethod = "sobol"
    kind: Kind | None = None

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        embedding = situation.belief.embedding
        n_items, n_dims = embedding.shape
        normals = normal_draws(self.n_draws, n_items * n_dims, rng, self.method).reshape(-1, n_items, n_dims)
        noisy = replace(situation.belief, draws=embedding + self.sigma * as_like(normals, embedding))
        return EmbeddingPrediction(noisy, _response(self.mu, _Spread(situation)), self.kind or situation.answers.kind)


@dataclass(frozen=True)
class BeliefDraws:
    """Info-NN on the draws that the belief itself carries."""

    mu: float | None = None
    kind: Kind | None = None

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        if situation.belief.draws is None:
            raise NeedsDrawsError(
                "This belief is one embedding without draws. Use info_nn_distances or info_nn_embedding, "
                "which draw around it, or a learner that gives draws."
            )
        response = _response(self.mu, _Spread(situation))
        return EmbeddingPrediction(situation.belief, response, self.kind or situation.answers.kind)


@dataclass(frozen=True)
class BestDraws:
    """The belief's own draws where it carries some, else distances drawn around its embedding."""

    sigma: float | None = None
    mu: float | None = None
    n_draws: int = DEFAULT_DRAWS
    method: DrawMethod = "sobol"
    kind: Kind | None = None

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        if situation.belief.draws is not None:
            return BeliefDraws(self.mu, self.kind)(situation, rng)
        return DistanceNoise(self.sigma, self.mu, self.n_draws, self.method, self.kind)(situation, rng)


# --- settings read off the embedding -------------------------------------------------------------------


@dataclass(frozen=True)
class _Spread:
    """Deviation and largest of the distances between items, worked out only when somebody asks."""

    situation: Situation

    @cached_property
    def _both(self) -> tuple[float, float]:
        embedding = to_numpy(self.situation.belief.embedding)
        if len(embedding) <= ALL_PAIRS:
            return pairwise_spread(embedding)
        distances = np.sqrt(query_squared_distances(embedding, self.situation.pool))
        distances = distances[np.isfinite(distances)]
        return float(distances.std(ddof=1)), float(distances.max())

    @property
    def deviation(self) -> float:
        return self._both[0]

    @property
    def largest(self) -> float:
        return self._both[1]


def _response(mu: float | None, spread: _Spread) -> ResponseSettings:
    """The strategy's mu if it has one, else what the learner used, else the paper's: the largest distance."""
    learned = spread.situation.belief.response
    if mu is not None:
        return replace(learned, mu=mu) if learned else ResponseSettings(mu)
    return learned or ResponseSettings(spread.largest)


def _items_in(queries: IntArray) -> IntArray:
    items: IntArray = np.unique(queries)
    return items[items >= 0]
