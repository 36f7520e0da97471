"""Mutual information of NN queries, fused: draws never stand in memory for the whole pool.

Queries are taken by reference, so that a small table of weights (`kernels.weights`) serves many. A score depends on
its query and the draws alone: not on the pool, the slice, the thread, or the order of candidates. The plain twin is
`maths.information.mutual_information` of `maths.responses.nearest_log_probs`; they agree within 2e-6 nats, and a
query whose weights single precision cannot hold gets NaN, for the caller to score the plain way.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.rankings import order_sums, prefixes
from infonn.maths.kernels.threads import in_threads
from infonn.maths.kernels.weights import DRAW_BLOCK, ONE, OPTIONS, assign_slots, fill_table, log32, order_by_reference
from infonn.maths.responses import ResponseSettings

BLOCK = 1 << 18  # queries that are sorted by reference together: they stay in the processor's cache
LEAST_SLICE, MOST_SLICE = 1 << 10, 1 << 16


def distance_information(
    queries: IntArray,
    embedding: FloatArray,
    normals: FloatArray,
    sigma: float,
    response: ResponseSettings,
    column: IntArray | None = None,
    ranking: bool = False,
) -> FloatArray:
    """Nats of each query under distances D + sigma * normals: (queries,).

    `normals` is (draws, columns); a candidate's column is `column[item]`, or without `column` its place when the
    candidates of its query are sorted.
    """
    shared = drawn_distances(queries.shape[1] - 1, embedding, normals, sigma, response, column, ranking)
    return _information(queries, shared)


def draws_information(
    queries: IntArray, draws: FloatArray, response: ResponseSettings, scale: float, ranking: bool = False
) -> FloatArray:
    """Nats of each query under drawn embeddings (draws, items, dims); `scale` is a usual squared distance."""
    return _information(queries, drawn_embeddings(queries.shape[1] - 1, draws, response, scale, ranking))


Shared = tuple[object, ...]
"""What the kernels know beside the queries: draws, response model, and the tree of orders of a ranking."""


def drawn_distances(
    n_candidates: int,
    embedding: FloatArray,
    normals: FloatArray,
    sigma: float,
    response: ResponseSettings,
    column: IntArray | None,
    ranking: bool,
) -> Shared:
    """Distances D + sigma * normals, as the kernels take them."""
    points = np.ascontiguousarray(embedding, float)[:, :, None]
    drawn = np.ascontiguousarray(normals.T, np.float32)
    columns = np.empty(0, np.int32) if column is None else np.ascontiguousarray(column, np.int32)
    spread = float(embedding.var(axis=0).sum()) * 2 + sigma**2  # mean squared distance
    places = n_candidates if column is None else 1
    return (places, points, drawn, columns, len(normals), *_response(n_candidates, sigma, spread, response, ranking))


def drawn_embeddings(
    n_candidates: int, draws: FloatArray, response: ResponseSettings, scale: float, ranking: bool
) -> Shared:
    """Drawn embeddings, as the kernels take them."""
    points = np.ascontiguousarray(np.moveaxis(draws, 0, 2), float)
    none, nobody = np.empty((0, 0), np.float32), np.empty(0, np.int32)
    return (1, points, none, nobody, len(draws), *_response(n_candidates, 0.0, scale, response, ranking))


def _response(n_candidates: int, sigma: float, scale: float, response: ResponseSettings, ranking: bool) -> Shared:
    settings = (float(sigma), float(response.mu), float(response.sharpness), float(scale + response.mu))
    tree = prefixes(n_candidates) if ranking else np.empty((0, 3), np.int32)
    return settings, float(response.lapse), tree, math.factorial(n_candidates) if ranking else 0


def _information(queries: IntArray, shared: Shared) -> FloatArray:
    queries = np.ascontiguousarray(queries, np.int32)
    n_items = len(shared[1])  # type: ignore[arg-type]
    scores = np.empty(len(queries))
    for start in range(0, len(queries), BLOCK):
        block, into = queries[start : start + BLOCK], scores[start : start + BLOCK]
        _score_block(block, order_by_reference(block, n_items), shared, into)
    return scores


def _score_block(queries: IntArray, order: IntArray, shared: Shared, scores: FloatArray) -> None:
    def work(first: int, last: int) -> None:
        _score_rows(queries, order[first:last], *shared, scores)

    in_threads(work, len(queries), LEAST_SLICE, MOST_SLICE)


@njit(**OPTIONS)
def _score_rows(queries, rows, places, points, normals, column, n_draws, settings, lapse, tree, n_orders, scores):  # type: ignore[no-untyped-def]
    """Score the given rows, one run of equal references after the other."""
    n_candidates = queries.shape[1] - 1
    slot_of = np.zeros(len(points) * places, np.int32)
    most = 1 + min(len(rows) * n_candidates, len(slot_of))
    slots = np.empty((len(rows), n_candidates), np.int32)
    pairs = np.empty((most, 2), np.int32)
    table = np.zeros((2, min(most, 64), DRAW_BLOCK), np.float32)  # of w, and of w log(1/w)
    sums = np.zeros((len(rows), n_orders if n_orders else n_candidates))  # of each option's probability, over draws
    noise = np.zeros(len(rows))  # entropy of the answer, summed over draws
    start = 0
    while start < len(rows):
        reference, stop = queries[rows[start], 0], start + 1
        while stop < len(rows) and queries[rows[stop], 0] == reference:
            stop += 1
        n_slots = assign_slots(queries, rows[start:stop], places, slot_of, pairs, slots[start:stop])
        if n_slots > table.shape[1]:
            table = np.zeros((2, min(most, 2 * n_slots), DRAW_BLOCK), np.float32)
        for first in range(0, n_draws, DRAW_BLOCK):
            n = min(DRAW_BLOCK, n_draws - first)
            fill_table(reference, pairs[:n_slots], first, n, points, normals, column, settings, table)
            _add_run(slots[start:stop], table, n, lapse, tree, sums[start:stop], noise[start:stop])
        start = stop
    for i in range(len(rows)):
        scores[rows[i]] = nats(sums[i], noise[i], n_draws)


@njit(**OPTIONS)
def nats(sums, noise, n_draws):  # type: ignore[no-untyped-def]
    """Entropy of the mean answer less the mean entropy: from sums over draws of each option's probability, of both."""
    information = -noise / n_draws
    for option in range(len(sums)):
        mean = sums[option] / n_draws
        if mean > 0:
            information -= mean * np.log(mean)
    return max(information, 0.0)


