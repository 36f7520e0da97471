"""Gradient descent on the log-loss of comparisons, every step inside one kernel.

Many comparisons share their pairs of items, and the loss sees a comparison through the distances of its two
pairs only. So each step computes the distance of every pair once, one reciprocal per comparison, and adds one
weight per pair to the gradient. One thread: steps are so short that waking a second costs more than it saves.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from infonn.arrays import FloatArray, IntArray


def descend(embedding: FloatArray, triplets: IntArray, mu: float, steps: int, step: float) -> FloatArray:
    """`steps` gradient steps of size `step` from `embedding` (items, dims) on the mean log-loss; a new array."""
    points = np.array(embedding, np.float64, order="C")
    if len(triplets) and steps:
        first, second, near, far = pairs_of(triplets, len(points))
        _descend(points, first, second, near, far, float(mu), steps, float(step) / len(triplets))
    return points


def pairs_of(triplets: IntArray, n_items: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The different pairs of items (first, second), and which pair each comparison has near and far."""
    references, ends = triplets[:, :1].astype(np.int64), triplets[:, 1:].astype(np.int64)
    codes = np.minimum(references, ends) * n_items + np.maximum(references, ends)  # (comparisons, 2)
    pairs, which = np.unique(codes, return_inverse=True)
    which = which.reshape(-1, 2)
    return pairs // n_items, pairs % n_items, which[:, 0].copy(), which[:, 1].copy()


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _descend(points, first, second, near, far, mu, steps, rate):  # type: ignore[no-untyped-def]
    n_dims = points.shape[1]
    n_pairs = len(first)
    shifted = np.empty(n_pairs)  # d^2 + mu
    weights = np.empty(n_pairs)  # slope of the loss in d^2
    differences = np.empty((n_pairs, n_dims))
    for _ in range(steps):
        for pair in range(n_pairs):
            total = mu
            for dim in range(n_dims):
                difference = points[first[pair], dim] - points[second[pair], dim]
                differences[pair, dim] = difference
                total += difference * difference
            shifted[pair] = total
            weights[pair] = 0.0
        for t in range(len(near)):  # loss log(a + b) - log b: slopes 1 / (a + b) and -a / (b (a + b))
            a, b = shifted[near[t]], shifted[far[t]]
            inverse = 1 / (b * (a + b))
            weights[near[t]] += b * inverse
            weights[far[t]] -= a * inverse
        for pair in range(n_pairs):
            weight = 2 * rate * weights[pair]
            for dim in range(n_dims):
                change = weight * differences[pair, dim]
                points[first[pair], dim] -= change
                points[second[pair], dim] += change
