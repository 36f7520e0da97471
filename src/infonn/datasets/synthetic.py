"""Items that are made up: the truth is known."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.random import Generator

from infonn.arrays import FloatArray


def gaussian_points(n_items: int, n_dims: int, rng: Generator) -> FloatArray:
    """Independent N(0, I) points: the true embedding of the paper's MDS experiments."""
    return rng.standard_normal((n_items, n_dims))


@dataclass(frozen=True)
class MahalanobisItems:
    """Features people could see, and the metric by which they judge: d^2 = (x - y)^T M (x - y)."""

    features: FloatArray  # (items, dims)
    metric: FloatArray  # (dims, dims)


def mahalanobis_items(rng: Generator, n_items: int = 100, n_dims: int = 10) -> MahalanobisItems:
    """N(0, I) features and a random metric M = L^T L with entries of L from N(0, 2^2), as in the published code."""
    features = rng.standard_normal((n_items, n_dims))
    factor = 2 * rng.standard_normal((n_dims, n_dims))
    return MahalanobisItems(features, factor.T @ factor)
