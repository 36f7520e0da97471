"""The point estimate of many draws: places whose distances are the mean of the draws' distances."""

from __future__ import annotations

import numpy as np

from infonn.arrays import FloatArray
from infonn.beliefs import RowDraws
from infonn.maths.distances import classical_scaling
from infonn.maths.kernels.distances import mean_distances
from infonn.maths.threads import one_thread

LANDMARKS = 500  # items whose distances give the axes of the point estimate, where there are more
CHUNK = 20_000  # items placed at a time


def mean_embedding(draws: FloatArray, n_known: int | None = None) -> FloatArray:
    """Points whose distances are the mean of the draws' distances, each draw at the same size: classical scaling.

    (draws, items, dims) -> (items, at most items - 1), widest dimension first; no rotation of a draw matters. Axes
    are those of the first `n_known` items, the others are placed among them.
    """
    known = draws[:, :n_known]
    centred = known - known.mean(axis=1, keepdims=True)
    sizes = np.sqrt((centred**2).sum(axis=(1, 2)) / centred.shape[1])
    weights = sizes.mean() / len(draws) / np.maximum(sizes, 1e-300)
    with one_thread():
        return classical_scaling(mean_distances(draws, known.shape[1], weights) ** 2)


def spread_embedding(draws: FloatArray | RowDraws, n_items: int) -> FloatArray:
    """`mean_embedding`, by the distances to 500 items from first to last where there are more: time and memory grow
    with the items, and not with their pairs."""
    drawn: RowDraws = draws if callable(draws) else lambda rows: draws[:, rows]
    if n_items <= LANDMARKS:
        return mean_embedding(drawn(np.arange(n_items)))
    landmarks = np.linspace(0, n_items - 1, LANDMARKS).astype(int)
    known = drawn(landmarks)
    parts = []
    for first in range(0, n_items, CHUNK):
        part = drawn(np.arange(first, min(n_items, first + CHUNK)))
        parts.append(mean_embedding(np.concatenate([known, part], axis=1), LANDMARKS)[LANDMARKS:])
    return np.concatenate(parts)


def placed_beside(known: FloatArray, new: FloatArray) -> FloatArray:
    """Where new items lie in the `mean_embedding` of the known ones: draws of both, (draws, ..., dims)."""
    rows = np.linspace(0, known.shape[1] - 1, min(known.shape[1], LANDMARKS)).astype(int)
    both = np.concatenate([known[:, rows], new], axis=1)
    return mean_embedding(both, n_known=len(rows))[len(rows) :]
