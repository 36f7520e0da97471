"""Distances from references to candidates, for one embedding or many draws."""

from __future__ import annotations

import numpy as np

from infonn.arrays import Array, FloatArray, IntArray, library_of


def query_squared_distances(embedding: Array, queries: Array) -> Array:
    """Squared distances of candidates to their reference: (..., items, dims), (n, 1 + k) -> (..., n, k).

    Padding (-1) gets infinity, so that its weight and its probability are 0. Works for numpy and torch.
    """
    xp = library_of(embedding)
    candidates = queries[:, 1:]
    difference = embedding[..., candidates, :] - embedding[..., queries[:, :1], :]
    squared = (difference**2).sum(-1)
    return xp.where(candidates < 0, xp.asarray(float("inf"), dtype=squared.dtype), squared)


def pairwise_squared_distances(rows: FloatArray, columns: FloatArray) -> FloatArray:
    """(..., n, dims), (..., m, dims) -> (..., n, m) through one matrix product, never below 0."""
    product = rows @ np.swapaxes(columns, -1, -2)
    squared = (rows**2).sum(-1)[..., :, None] + (columns**2).sum(-1)[..., None, :] - 2 * product
    return np.maximum(squared, 0)


def pairwise_distances(embedding: FloatArray) -> FloatArray:
    """Euclidean distances between all items, exact zeros on the diagonal: (items, dims) -> (items, items)."""
    centred = embedding - embedding.mean(axis=0)  # the product form loses digits far from the origin
    distances = np.sqrt(pairwise_squared_distances(centred, centred))
    np.fill_diagonal(distances, 0)
    return distances


def triplet_margins(embedding: FloatArray, triplets: IntArray) -> FloatArray:
    """Squared distance to the far item minus that to the near one: above 0 where the embedding agrees."""
    reference, near, far = (embedding[..., triplets[:, column], :] for column in range(3))
    margins: FloatArray = ((reference - far) ** 2).sum(-1) - ((reference - near) ** 2).sum(-1)
    return margins
