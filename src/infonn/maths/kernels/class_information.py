"""Information of label queries, from items to scores in one pass: the plain version is `mutual_information`."""

from __future__ import annotations

import numpy as np
from numba import njit

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.logs import REORDERED, fast_log


@njit(nogil=True, fastmath=REORDERED, cache=True)
def query_distances(embedding: FloatArray, queries: IntArray) -> FloatArray:
    """Distances of candidates to their reference, (n, k) float32; padding gets infinity."""
    n, width = queries.shape
    distances = np.empty((n, width - 1), np.float32)
    for row in range(n):
        reference = embedding[queries[row, 0]]
        for j in range(1, width):
            item = queries[row, j]
            if item < 0:
                distances[row, j - 1] = np.float32(np.inf)
                continue
            candidate = embedding[item]
            total = np.float32(0)
            for d in range(len(reference)):
                difference = np.float32(reference[d] - candidate[d])
                total += difference * difference
            distances[row, j - 1] = np.sqrt(total)
    return distances


@njit(nogil=True, fastmath=REORDERED, error_model="numpy", cache=True)
def distance_information(distances: FloatArray, counts: IntArray, normals: FloatArray, mu: float) -> FloatArray:
    """Nats that each query's response tells, with distances D + normals: (n, k), (n,), (k, draws) -> (n,).

    Only the first `counts` distances of a row are read. With v = D^2 + mu, w = 1 / v and T the sum of w, the
    entropy of one draw is log T + sum(w log v) / T.
    """
    n, width = distances.shape
    n_draws = normals.shape[1]
    scale = np.float32(1 / n_draws)
    offset = np.float32(mu)
    information = np.zeros(n, np.float32)
    for row in range(n):
        k = counts[row]
        if k < 2:
            continue
        totals = np.zeros(n_draws, np.float32)
        surprise = np.zeros(n_draws, np.float32)
        weights = np.empty((width, n_draws), np.float32)
        for j in range(k):
            distance = distances[row, j]
            for s in range(n_draws):
                drawn = distance + normals[j, s]
                v = drawn * drawn + offset
                w = np.float32(1) / v
                weights[j, s] = w
                totals[s] += w
                surprise[s] += w * fast_log(v)
        conditional = np.float32(0)
        for s in range(n_draws):
            total = totals[s]
            inverse = np.float32(1) / total
            conditional += fast_log(total) + surprise[s] * inverse
            totals[s] = inverse
        marginal = np.float32(0)
        for j in range(k):
            p = np.float32(0)
            for s in range(n_draws):
                p += weights[j, s] * totals[s]
            p *= scale
            marginal -= p * fast_log(p)
        information[row] = max(marginal - conditional * scale, np.float32(0))
    return information
