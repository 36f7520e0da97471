"""Squared distances of items to labelled items, and what is read off them; see `maths.neighbours` for its use.

Kernels let go of the interpreter and run in slices (`kernels.threads`); BLAS has threads of its own, which would
fight with these over the processors, so the matrix product is written out.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.logs import REORDERED

STEP = 4  # dimensions that the product takes at a time; points end in zeros up to a multiple of it
TWICE = np.float32(2)


@njit(nogil=True, fastmath=REORDERED, cache=True)
def fill_squared_distances(embedding, items, centre, labelled, squared_norms, squared, start):  # type: ignore[no-untyped-def]
    """Fill columns of `squared` (items, ...) from `start` on with distances to `labelled` (dims, columns).

    `labelled` are less `centre`, as items become here: |x|^2 + |y|^2 - 2 x y, never below 0. Items go two by two, an
    odd last one with itself, so that a distance does not depend on the items beside it.
    """
    n_dims, n_columns = labelled.shape
    x, y = np.zeros(n_dims, np.float32), np.zeros(n_dims, np.float32)
    spare = np.empty(n_columns, np.float32)
    for row in range(0, len(items), 2):
        other = min(row + 1, len(items) - 1)
        of_x = squared[row, start : start + n_columns]
        of_y = squared[other, start : start + n_columns] if other > row else spare
        norm_x, norm_y = np.float32(0), np.float32(0)
        for d in range(len(centre)):
            x[d] = np.float32(embedding[items[row], d]) - centre[d]
            y[d] = np.float32(embedding[items[other], d]) - centre[d]
            norm_x += x[d] * x[d]
            norm_y += y[d] * y[d]
        for j in range(n_columns):
            of_x[j] = norm_x + squared_norms[j]
            of_y[j] = norm_y + squared_norms[j]
        for d in range(0, n_dims, STEP):  # a number that is read serves both rows, a sum STEP dimensions
            xa, xb, xc, xe = TWICE * x[d], TWICE * x[d + 1], TWICE * x[d + 2], TWICE * x[d + 3]
            ya, yb, yc, ye = TWICE * y[d], TWICE * y[d + 1], TWICE * y[d + 2], TWICE * y[d + 3]
            for j in range(n_columns):
                a, b, c, e = labelled[d, j], labelled[d + 1, j], labelled[d + 2, j], labelled[d + 3, j]
                of_x[j] -= xa * a + xb * b + xc * c + xe * e
                of_y[j] -= ya * a + yb * b + yc * c + ye * e
        for j in range(n_columns):
            of_x[j] = max(of_x[j], np.float32(0))
            of_y[j] = max(of_y[j], np.float32(0))


@njit(nogil=True, cache=True)
def nearest_of_groups(squared: FloatArray, ends: IntArray, positions: IntArray) -> None:
    """Fill `positions` (rows, k) with the column of the nearest member of each of the k nearest groups of columns.

    Numbers that are not negative have the order of their bits, and the least of integers is found many at a time.
    """
    n_nearest = positions.shape[1]
    groups = np.empty(n_nearest, np.int64)
    values = np.empty(n_nearest, np.int32)
    for row in range(len(squared)):
        bits = squared[row].view(np.int32)
        values[:] = np.iinfo(np.int32).max
        groups[:] = -1
        start = 0
        for group in range(len(ends)):
            nearest = np.int32(np.iinfo(np.int32).max)
            for j in range(start, ends[group]):
                nearest = min(nearest, bits[j])
            start = ends[group]
            place = n_nearest
            while place > 0 and values[place - 1] > nearest:
                place -= 1
            for later in range(n_nearest - 1, place, -1):
                values[later], groups[later] = values[later - 1], groups[later - 1]
            if place < n_nearest:
                values[place], groups[place] = nearest, group
        for place in range(n_nearest):
            if groups[place] >= 0:
                column = ends[groups[place] - 1] if groups[place] else 0
                while bits[column] != values[place]:
                    column += 1
                positions[row, place] = column


@njit(nogil=True, fastmath=REORDERED, cache=True)
def distance_sums(squared: FloatArray, sums: FloatArray) -> None:
    """Fill `sums` (rows, 3) with each row's sum of distances, sum and largest of squared distances."""
    for row in range(len(squared)):
        total, square, top = np.float32(0), np.float32(0), np.int32(0)
        bits = squared[row].view(np.int32)  # in the order of the numbers, which are not negative
        for j in range(squared.shape[1]):
            value = squared[row, j]
            total += np.sqrt(value)
            square += value
            top = max(top, bits[j])
        sums[row, 0], sums[row, 1], sums[row, 2] = total, square, np.int32(top).view(np.float32)


@njit(nogil=True, fastmath=REORDERED, cache=True)
def cover(points: FloatArray, centres: FloatArray, nearest_squared: FloatArray) -> None:
    """Lower every point's squared distance to its nearest centre by more centres; what is below 0 stays."""
    for row in range(len(points)):
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
