"""Answers' probabilities under drawn embeddings, fused: the plain twin is `responses.nearest_log_probs`."""

from __future__ import annotations

import numpy as np
from numba import njit

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.logs import REORDERED, precise_exp, precise_log
from infonn.maths.kernels.threads import in_threads
from infonn.maths.responses import ResponseSettings

LEAST_SLICE, MOST_SLICE = 256, 4096  # queries that one thread takes at a time


def drawn_log_probs(draws: FloatArray, queries: IntArray, response: ResponseSettings) -> FloatArray:
    """log P(candidate is chosen as nearest): (draws, items, dims), (n, 1 + k) -> (draws, n, k); -inf for padding."""
    points = np.ascontiguousarray(np.moveaxis(draws, 0, 2), float)
    queries = np.ascontiguousarray(queries, np.int32)
    result = np.empty((len(draws), len(queries), queries.shape[1] - 1))
    settings = (float(response.mu), float(response.sharpness), float(response.lapse))
    in_threads(
        lambda first, last: _fill(points, queries, settings, first, last, result),
        len(queries),
        LEAST_SLICE,
        MOST_SLICE,
    )
    return result


@njit(nogil=True, fastmath=REORDERED, cache=True)
def _fill(points, queries, settings, first, last, result):  # type: ignore[no-untyped-def]
    """Loops run along the draws, so that the compiler vectorises them."""
    mu, sharpness, lapse = settings
    _, n_dims, n_draws = points.shape
    width = queries.shape[1] - 1
    squared, logs, weights = np.empty((width, n_draws)), np.empty((width, n_draws)), np.empty((width, n_draws))
    largest, total = np.empty(n_draws), np.empty(n_draws)
    for row in range(first, last):
        reference, count = queries[row, 0], 0
        while count < width and queries[row, 1 + count] >= 0:
            count += 1
        largest[:] = -np.inf
        for j in range(count):
            item = queries[row, 1 + j]
            squared[j] = mu
            for d in range(n_dims):
                for s in range(n_draws):
                    difference = points[reference, d, s] - points[item, d, s]
                    squared[j, s] += difference * difference
            for s in range(n_draws):
                logs[j, s] = -sharpness * precise_log(squared[j, s])
            for s in range(n_draws):
                largest[s] = max(largest[s], logs[j, s])
        total[:] = 0.0
        for j in range(count):
            for s in range(n_draws):
                weights[j, s] = precise_exp(logs[j, s] - largest[s])
                total[s] += weights[j, s]
        for j in range(count):
            if lapse > 0:
                for s in range(n_draws):
                    logs[j, s] = precise_log((1 - lapse) * weights[j, s] / total[s] + lapse / count)
            else:
                for s in range(n_draws):
                    logs[j, s] -= largest[s] + precise_log(total[s])
        for s in range(n_draws):
            for j in range(width):
                result[s, row, j] = logs[j, s] if j < count else -np.inf
