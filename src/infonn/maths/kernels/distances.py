"""Mean distances over many draws, without a table of distances for each draw."""

from __future__ import annotations

import numpy as np
from numba import njit

from infonn.arrays import FloatArray
from infonn.maths.kernels.threads import in_threads

OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}


def mean_distances(draws: FloatArray, n_known: int, weights: FloatArray) -> FloatArray:
    """Sum over draws of weight times distance: (draws, items, dims), (draws,) -> (items, known), to the first items.

    Its plain twin is `maths.distances.mean_distances`.
    """
    draws = np.ascontiguousarray(draws, np.float64)
    known = np.ascontiguousarray(np.swapaxes(draws[:, :n_known], 1, 2))  # (draws, dims, known)
    weights, out = np.ascontiguousarray(weights, np.float64), np.zeros((draws.shape[1], n_known))

    def work(first: int, last: int) -> None:
        _add_distances(draws, known, weights, first, out[first:last])

    in_threads(work, len(out), 16, 256)
    return out


@njit(**OPTIONS)
def _add_distances(draws, known, weights, first, out):  # type: ignore[no-untyped-def]
    """One draw after the other, whose known points stay in the cache; rows from `first` on."""
    n_known = out.shape[1]
    squared = np.empty(n_known)
    for s in range(len(draws)):
        for row in range(len(out)):
            squared[:] = 0.0
            for d in range(draws.shape[2]):
                place, others = draws[s, first + row, d], known[s, d]
                for k in range(n_known):
                    difference = place - others[k]
                    squared[k] += difference * difference
            sums, weight = out[row], weights[s]
            for k in range(n_known):
                sums[k] += weight * np.sqrt(squared[k])
