"""How a belief about classes becomes log_probs: from its class probabilities, or from distances to labelled items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from infonn.arrays import Array, FloatArray, IntArray, is_torch, to_numpy
from infonn.beliefs import Belief, PointedDraws
from infonn.contracts.loop import Prediction, Situation
from infonn.errors import NeedsDrawsError
from infonn.maths.distances import pairwise_spread
from infonn.maths.draws import DEFAULT_DRAWS, DrawMethod, normal_draws
from infonn.maths.information import mean_answer, mutual_information
from infonn.maths.neighbours import labelled_spread, nearest_of_classes
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.queries import last_labels
from infonn.selection.predictions import EmbeddingPrediction, in_chunks

Pairs = Literal["labelled", "all", "nearest"]  # distances that Info-NN-m takes sigma and mu from
MU_FACTORS, SHARPNESSES = (1.0, 0.1, 10.0), (1.0, 2.0, 4.0, 8.0)  # tried for drawn places
CHUNK_ROWS = 2048  # items whose drawn class probabilities stand in memory at once
ALL_PAIRS = 20_000  # items up to which "all" pairs may be asked for

# --- class probabilities -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassPrediction:
    """The belief's class probabilities under its draws: (draws, queries, classes)."""

    belief: Belief

    def __call__(self, queries: IntArray) -> Array:
        return self.belief.log_probs_of(queries[:, 0])

    def information(self, queries: IntArray) -> FloatArray:
        """The same nats as from the log_probs above: in chunks, in the precision that the belief has."""
        parts = [_draws_information(self(queries[i : i + CHUNK_ROWS])) for i in range(0, len(queries), CHUNK_ROWS)]
        return np.concatenate(parts).astype(float) if parts else np.empty(0)


@dataclass(frozen=True)
class ClassDraws:
    """BALD's view: each draw of the classifier has its own class probabilities."""

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        check_class_probabilities(situation.belief)
        return ClassPrediction(situation.belief)


def _draws_information(log_probs: Array) -> FloatArray:
    """`mutual_information` for class probabilities, none of which is 0: half the passes over the table."""
    if is_torch(log_probs):
        return to_numpy(mutual_information(log_probs))
    probs = np.exp(log_probs)
    mean = probs.mean(axis=0)
    probs *= np.maximum(log_probs, -100)  # in place: p log p, and 0 for what is impossible
    information = probs.mean(axis=0).sum(axis=-1) - (mean * np.log(np.maximum(mean, 1e-30))).sum(axis=-1)
    found: FloatArray = np.maximum(information, 0.0)
    return found


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
class Candidates:
    """Nearest labelled items, one of each of the nearest classes, for queries that name none."""

    embedding: FloatArray
    labelled: IntArray
    classes: IntArray

    def __call__(self, queries: IntArray) -> IntArray:
        if not len(self.labelled) or (queries[:, 1:] >= 0).any():
            return queries
        items, n_nearest = queries[:, 0], queries.shape[1] - 1
        nearest = nearest_of_classes(self.embedding, items, self.labelled, self.classes, n_nearest)
        return np.hstack([items[:, None].astype(np.int32), nearest])


