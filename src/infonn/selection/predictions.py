"""How draws of a belief become log_probs (draws, queries, options): predictors, and the predictions they make.

A predictor is called once for each selection and makes the draws; the prediction it gives back is what criteria
and joint batch rules ask. Draws belong to items, so the order of candidates, the chunk and the thread change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.random import Generator

from infonn.arrays import Array, FloatArray, IntArray, as_like, is_torch, library_of, to_numpy
from infonn.beliefs import Belief
from infonn.contracts.loop import Prediction, Situation
from infonn.errors import InvalidQueryError, NeedsDrawsError, unknown_name
from infonn.maths.distances import option_squared_distances, pairwise_spread
from infonn.maths.draws import DEFAULT_DRAWS, DrawMethod, normal_draws
from infonn.maths.information import mutual_information
from infonn.maths.responses import ResponseSettings, option_log_probs
from infonn.queries import Kind, option_items

ALL_PAIRS = 20_000  # with more items, sigma and mu come from the distances that the pool asks about
CHUNK_NUMBERS = 1 << 22  # log_probs that stand in memory at once, where no kernel does without
DRAWN_NUMBERS = 1 << 25  # coordinates of drawn embeddings, likewise

# --- predictions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DistancePrediction:
    """Distances drawn around those of one embedding: D + sigma * normal of the candidate (Info-NN-distances)."""

    embedding: Array  # (items, dims)
    normals: Array  # (draws, columns)
    column: Array | None  # (items,): an item's column; None: its place among the sorted candidates of its query
    sigma: float
    response: ResponseSettings
    kind: Kind = "nearest"

    def __call__(self, queries: IntArray) -> Array:
        queries = as_like(queries, self.embedding)
        distances = option_squared_distances(self.embedding, queries, self.kind) ** 0.5
        items = option_items(queries, self.kind)
        columns = _places(items) if self.column is None else self.column[items]
        return option_log_probs((distances + self.sigma * self.normals[:, columns]) ** 2, self.response, self.kind)

    def information(self, queries: IntArray) -> FloatArray:
        """Nats each response is expected to tell."""
        if is_torch(self.embedding) or self.kind == "odd_one_out":
            return in_chunks(mutual_information, self, queries)
        from infonn.maths.kernels.information import distance_information

        ranking = self.kind == "ranking"
        scores = distance_information(
            queries, self.embedding, self.normals, self.sigma, self.response, self.column, ranking
        )
        return _plain_where_nan(scores, self, queries)

    def swap_information(self, queries: IntArray, position: int, items: IntArray) -> FloatArray:
        """Nats of every query with each of `items` at `position`: (queries, items); see `kernels.swaps`."""
        if self.kind == "odd_one_out":
            return _swaps_one_by_one(self, queries, position, items)
        from infonn.maths.kernels.swaps import distance_swaps

        embedding, normals = to_numpy(self.embedding), to_numpy(self.normals)
        column = None if self.column is None else to_numpy(self.column)
        ranking = self.kind == "ranking"
        return distance_swaps(queries, position, items, embedding, normals, self.sigma, self.response, column, ranking)


@dataclass(frozen=True)
class EmbeddingPrediction:
    """Distances in drawn embeddings (Info-NN-embedding), be they a belief's own or noise around one embedding."""

    belief: Belief  # with draws
    response: ResponseSettings
    kind: Kind = "nearest"

    def __call__(self, queries: IntArray) -> Array:
        draws, local = self._draws_of(queries)
        if self.kind == "nearest" and not is_torch(draws):
            from infonn.maths.kernels.responses import drawn_log_probs

            return drawn_log_probs(draws, local, self.response)
        squared = option_squared_distances(draws, as_like(local, draws), self.kind)
        return option_log_probs(squared, self.response, self.kind)

    def information(self, queries: IntArray) -> FloatArray:
        """Nats each response is expected to tell."""
        if not len(queries):
            return np.empty(0)
        one, _ = self._draws_of(queries[:1])
        if is_torch(one) or self.kind == "odd_one_out":
            return in_chunks(mutual_information, self, queries)
        from infonn.maths.kernels.information import draws_information

        room = DRAWN_NUMBERS // (one.shape[0] * one.shape[2])  # items whose draws may stand in memory at once
        chunk = len(queries) if len(self.belief.embedding) <= room else max(1, room // queries.shape[1])
        parts = []
        for first in range(0, len(queries), chunk):
            draws, local = self._draws_of(queries[first : first + chunk])
            parts.append(draws_information(local, draws, self.response, self._scale, self.kind == "ranking"))
        return _plain_where_nan(np.concatenate(parts), self, queries)

    def swap_information(self, queries: IntArray, position: int, items: IntArray) -> FloatArray:
        """Nats of every query with each of `items` at `position`: (queries, items); see `kernels.swaps`."""
        if self.kind == "odd_one_out":
            return _swaps_one_by_one(self, queries, position, items)
        from infonn.maths.kernels.swaps import draws_swaps

        draws, local = self._draws_of(np.append(queries, items)[None])
        local, numbers = local[0, : queries.size].reshape(queries.shape), local[0, queries.size :]
        ranking = self.kind == "ranking"
        return draws_swaps(local, position, numbers, to_numpy(draws), self.response, self._scale, ranking)

    @cached_property
    def _scale(self) -> float:
        """A usual squared distance."""
        return float(2 * to_numpy(self.belief.embedding).var(axis=0).sum())

    def _draws_of(self, queries: IntArray) -> tuple[Array, IntArray]:
        """Draws of the items that occur, and the queries with these items renumbered."""
        queries = to_numpy(queries)
        seen = np.zeros(len(self.belief.embedding) + 1, bool)  # the last one is for padding (-1)
        seen[queries] = True
        items = np.flatnonzero(seen[:-1])
        number = np.append(np.cumsum(seen[:-1], dtype=np.int32) - 1, np.int32(-1))
        return self.belief.draws_of(items), number[queries]


def in_chunks(score: Callable[[Array], Array], predict: Prediction, queries: IntArray) -> FloatArray:
    """`score` of the predicted log_probs, so many queries at a time that memory stays bounded."""
    if not len(queries):
        return np.empty(0)
    one = predict(queries[:1])
    chunk = max(1, CHUNK_NUMBERS // (one.shape[0] * one.shape[-1]))
    parts = [to_numpy(score(predict(queries[i : i + chunk]))) for i in range(0, len(queries), chunk)]
    return np.concatenate(parts)


def _swaps_one_by_one(predict: Prediction, queries: IntArray, position: int, items: IntArray) -> FloatArray:
    """The nats of every query with each of `items` at `position`, -inf where it is in it already."""
    swapped = np.repeat(queries[:, None], len(items), axis=1)
    swapped[:, :, position] = items
    there = (queries[:, :, None] == items).any(axis=1)
    scores = np.full(there.shape, -np.inf)
    scores[~there] = in_chunks(mutual_information, predict, swapped[~there])
    return scores


# --- predictors ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DistanceNoise:
    """Info-NN-distances (Alg. 2 of the paper). `sigma` None: the sample deviation of all pairwise distances.

    All queries share the normals. By "place", the candidate with the lowest number takes the first normal of a draw,
    and so on: as many Sobol dimensions as candidates, so 128 draws are more exact than 1,000 independent ones. By
    "item", an item brings its own normal, as a rule on several queries at once needs; that takes 4 times the draws.
    """

    sigma: float | None = None
    mu: float | None = None
    n_draws: int = DEFAULT_DRAWS
    method: DrawMethod = "sobol"
    draws_by: Literal["place", "item"] = "place"
    kind: Kind | None = None  # None: as the answers are

    def __post_init__(self) -> None:
        _check_noise(self.sigma, self.mu, self.n_draws, self.method)

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        spread = _Spread(situation)
        embedding = situation.belief.embedding
        kind = _kind_of(situation, self.kind)
        options = option_items(situation.pool, kind)
        n_columns, column = options.shape[1], None
        if self.draws_by == "item":
            items = np.unique(options)  # only these need a column; that of padding is not read
            n_columns, column = len(items), np.zeros(len(embedding), np.int32)
            column[items] = np.arange(len(items))
        return DistancePrediction(
            embedding,
            as_like(normal_draws(self.n_draws, n_columns, rng, self.method), embedding),
            None if column is None else as_like(column, embedding),
            spread.deviation if self.sigma is None else self.sigma,
            _response(self.mu, spread),
            kind,
        )


@dataclass(frozen=True)
class EmbeddingNoise:
    """Info-NN-embedding (Alg. 1 of the paper): N(0, sigma^2) on every coordinate of the embedding."""

    sigma: float = 1.0
    mu: float | None = None
    n_draws: int = DEFAULT_DRAWS
    method: DrawMethod = "sobol"
    kind: Kind | None = None

    def __post_init__(self) -> None:
        _check_noise(self.sigma, self.mu, self.n_draws, self.method)

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        embedding = situation.belief.embedding
        n_items, n_dims = embedding.shape
        normals = normal_draws(self.n_draws, n_items * n_dims, rng, self.method).reshape(-1, n_items, n_dims)
        noisy = replace(situation.belief, draws=embedding + self.sigma * as_like(normals, embedding))
        return EmbeddingPrediction(noisy, _response(self.mu, _Spread(situation)), _kind_of(situation, self.kind))


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
        return EmbeddingPrediction(situation.belief, response, _kind_of(situation, self.kind))


@dataclass(frozen=True)
class BestDraws:
    """The belief's own draws where it carries some, else distances drawn around its embedding."""

    sigma: float | None = None
    mu: float | None = None
    n_draws: int = DEFAULT_DRAWS
    method: DrawMethod = "sobol"
    kind: Kind | None = None

    def __post_init__(self) -> None:
        _check_noise(self.sigma, self.mu, self.n_draws, self.method)

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        if situation.belief.draws is not None:
            return BeliefDraws(self.mu, self.kind)(situation, rng)
        return DistanceNoise(self.sigma, self.mu, self.n_draws, self.method, kind=self.kind)(situation, rng)


def _check_noise(sigma: float | None, mu: float | None, n_draws: int, method: str) -> None:
    if sigma is not None and not sigma >= 0:
        raise ValueError(f"sigma is {sigma}; a standard deviation is at least 0.")
    if mu is not None:
        ResponseSettings(mu)  # refuses what is not above 0
    if n_draws < 1:
        raise ValueError(f"n_draws is {n_draws}; at least 1 draw is needed, and {DEFAULT_DRAWS} are the default.")
    if method not in get_args(DrawMethod):
        raise unknown_name("Method of drawing", method, get_args(DrawMethod))


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
        kind = self.situation.answers.kind
        distances = np.sqrt(option_squared_distances(embedding, self.situation.pool, kind))
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
    return learned or ResponseSettings(spread.largest or 1.0)  # 1: all items in one place


def _kind_of(situation: Situation, wanted: Kind | None) -> Kind:
    """The kind of question that is predicted: as the answers are, unless another is wanted."""
    kind = situation.answers.kind
    if wanted is not None and wanted != kind and kind == "odd_one_out":
        raise InvalidQueryError(
            f'This strategy foresees answers of kind "{wanted}", which have a reference, and the study asks for the '
            'odd one of three. Use a strategy such as info_nn, or kind = "nearest".'
        )
    return wanted or kind


def _places(candidates: Array) -> Array:
    """Each candidate's place when those of its query are sorted; padding comes last."""
    xp = library_of(candidates)
    numbers = xp.where(candidates < 0, np.iinfo(np.int32).max, candidates)
    return xp.argsort(xp.argsort(numbers, -1), -1)


def _plain_where_nan(scores: FloatArray, predict: Prediction, queries: IntArray) -> FloatArray:
    """Fill in the scores of queries whose weights do not fit the kernel's single precision."""
    rows = np.flatnonzero(np.isnan(scores))
    scores[rows] = in_chunks(mutual_information, predict, queries[rows])
    return scores
