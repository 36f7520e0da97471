"""Kernels over a chunk of products of items and labelled items; see `maths.neighbours` for what they give."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.logs import REORDERED


@njit(parallel=True, cache=True)
def nearest_of_groups(products: FloatArray, offsets: FloatArray, ends: IntArray, positions: IntArray) -> None:
    """Fill `positions` (rows, k) with the column of the nearest member of each of the k nearest groups of columns."""
    n_nearest = positions.shape[1]
    for row in prange(products.shape[0]):
        values = np.full(n_nearest, np.inf, np.float32)
        start = 0
        for group in range(len(ends)):
            nearest, column = np.float32(np.inf), -1
            for j in range(start, ends[group]):
                value = offsets[j] - np.float32(2) * products[row, j]
                if value < nearest:
                    nearest, column = value, j
            start = ends[group]
            if column < 0 or nearest >= values[n_nearest - 1]:
                continue
            place = n_nearest - 1
            while place > 0 and values[place - 1] > nearest:
                values[place] = values[place - 1]
                positions[row, place] = positions[row, place - 1]
                place -= 1
            values[place] = nearest
            positions[row, place] = column


@njit(parallel=True, fastmath=REORDERED, cache=True)
def distance_sums(products: FloatArray, offsets: FloatArray, norms: FloatArray) -> tuple[float, float, float]:
    """Sum of distances, sum and largest of squared distances over a chunk."""
    n_rows, n_columns = products.shape
    totals = np.empty(n_rows)
    squares = np.empty(n_rows)
    largest = np.empty(n_rows, np.float32)
    for row in prange(n_rows):
        total, square, top = np.float32(0), np.float32(0), np.float32(0)
        for j in range(n_columns):
            squared = max(norms[row] + offsets[j] - np.float32(2) * products[row, j], np.float32(0))
            total += np.sqrt(squared)
            square += squared
            top = max(top, squared)
        totals[row], squares[row], largest[row] = total, square, top
    return totals.sum(), squares.sum(), largest.max()


@njit(parallel=True, fastmath=REORDERED, cache=True)
def cover(points: FloatArray, centres: FloatArray, nearest_squared: FloatArray) -> None:
    """Lower every point's squared distance to its nearest centre by more centres; what is below 0 stays."""
    for row in prange(len(points)):
        nearest = nearest_squared[row]
        for centre in range(len(centres)):
            if nearest <= 0:
                break
            total = np.float32(0)
            for d in range(points.shape[1]):
                difference = points[row, d] - centres[centre, d]
                total += difference * difference
            nearest = min(nearest, total)
        nearest_squared[row] = nearest
