"""The hot loop of joint information: entropies of what the joint answers so far predict, in one pass."""

from __future__ import annotations

import numpy as np
from numba import njit

from infonn.arrays import FloatArray
from infonn.maths.kernels.logs import REORDERED, fast_log
from infonn.maths.kernels.threads import in_threads

TILE = 64  # joint answers at a time, so that their likelihoods stay in the nearest cache while columns pass
LEAST_SLICE, MOST_SLICE = 128, 1024  # columns that one thread takes at a time


def mean_surprise(shares: FloatArray, likelihoods: FloatArray, probs: FloatArray) -> FloatArray:
    """-p log p of each column of p = likelihoods @ probs, averaged by `shares`: (m,), (m, draws), (draws, n) -> (n,).

    p is never held as a whole.
    """
    m, n_draws = likelihoods.shape
    padding = -m % TILE
    shares = np.pad(np.asarray(shares, np.float32), (0, padding)).reshape(-1, TILE)
    padded = np.pad(np.asarray(likelihoods, np.float32), ((0, padding), (0, 0))).reshape(-1, TILE, n_draws)
    tiles = np.ascontiguousarray(padded.transpose(0, 2, 1))
    probs = np.ascontiguousarray(probs, np.float32)
    result = np.zeros(probs.shape[1], np.float32)
    in_threads(
        lambda first, last: _add_surprise(shares, tiles, probs, first, last, result),
        probs.shape[1],
        LEAST_SLICE,
        MOST_SLICE,
    )
    return result


@njit(nogil=True, fastmath=REORDERED, cache=True)
def _add_surprise(shares, tiles, probs, first, last, result):  # type: ignore[no-untyped-def]
    n_tiles, n_draws, _ = tiles.shape
    predicted = np.empty(TILE, np.float32)
    for tile in range(n_tiles):
        for column in range(first, last):
            for j in range(TILE):
                predicted[j] = 0
            for quad in range(n_draws // 4):  # four draws at once: one store for four multiply-adds
                d = 4 * quad
                a, b, c, e = probs[d, column], probs[d + 1, column], probs[d + 2, column], probs[d + 3, column]
                for j in range(TILE):
                    predicted[j] += (
                        a * tiles[tile, d, j]
                        + b * tiles[tile, d + 1, j]
                        + c * tiles[tile, d + 2, j]
                        + e * tiles[tile, d + 3, j]
                    )
            for d in range(n_draws // 4 * 4, n_draws):
                a = probs[d, column]
                for j in range(TILE):
                    predicted[j] += a * tiles[tile, d, j]
            total = np.float32(0)
            for j in range(TILE):
                p = predicted[j]
                total -= shares[tile, j] * p * fast_log(max(p, np.float32(1e-37)))
            result[column] += total