@njit(**OPTIONS)
def _add_run(slots, table, n, lapse, tree, sums, noise):  # type: ignore[no-untyped-def]
    """Add a block of draws to the queries of one reference."""
    buffer = np.empty((2, DRAW_BLOCK), np.float32)
    for i in range(len(slots)):
        noise[i] += add_query(table, slots[i], n, lapse, tree, buffer, sums[i])


@njit(**OPTIONS)
def add_query(table, slots, n, lapse, tree, buffer, sums):  # type: ignore[no-untyped-def]
    """Add a block of draws to one query: each option's probability to `sums`; returns the summed entropies."""
    weights, spread = table[0], table[1]
    if len(tree):
        return order_sums(weights, spread, slots, n, np.float32(lapse), tree, sums)
    if lapse > 0:
        return _lapsing(weights, slots, n, np.float32(lapse), buffer, sums)
    if len(slots) <= 3:
        return _of_three(weights, spread, slots, n, sums)
    return _of_many(weights, spread, slots, n, buffer, sums)


@njit(**OPTIONS)
def _of_three(weights, spread, slots, n, sums):  # type: ignore[no-untyped-def]
    """Two or three candidates: everything in registers. Adds to `sums`, returns the summed entropies."""
    third = slots[2] if len(slots) == 3 else 0
    w0, w1, w2 = weights[slots[0]], weights[slots[1]], weights[third]
    h0, h1, h2 = spread[slots[0]], spread[slots[1]], spread[third]
    p0, p1, entropy = np.float32(0), np.float32(0), np.float32(0)
    for i in range(n):
        total = w0[i] + w1[i] + w2[i]
        inverse = ONE / total
        p0 += w0[i] * inverse
        p1 += w1[i] * inverse
        entropy += (h0[i] + h1[i] + h2[i]) * inverse + log32(total)
    sums[0] += p0
    sums[1] += p1
    if len(slots) == 3:
        sums[2] += np.float64(n) - p0 - p1  # one sum less to keep in registers: a third of the time
    return entropy


@njit(**OPTIONS)
def _of_many(weights, spread, slots, n, buffer, sums):  # type: ignore[no-untyped-def]
    """Any number of candidates: sums over candidates stand in a buffer of one block of draws."""
    total, surprise = buffer[0], buffer[1]
    _add_up(weights, slots, n, total)
    _add_up(spread, slots, n, surprise)
    entropy = np.float32(0)
    for i in range(n):
        inverse = ONE / total[i]
        entropy += surprise[i] * inverse + log32(total[i])
        total[i] = inverse
    for c in range(len(slots)):
        w = weights[slots[c]]
        p = np.float32(0)
        for i in range(n):
            p += w[i] * total[i]
        sums[c] += p
    return entropy


@njit(**OPTIONS)
def _lapsing(weights, slots, n, lapse, buffer, sums):  # type: ignore[no-untyped-def]
    """A share `lapse` of answers at random among the candidates that are there: (1 - lapse) p + lapse / k."""
    total = buffer[0]
    _add_up(weights, slots, n, total)
    for i in range(n):
        total[i] = (ONE - lapse) / total[i]
    n_there = 0
    for c in range(len(slots)):
        n_there += slots[c] > 0
    floor = lapse / np.float32(n_there)
    entropy = np.float32(0)
    for c in range(n_there):  # padding is at the end
        w = weights[slots[c]]
        p = np.float32(0)
        for i in range(n):
            mixed = w[i] * total[i] + floor
            p += mixed
            entropy -= mixed * log32(mixed)
        sums[c] += p
    return entropy


@njit(**OPTIONS)
def _add_up(table, slots, n, total):  # type: ignore[no-untyped-def]
    a, b = table[slots[0]], table[slots[1]]
    for i in range(n):
        total[i] = a[i] + b[i]
    for c in range(2, len(slots)):
        a = table[slots[c]]
        for i in range(n):
            total[i] += a[i]
