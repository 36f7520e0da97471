"""Batches of triplets by Kumari et al. 2020: uncertain ones, thinned out so that they tell different things.

The 3B most uncertain triplets are taken, and from them B by farthest-point selection: first the most uncertain one,
then always the triplet whose entropy times the squared distance to the nearest triplet already taken is largest. The
rules differ in where they put a triplet. Each triplet is a point per possible answer, and squared distances are
expected over both answers; the published code squares them once more, which we do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.beliefs import HIDDEN, Belief
from infonn.contracts.loop import BatchRule, Prediction, Situation, Strategy
from infonn.errors import InvalidQueryError
from infonn.maths.distances import query_squared_distances
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.selection.batches import best
from infonn.selection.criteria import Entropy, Random

PAPER_MU = 1e-5

Places = Callable[[IntArray, Belief], FloatArray]
"""triplets -> (triplets, answers, numbers): where a triplet is, under each answer (or whatever the answer)."""


# --- where a triplet is ------------------------------------------------------------------------------


def centroids(triplets: IntArray, belief: Belief) -> FloatArray:
    """The middle of the three items, whatever the answer: (n, 1, dims)."""
    return to_numpy(belief.embedding)[triplets].mean(axis=1)[:, None]


def positions(triplets: IntArray, belief: Belief) -> FloatArray:
    """Reference, near and far item one after the other, under each answer: (n, 2, 3 dims)."""
    embedding = to_numpy(belief.embedding)
    return np.stack([embedding[_answered(triplets, near)].reshape(len(triplets), -1) for near in (0, 1)], axis=1)


def gradients(triplets: IntArray, belief: Belief) -> FloatArray:
    """Gradient of the triplet loss in the last layer's weights, under each answer: (n, 2, units * dims).

    Without a network behind the belief the embedding itself is the parameter: every item has its own unit. The margin
    of the hinge counts as not reached, as it is for triplets uncertain enough to be asked.
    """
    embedding = to_numpy(belief.embedding)
    hidden = None if belief.state is None else belief.state.get(HIDDEN)
    if hidden is None:
        items, triplets = np.unique(triplets, return_inverse=True)
        embedding, units = embedding[items], np.eye(len(items))
        triplets = triplets.reshape(-1, 3)
    elif len(hidden) == 1:
        units = hidden[0]
    else:
        raise InvalidQueryError("batch_gradient takes one network's gradient, and this belief is an ensemble of them.")
    parts = []
    for near in (0, 1):
        rows = _answered(triplets, near)
        reference, close, away = np.moveaxis(embedding[rows], 1, 0)
        pulls = np.stack([away - close, close - reference, reference - away], axis=1)  # half of d loss / d z
        parts.append(2 * np.einsum("nid,niu->nud", pulls, units[rows]).reshape(len(rows), -1))
    return np.stack(parts, axis=1)


def _answered(triplets: IntArray, near: int) -> IntArray:
    return triplets if near == 0 else triplets[:, [0, 2, 1]]


# --- the batch rule ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decorrelated:
    """Entropy times decorrelation over the `overcomplete` * B most uncertain triplets, by farthest points."""

    places: Places
    overcomplete: int = 3

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        rows = best(scores, situation, min(self.overcomplete * size, len(scores)), rng)
        triplets = situation.pool[rows]
        points = self.places(triplets, situation.belief)
        squared = expected_squared_distances(points, answer_probs(triplets, situation.belief)[:, : points.shape[1]])
        return rows[farthest_points(scores[rows], squared, size)]


def expected_squared_distances(points: FloatArray, probs: FloatArray) -> FloatArray:
    """E |x - y|^2 over independent answers: points (n, answers, numbers), probs (n, answers) -> (n, n).

    One matrix product: the expectation of the product is the product of the expectations.
    """
    probs = probs / probs.sum(axis=1, keepdims=True)  # a place that no answer moves has all of it
    mean = np.einsum("na,nad->nd", probs, points)
    norms = np.einsum("na,nad,nad->n", probs, points, points)
    return np.maximum(norms[:, None] + norms[None, :] - 2 * mean @ mean.T, 0)


def farthest_points(weights: FloatArray, squared_distances: FloatArray, size: int) -> IntArray:
    """`size` rows: the heaviest, then always the one whose weight times distance to those taken is largest."""
    taken = [int(np.argmax(weights))]
    nearest = squared_distances[taken[0]].copy()
    while len(taken) < min(size, len(weights)):
        merit = weights * nearest
        merit[taken] = -1  # a triplet is asked once, however far all others are
        taken.append(int(np.argmax(merit)))
        np.minimum(nearest, squared_distances[taken[-1]], out=nearest)
    return np.array(taken, np.int64)


def answer_probs(triplets: IntArray, belief: Belief) -> FloatArray:
    """How likely each answer is at the embedding itself: (n, 2)."""
    embedding = to_numpy(belief.embedding)
    squared = query_squared_distances(embedding, triplets)
    return np.exp(nearest_log_probs(squared, belief.response or ResponseSettings(PAPER_MU)))


@dataclass(frozen=True)
class CertainPrediction:
    """Answers by the embedding alone: log_probs of one draw."""

    embedding: FloatArray
    response: ResponseSettings

    def __call__(self, queries: IntArray) -> FloatArray:
        log_probs: FloatArray = nearest_log_probs(query_squared_distances(self.embedding, queries), self.response)
        return log_probs[None]


@dataclass(frozen=True)
class AtEmbedding:
    """Predicts by the embedding alone, without doubt about it; of triplets only."""

    mu: float | None = None

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        _check_triplets(situation)
        belief = situation.belief
        response = belief.response or ResponseSettings(PAPER_MU)
        if self.mu is not None:
            response = replace(response, mu=self.mu)
        return CertainPrediction(to_numpy(belief.embedding), response)


def _check_triplets(situation: Situation) -> None:
    n_candidates, kind = situation.pool.shape[1] - 1, situation.answers.kind
    if n_candidates != 2:
        raise InvalidQueryError(
            f"This strategy picks triplets, a reference and 2 candidates, and the pool has queries of "
            f"{n_candidates} candidates. Set candidates = 2."
        )
    if kind == "odd_one_out":
        raise InvalidQueryError(
            "This strategy picks triplets, a reference and 2 candidates, and the study asks for the odd one of three. "
            'Use kind = "nearest", or a strategy such as info_nn.'
        )


def _any_triplet(situation: Situation, rng: Generator) -> None:
    _check_triplets(situation)


# --- named -------------------------------------------------------------------------------------------


def random_triplets() -> Strategy:
    """Triplets drawn from the pool at random: the baseline of triplet methods."""
    return Strategy(Random(), best, _any_triplet)


def batch_euclidean(overcomplete: int = 3, mu: float | None = None) -> Strategy:
    """Uncertain triplets whose items lie far from those of the others, answer by answer (Kumari et al. 2020)."""
    return _uncertain(Decorrelated(positions, overcomplete), mu)


def batch_centroid(overcomplete: int = 3, mu: float | None = None) -> Strategy:
    """Uncertain triplets whose centroids lie far apart (Kumari et al. 2020)."""
    return _uncertain(Decorrelated(centroids, overcomplete), mu)


def batch_gradient(overcomplete: int = 3, mu: float | None = None) -> Strategy:
    """Uncertain triplets whose expected gradients differ most (Kumari et al. 2020)."""
    return _uncertain(Decorrelated(gradients, overcomplete), mu)


def _uncertain(rule: BatchRule, mu: float | None) -> Strategy:
    return Strategy(Entropy(), rule, AtEmbedding(mu))
