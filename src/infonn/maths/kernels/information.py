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
from infonn.maths.kernels.logs import precise_log
from infonn.maths.kernels.rankings import order_sums, prefixes
from infonn.maths.kernels.threads import in_threads
from infonn.maths.kernels.weights import (
    DRAW_BLOCK,
    LN2,
    ONE,
    OPTIONS,
    SURPRISE,
    WEIGHT,
    assign_slots,
    exponent_of,
    fill_table,
    log32,
    mantissa,
    order_by_reference,
)
from infonn.maths.responses import ResponseSettings

BLOCK = 1 << 18  # queries that are sorted by reference together: they stay in the processor's cache
LEAST_SLICE, MOST_SLICE = 1 << 10, 1 << 13  # what a slice notes down stays in the processor's cache
SMALLEST = 1e-300  # a probability whose logarithm is taken


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
    table = np.zeros((min(most, 64), 2, DRAW_BLOCK), np.float32)
    sums = np.zeros((len(rows), n_orders if n_orders else n_candidates))  # of each option's probability, over draws
    noise = np.zeros(len(rows))  # entropy of the answer, summed over draws
    start = 0
    while start < len(rows):
        reference, stop = queries[rows[start], 0], start + 1
        while stop < len(rows) and queries[rows[stop], 0] == reference:
            stop += 1
        n_slots = assign_slots(queries, rows[start:stop], places, slot_of, pairs, slots[start:stop])
        if n_slots > len(table):
            table = np.zeros((min(most, 2 * n_slots), 2, DRAW_BLOCK), np.float32)
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
    information, share = -noise / n_draws, 1 / np.float64(n_draws)
    for option in range(len(sums)):
        mean = sums[option] * share
        information -= mean * precise_log(max(mean, SMALLEST))  # 0 log 0 is 0
    return max(information, 0.0)


@njit(**OPTIONS)
def _add_run(slots, table, n, lapse, tree, sums, noise):  # type: ignore[no-untyped-def]
    """Add a block of draws to the queries of one reference."""
    buffer = np.empty((2, DRAW_BLOCK), np.float32)
    if slots.shape[1] == 3 and lapse == 0 and not len(tree):  # the usual case
        for row in range(len(slots)):
            p0, p1, entropy = _of_three(table, slots[row, 0], slots[row, 1], slots[row, 2], n)
            sums[row, 0] += p0
            sums[row, 1] += p1
            sums[row, 2] += np.float64(n) - p0 - p1
            noise[row] += entropy
        return
    for row in range(len(slots)):
        noise[row] += add_query(table, slots[row], n, lapse, tree, buffer, sums[row])


@njit(**OPTIONS)
def add_query(table, slots, n, lapse, tree, buffer, sums):  # type: ignore[no-untyped-def]
    """Add a block of draws to one query: each option's probability to `sums`; returns the summed entropies."""
    if len(tree):
        return order_sums(table, slots, n, np.float32(lapse), tree, sums)
    if lapse > 0:
        return _lapsing(table, slots, n, np.float32(lapse), buffer, sums)
    if len(slots) > 3:
        return _of_many(table, slots, n, buffer, sums)
    p0, p1, entropy = _of_three(table, slots[0], slots[1], slots[2] if len(slots) == 3 else np.int32(0), n)
    sums[0] += p0
    sums[1] += p1
    if len(slots) == 3:
        sums[2] += np.float64(n) - p0 - p1
    return entropy


@njit(**OPTIONS)
def _of_three(table, a, b, c, n):  # type: ignore[no-untyped-def]
    """Two candidates (with `c` padding) or three: sums over draws of the first two probabilities and of the entropy.

    Everything stays in registers, for which a third sum would be too much, and one logarithm serves all draws, by
    `mantissa`.
    """
    a, b, c = np.uint64(a), np.uint64(b), np.uint64(c)
    p0, p1, entropy, product, exponents = np.float32(0), np.float32(0), np.float32(0), ONE, np.int32(0)
    for i in range(n):
        w0, w1 = table[a, WEIGHT, i], table[b, WEIGHT, i]
        total = w0 + w1 + table[c, WEIGHT, i]
        inverse = ONE / total
        p0 += w0 * inverse
        p1 += w1 * inverse
        entropy += (table[a, SURPRISE, i] + table[b, SURPRISE, i] + table[c, SURPRISE, i]) * inverse
        exponent = exponent_of(total)
        exponents += exponent
        product *= mantissa(total, exponent)
    return p0, p1, entropy + np.float32(exponents) * LN2 + log32(product)


@njit(**OPTIONS)
def _of_many(table, slots, n, buffer, sums):  # type: ignore[no-untyped-def]
    """Any number of candidates: sums over candidates stand in a buffer of one block of draws."""
    total, surprise = buffer[0], buffer[1]
    _add_up(table, WEIGHT, slots, n, total)
    _add_up(table, SURPRISE, slots, n, surprise)
    entropy = np.float32(0)
    for i in range(n):
        inverse = ONE / total[i]
        entropy += surprise[i] * inverse + log32(total[i])
        total[i] = inverse
    for c in range(len(slots)):
        w = table[slots[c], WEIGHT]
        p = np.float32(0)
        for i in range(n):
            p += w[i] * total[i]
        sums[c] += p
    return entropy


@njit(**OPTIONS)
def _lapsing(table, slots, n, lapse, buffer, sums):  # type: ignore[no-untyped-def]
    """A share `lapse` of answers at random among the candidates that are there: (1 - lapse) p + lapse / k."""
    total = buffer[0]
    _add_up(table, WEIGHT, slots, n, total)
    for i in range(n):
        total[i] = (ONE - lapse) / total[i]
    n_there = 0
    for c in range(len(slots)):
        n_there += slots[c] > 0
    floor = lapse / np.float32(n_there)
    entropy = np.float32(0)
    for c in range(n_there):  # padding is at the end
        w = table[slots[c], WEIGHT]
        p = np.float32(0)
        for i in range(n):
            mixed = w[i] * total[i] + floor
            p += mixed
            entropy -= mixed * log32(mixed)
        sums[c] += p
    return entropy


@njit(**OPTIONS)
def _add_up(table, what, slots, n, total):  # type: ignore[no-untyped-def]
    a, b = table[slots[0], what], table[slots[1], what]
    for i in range(n):
        total[i] = a[i] + b[i]
    for c in range(2, len(slots)):
        a = table[slots[c], what]
        for i in range(n):
            total[i] += a[i]
