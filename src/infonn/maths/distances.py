"""Distances that the options of a query go by, for one embedding or many draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from infonn.arrays import Array, FloatArray, IntArray, is_torch
from infonn.queries import Kind

if TYPE_CHECKING:
    from torch import Tensor


_OTHERS = ((1, 2), (0, 2), (0, 1))  # of three, by place


def option_squared_distances(embedding: Array, queries: Array, kind: Kind) -> Array:
    """Squared distance that each option goes by: (..., items, dims), (n, 1 + k) -> (..., n, options or candidates).

    That of a candidate to its reference; of an odd one, that between the two others.
    """
    if kind == "odd_one_out":
        return opposite_squared_distances(embedding, queries)
    return query_squared_distances(embedding, queries)


def opposite_squared_distances(embedding: Array, triples: Array) -> Array:
    """Between the two others, for each of three items: (..., items, dims), (n, 3) -> (..., n, 3).

    As `query_squared_distances`: for numpy and torch, by a table of all pairs where items are few.
    """
    if is_torch(embedding):
        first, second = ([others[place] for others in _OTHERS] for place in (0, 1))
        corners = _torch_rows(embedding, triples)  # (..., n, 3, dims)
        return (corners[..., first, :] - corners[..., second, :]).square().sum(-1)
    pairs = [(triples[:, i], triples[:, j]) for i, j in _OTHERS]
    if embedding.shape[-2] ** 2 <= len(triples):
        table = ((embedding[..., :, None, :] - embedding[..., None, :, :]) ** 2).sum(-1)
        return np.stack([table[..., i, j] for i, j in pairs], axis=-1)
    return np.stack([((embedding[..., i, :] - embedding[..., j, :]) ** 2).sum(-1) for i, j in pairs], axis=-1)


def query_squared_distances(embedding: Array, queries: Array) -> Array:
    """Squared distances of candidates to their reference: (..., items, dims), (n, 1 + k) -> (..., n, k).

    Padding (-1) gets infinity, so that its weight and its probability are 0. Works for numpy and torch. Where few
    items are asked about often, every pair is worked out once and looked up; the numbers are the same.
    """
    candidates = queries[:, 1:]
    if is_torch(embedding):
        return _torch_squared_distances(embedding, queries, candidates < 0)
    if embedding.ndim == 2 and len(embedding) ** 2 <= candidates.size:
        table = ((embedding[:, None] - embedding[None]) ** 2).sum(-1)
        squared = table[queries[:, :1], candidates]
    else:
        difference = embedding[..., candidates, :] - embedding[..., queries[:, :1], :]
        squared = (difference**2).sum(-1)
    return np.where(candidates < 0, np.asarray(np.inf, np.result_type(squared, np.float32)), squared)


def _torch_squared_distances(embedding: Tensor, queries: Tensor, padding: Tensor) -> Tensor:
    rows = _torch_rows(embedding, queries.clamp(min=0))
    return (rows[..., 1:, :] - rows[..., :1, :]).square().sum(-1).masked_fill(padding, float("inf"))


def _torch_rows(embedding: Tensor, queries: Tensor) -> Tensor:
    """One look-up of all rows: its gradient is one sum, where that of indexing sorts. Nothing goes to the device."""
    rows = embedding.index_select(-2, queries.flatten())
    return rows.view(*embedding.shape[:-2], *queries.shape, embedding.shape[-1])


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


def largest_distance(embedding: FloatArray, chunk: int = 1 << 22) -> float:
    """The largest of the distances between items, in bounded memory."""
    if len(embedding) ** 2 <= chunk:
        return float(pairwise_distances(embedding).max())
    centred = embedding - embedding.mean(axis=0)
    parts = np.array_split(centred, 1 + len(centred) ** 2 // chunk)
    return max(float(pairwise_squared_distances(part, centred).max()) for part in parts) ** 0.5


def pairwise_spread(embedding: FloatArray, chunk: int = 1 << 22) -> tuple[float, float]:
    """Sample deviation and largest of the distances between all pairs of items, in bounded memory."""
    centred = embedding - embedding.mean(axis=0)
    n_items, total, total_squared, largest = len(embedding), 0.0, 0.0, 0.0
    for rows in np.array_split(np.arange(n_items), min(n_items, 1 + n_items**2 // chunk)):
        squared = pairwise_squared_distances(centred[rows], centred)
        squared[np.arange(len(rows)), rows] = 0
        total, total_squared = total + float(np.sqrt(squared).sum()), total_squared + float(squared.sum())
        largest = max(largest, float(squared.max()) ** 0.5)
    n_pairs = n_items * (n_items - 1) / 2  # every pair was met twice
    variance = (total_squared / 2 - (total / 2) ** 2 / n_pairs) / max(1, n_pairs - 1)
    return max(variance, 0.0) ** 0.5, largest


def mean_distances(draws: FloatArray, n_known: int, weights: FloatArray) -> FloatArray:
    """Sum over draws of weight times distance: (draws, items, dims), (draws,) -> (items, known), to the first items.

    `kernels.distances` does the same in less time.
    """
    total = np.zeros((draws.shape[1], n_known))
    for draw, weight in zip(draws, weights):
        total += weight * np.sqrt(((draw[:, None] - draw[None, :n_known]) ** 2).sum(axis=2))
    return total


def triplet_margins(embedding: FloatArray, triplets: IntArray) -> FloatArray:
    """Squared distance to the far item minus that to the near one: above 0 where the embedding agrees."""
    squared = query_squared_distances(embedding, triplets[:, :3])
    margins: FloatArray = squared[..., 1] - squared[..., 0]
    return margins


def classical_scaling(squared_distances: FloatArray) -> FloatArray:
    """Points with these squared distances, as nearly as Euclidean ones can: (items, known) -> (items, dims).

    The first `known` rows are the known items among themselves and give the axes, widest first (Torgerson); further
    rows are placed by their squared distances to the known ones (Gower). Dimensions of no width are left out.
    """
    n_known = squared_distances.shape[1]
    among = squared_distances[:n_known]
    means = among.mean(axis=0)
    products = -0.5 * (among - means - means[:, None] + among.mean())
    values, axes = np.linalg.eigh((products + products.T) / 2)
    kept = np.flatnonzero(values > 1e-9 * max(float(values[-1]), 1e-300))[::-1]
    points: FloatArray = -0.5 * (squared_distances - means) @ axes[:, kept] / np.sqrt(values[kept])
    return points