def candidates_of(situation: Situation) -> Candidates:
    """What fills in the candidates of a situation's queries."""
    return Candidates(to_numpy(situation.belief.embedding), *last_labels(situation.answers))


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
    candidates: Candidates

    def __call__(self, queries: IntArray) -> FloatArray:
        distances = self._distances(self.candidates(queries))
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

        queries = self.candidates(queries)
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
    those between all items as published, for up to 20,000 items. Where the pool holds near copies of labelled items
    both are far larger than the distances that decide: noise then makes copies look informative, which they are not.
    "nearest" takes sigma from the distances that queries compare, and as mu the square of the median distance to the
    nearest labelled item.
    """

    sigma: float | None = None
    mu: float | None = None
    n_draws: int = DEFAULT_DRAWS
    method: DrawMethod = "sobol"
    pairs: Pairs = "labelled"

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        embedding = np.ascontiguousarray(to_numpy(situation.belief.embedding))
        deviation, largest = self._spread(embedding, situation)
        learned = situation.belief.response if self.mu is None else None
        response = learned or ResponseSettings(self.mu or largest or 1.0)
        sigma = deviation if self.sigma is None else self.sigma
        normals = normal_draws(self.n_draws, situation.pool.shape[1] - 1, rng, self.method)
        return ClassDistancePrediction(embedding, normals, sigma, response, candidates_of(situation))

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
        if self.pairs == "nearest":
            return candidate_spread(embedding, candidates_of(situation)(situation.pool))
        return labelled_spread(embedding, situation.pool[:, 0], np.unique(situation.answers.queries[:, 0]))


def candidate_spread(embedding: FloatArray, queries: IntArray) -> tuple[float, float]:
    """Deviation of the distances that queries compare, and the square of the median one to the nearest candidate."""
    from infonn.maths.kernels.class_information import query_distances

    distances = query_distances(np.ascontiguousarray(embedding), np.ascontiguousarray(queries))
    known = distances[np.isfinite(distances)]
    if len(known) < 2:
        return 0.0, 0.0
    nearest = distances.min(axis=1)
    return float(known.std(ddof=1)), float(np.median(nearest[np.isfinite(nearest)])) ** 2


# --- drawn places --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlaceDraws:
    """Info-NN with places drawn from the belief, in place of noise around one embedding.

    A query asks which labelled item, the nearest of each class, the item is most like; distances are those between
    the places of both under one draw. How sharply they decide is fitted to the labels there are.
    """

    def __call__(self, situation: Situation, rng: Generator) -> Prediction:
        belief = situation.belief
        if belief.draws is None:
            raise NeedsDrawsError(
                "Info-NN on draws needs a belief that draws where items lie, and this learner gives none. "
                'Use the learner "bayes_logistic", or info_nn.'
            )
        labelled, classes = last_labels(situation.answers)
        drawn = to_numpy(belief.draws_of(labelled))
        response = fitted_response(drawn.mean(axis=0), classes) if len(labelled) else ResponseSettings(1.0)
        return PlacePrediction(EmbeddingPrediction(belief, response, "nearest"), candidates_of(situation))


@dataclass(frozen=True)
class PlacePrediction:
    """Distances between drawn places of an item and of its candidates."""

    places: EmbeddingPrediction
    candidates: Candidates

    @property
    def response(self) -> ResponseSettings:
        return self.places.response

    def __call__(self, queries: IntArray) -> Array:
        return self.places(self.candidates(queries))

    def information(self, queries: IntArray) -> FloatArray:
        """Nats each response is expected to tell."""
        return self.places.information(self.candidates(queries))


def fitted_response(places: FloatArray, classes: IntArray) -> ResponseSettings:
    """mu and sharpness under which labelled items, each left out in turn, most likely get their own class.

    (n, dims), (n,): an item answers by the nearest other item of each class. mu is sought around the median squared
    distance to the nearest of its own class.
    """
    squared = ((places[:, None] - places[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(squared, np.inf)
    names, own = np.unique(classes, return_inverse=True)
    nearest = np.stack([squared[:, own == c].min(axis=1) for c in range(len(names))], axis=1)
    to_own = nearest[np.arange(len(own)), own]
    told = np.isfinite(to_own)  # a class of one item has no other to be near to
    known = to_own[told] if told.any() else squared[np.isfinite(squared)]
    middle = float(np.median(known)) if len(known) else 1.0
    settings = [
        ResponseSettings(max(middle, 1e-6) * factor, sharpness) for factor in MU_FACTORS for sharpness in SHARPNESSES
    ]
    if not told.any() or len(names) < 2:
        return settings[0]

    def fit(response: ResponseSettings) -> float:
        log_probs = nearest_log_probs(nearest[told], response)
        return float(log_probs[np.arange(told.sum()), own[told]].sum())

    return max(settings, key=fit)
