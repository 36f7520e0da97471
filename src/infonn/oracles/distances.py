"""Answers by a true metric: the nearest candidate, all of them in order, or the odd one; with or without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.errors import DataError, InvalidQueryError
from infonn.maths.distances import option_squared_distances
from infonn.maths.prediction import expected_responses
from infonn.maths.responses import ResponseSettings, option_log_probs
from infonn.queries import Kind


@dataclass(frozen=True)
class DistanceOracle:
    """Answers by distances in a true embedding (items, dims).

    Without `response` the nearest is always chosen (of equals the one that stands first); with it, answers are
    drawn from the response model, so that a question asked twice may be answered twice.
    """

    embedding: FloatArray
    kind: Kind = "nearest"
    response: ResponseSettings | None = None

    def __post_init__(self) -> None:
        if self.kind == "label":
            raise InvalidQueryError("Distances answer questions of similarity; classes need another oracle.")
        if not np.isfinite(self.embedding).all():
            row = int(np.flatnonzero(~np.isfinite(self.embedding).all(axis=1))[0])
            raise DataError(f"Item {row} of the true embedding is not finite; every coordinate must be a number.")

    def answer(self, queries: IntArray, rng: Generator) -> IntArray:
        """The response to each query."""
        if self.response is None:
            return expected_responses(self.embedding, queries, self.kind).astype(np.int32)
        squared_distances = option_squared_distances(self.embedding, queries, self.kind)
        return _draw(option_log_probs(squared_distances, self.response, self.kind), rng)


def mahalanobis_oracle(
    features: FloatArray, metric: FloatArray, kind: Kind = "nearest", response: ResponseSettings | None = None
) -> DistanceOracle:
    """Answers by (x - y)^T M (x - y), for features (items, dims) and a metric M (dims, dims)."""
    return DistanceOracle(features @ metric_root(metric), kind, response)


def metric_root(metric: FloatArray) -> FloatArray:
    """A matrix R with M = R R^T: features @ R have Euclidean distances equal to M's."""
    if not np.allclose(metric, metric.T):
        raise DataError("A Mahalanobis metric must be a symmetric matrix; this one is not.")
    values, vectors = np.linalg.eigh(metric)
    if values.min() < -1e-9 * max(1.0, float(values.max())):
        raise DataError(f"A Mahalanobis metric has no negative eigenvalues; the smallest here is {values.min():.3g}.")
    root: FloatArray = vectors * np.sqrt(np.maximum(values, 0))
    return root


def _draw(log_probs: FloatArray, rng: Generator) -> IntArray:
    """One option per row, by its probability (Gumbel noise on the logs)."""
    noise = rng.gumbel(size=log_probs.shape)
    return np.argmax(log_probs + noise, axis=1).astype(np.int32)
