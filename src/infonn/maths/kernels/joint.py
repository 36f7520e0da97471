"""The hot loop of joint information: entropies of what the joint answers so far predict."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from infonn.arrays import FloatArray
from infonn.maths.kernels.logs import REORDERED, fast_log

BLOCK = 256  # columns that one thread takes at a time


@njit(parallel=True, fastmath=REORDERED, cache=True)
def mean_surprise(shares: FloatArray, predicted: FloatArray) -> FloatArray:
    """-p log p of every column, averaged over rows by `shares`: (m,), (m, n) -> (n,)."""
    n_rows, n_columns = predicted.shape
    result = np.zeros(n_columns, np.float32)
    for block in prange((n_columns + BLOCK - 1) // BLOCK):
        first, last = block * BLOCK, min(n_columns, (block + 1) * BLOCK)
        sums = np.zeros(last - first, np.float32)
        for row in range(n_rows):
            share = np.float32(shares[row])
            for j in range(last - first):
                p = predicted[row, first + j]
                sums[j] -= share * p * fast_log(max(p, np.float32(1e-37)))
        result[first:last] = sums
    return result
