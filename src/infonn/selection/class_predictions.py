"""How a belief about classes becomes log_probs: from its class probabilities, or from distances to labelled items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from infonn.arrays import Array, FloatArray, IntArray, to_numpy
from infonn.beliefs import Belief, PointedDraws
from infonn.contracts.loop import Prediction, Situation
from infonn.errors import NeedsDrawsError
from infonn.maths.distances import pairwise_spread
from infonn.maths.draws import DEFAULT_DRAWS, DrawMethod, normal_draws
from infonn.maths.information import mean_answer, mutual_information
from infonn.maths.neighbours import labelled_spread
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.selection.predictions import in_chunks

ALL_PAIRS = 20_000  # items up to which "all" pairs may be asked for

# --- class probabilities -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassPrediction:
    """The belief's class probabilities under its draws: (draws, queries, classes)."""

    belief: Belief

    def __call__(self, queries: IntArray) -> Array:
        return self.belief.log_probs_of(queries[:, 0])


@dataclass(frozen=True)
class ClassDraws:
    """BALD's view: each draw of the classifier has its own class probabilities."""

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        check_class_probabilities(situation.belief)
        return ClassPrediction(situation.belief)


def point_log_probs(belief: Belief, items: IntArray) -> FloatArray:
    """The classifier's one answer for each item, (items, classes): its `point` where it has one, else the mean draw."""
    check_class_probabilities(belief)
    if isinstance(belief.class_log_probs, PointedDraws):
        return to_numpy(belief.class_log_probs.point(items))
    return to_numpy(mean_answer(belief.log_probs_of(items)))


def check_class_probabilities(belief: Belief) -> None:
    """Refuse beliefs that know no classes."""
    if belief.class_log_probs is None:
        raise NeedsDrawsError(
            "This rule needs class probabilities, and this learner gives none. Use info_nn, k_center, or a classifier."
        )


# --- distances to labelled items -----------------------------------------------------------------------


@dataclass(frozen=True)
class ClassDistancePrediction:
    """Distances drawn around those to the nearest labelled item of each class: D + sigma * normal.

    The draws belong to the rank of a class by distance, so items with equal distances have equal scores, and the
    order in which a row names its candidates changes nothing.
    """

    embedding: FloatArray
    normals: FloatArray  # (draws, ranks)
    sigma: float
    response: ResponseSettings

    def __call__(self, queries: IntArray) -> FloatArray:
        distances = self._distances(queries)
        order = np.argsort(distances, axis=1, kind="stable")
        ranked = np.take_along_axis(distances, order, axis=1)
        drawn = ranked + self.sigma * self.normals[:, None, : distances.shape[1]]
        log_probs = nearest_log_probs(drawn**2, self.response)
        return np.take_along_axis(log_probs, np.broadcast_to(np.argsort(order, axis=1), log_probs.shape), axis=2)

    def information(self, queries: IntArray) -> FloatArray:
        """The same nats as from the log_probs above, in one pass."""
        if self.response.sharpness != 1 or self.response.lapse:
            return in_chunks(mutual_information, self, queries)
        from infonn.maths.kernels.class_information import distance_information
        from infonn.maths.kernels.threads import in_threads

        normals = np.ascontiguousarray((self.sigma * self.normals).T.astype(np.float32))
        scores = np.empty(len(queries))

        def work(first: int, last: int) -> None:
            distances = np.sort(self._distances(queries[first:last]), axis=1)
            counts = np.isfinite(distances).sum(axis=1)
            scores[first:last] = distance_information(distances, counts, normals, self.response.mu)

        in_threads(work, len(queries), 256, 2048)
        return scores

    def _distances(self, queries: IntArray) -> FloatArray:
        from infonn.maths.kernels.class_information import query_distances

        return query_distances(self.embedding, np.ascontiguousarray(queries))


@dataclass(frozen=True)
class ClassDistanceNoise:
    """Info-NN-m (appendix of the paper): mu is the largest and sigma the deviation of the distances.

    `pairs` "labelled" takes the distances from unlabelled to labelled items, in one pass over the pool; "all" takes
    those between all items as published, for up to 20,000 items.
    """

    sigma: float | None = None
    mu: float | None = None
    n_draws: int = DEFAULT_DRAWS
    method: DrawMethod = "sobol"
    pairs: Literal["labelled", "all"] = "labelled"

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        embedding = np.ascontiguousarray(to_numpy(situation.belief.embedding))
        deviation, largest = self._spread(embedding, situation)
        learned = situation.belief.response if self.mu is None else None
        response = learned or ResponseSettings(self.mu or largest or 1.0)
        sigma = deviation if self.sigma is None else self.sigma
        normals = normal_draws(self.n_draws, situation.pool.shape[1] - 1, rng, self.method)
        return ClassDistancePrediction(embedding, normals, sigma, response)

    def _spread(self, embedding: FloatArray, situation: Situation) -> tuple[float, float]:
        if self.sigma is not None and (self.mu is not None or situation.belief.response is not None):
            return self.sigma, 0.0
        if self.pairs == "all":
            if len(embedding) > ALL_PAIRS:
                raise ValueError(
                    f'pairs="all" compares {len(embedding)} items with one another; it is for up to {ALL_PAIRS}. '
                    'Use pairs="labelled".'
                )
            return pairwise_spread(embedding)
        return labelled_spread(embedding, situation.pool[:, 0], np.unique(situation.answers.queries[:, 0]))
