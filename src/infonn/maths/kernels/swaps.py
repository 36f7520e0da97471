"""Information of queries that differ from given ones in one position, for every item that could stand there.

One table of weights serves all swaps of a candidate, and no query is written down. The scores are those that
`kernels.information`, the plain twin here, gives the same queries, but for the order in which a compiler may sum
float32. Queries have no padding.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.information import Shared, add_query, drawn_distances, drawn_embeddings, nats
from infonn.maths.kernels.threads import in_threads
from infonn.maths.kernels.weights import DRAW_BLOCK, OPTIONS, fill_table
from infonn.maths.responses import ResponseSettings


def distance_swaps(
    queries: IntArray,
    position: int,
    items: IntArray,
    embedding: FloatArray,
    normals: FloatArray,
    sigma: float,
    response: ResponseSettings,
    column: IntArray | None = None,
    ranking: bool = False,
) -> FloatArray:
    """`distance_information` of every query with each of `items` at `position`: (queries, items)."""
    shared = drawn_distances(queries.shape[1] - 1, embedding, normals, sigma, response, column, ranking)
    return _swaps(queries, position, items, shared)


def draws_swaps(
    queries: IntArray,
    position: int,
    items: IntArray,
    draws: FloatArray,
    response: ResponseSettings,
    scale: float,
    ranking: bool = False,
) -> FloatArray:
    """`draws_information` of every query with each of `items` at `position`: (queries, items)."""
    return _swaps(queries, position, items, drawn_embeddings(queries.shape[1] - 1, draws, response, scale, ranking))


def _swaps(queries: IntArray, position: int, items: IntArray, shared: Shared) -> FloatArray:
    """-inf where the item stands in the query already: that is no other query, or none at all."""
    queries, items = np.ascontiguousarray(queries, np.int32), np.ascontiguousarray(items, np.int32)
    scores = np.empty((len(queries), len(items)))

    def work(first: int, last: int) -> None:
        _score_swaps(queries[first:last], position, items, shared, scores[first:last])

    in_threads(work, len(queries), 1, max(1, len(queries)))
    return scores


@njit(**OPTIONS)
def _score_swaps(queries, position, items, shared, out):  # type: ignore[no-untyped-def]
    """One query after the other: the table has its candidates first, then all items."""
    places, points, normals, column, n_draws, settings, lapse, tree, n_orders = shared
    n_candidates, block = queries.shape[1] - 1, min(DRAW_BLOCK, n_draws)
    n_own = 1 + n_candidates * places  # row 0 would be padding
    pairs = np.zeros((n_own + len(items) * places, 2), np.int32)
    table = np.zeros((len(pairs), 2, block), np.float32)
    _pair_up(items, places, pairs[n_own:])
    query, slots = np.empty(1 + n_candidates, np.int32), np.empty(n_candidates, np.int32)
    buffer = np.empty((2, DRAW_BLOCK), np.float32)
    sums, noise = np.empty((len(items), n_orders if n_orders else n_candidates)), np.empty(len(items))
    for row in range(len(queries)):
        sums[:], noise[:] = 0.0, 0.0
        query[:] = queries[row]
        _pair_up(query[1:], places, pairs[1:n_own])
        for first in range(0, n_draws, block):
            n = min(block, n_draws - first)
            if position > 0:
                fill_table(query[0], pairs, first, n, points, normals, column, settings, table)
            for i in range(len(items)):
                if _stands_in(queries[row], items[i]):
                    continue
                query[position] = items[i]
                if position == 0:
                    fill_table(query[0], pairs[:n_own], first, n, points, normals, column, settings, table)
                _sort_candidates(query, slots)
                for c in range(n_candidates):
                    own = n_own + i * places if slots[c] == position else 1 + (slots[c] - 1) * places
                    slots[c] = own + (c if places > 1 else 0)
                noise[i] += add_query(table, slots, n, lapse, tree, buffer, sums[i])
        for i in range(len(items)):
            out[row, i] = -np.inf if _stands_in(queries[row], items[i]) else nats(sums[i], noise[i], n_draws)


@njit(**OPTIONS)
def _pair_up(items, places, pairs):  # type: ignore[no-untyped-def]
    """Every item with every place that it may take among the candidates."""
    for i in range(len(items)):
        for place in range(places):
            pairs[i * places + place, 0] = items[i]
            pairs[i * places + place, 1] = place


@njit(**OPTIONS)
def _stands_in(query, item):  # type: ignore[no-untyped-def]
    for other in query:  # noqa: SIM110 -- Numba compiles no generators
        if other == item:
            return True
    return False


@njit(**OPTIONS)
def _sort_candidates(query, columns):  # type: ignore[no-untyped-def]
    """Columns of the candidates in the order of their numbers: the order in which `kernels.information` adds them."""
    for c in range(1, len(query)):
        at = c - 1
        while at > 0 and query[columns[at - 1]] > query[c]:
            columns[at] = columns[at - 1]
            at -= 1
        columns[at] = c
