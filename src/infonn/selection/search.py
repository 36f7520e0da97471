"""Better queries than the pool has: climb from its best by swapping one item at a time.

A pool of 20,000 is next to nothing of the queries that 1,000 items allow. Each of its best queries is improved in one
position after the other, the reference first, by the item that makes it tell most, until no swap helps any more. The
limit is a number of swaps looked at, not of seconds, so that the same study always finds the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.loop import Situation, SwappingPrediction
from infonn.queries import first_of_each, not_among

SwapScores = Callable[[IntArray, int, IntArray], FloatArray]
"""queries, position, items -> scores (queries, items) with each item at that position; -inf where it cannot stand."""

LEAST_GAIN = 1e-6  # nats; what is smaller is rounding


@dataclass(frozen=True)
class SwapSearch:
    """Queries on the way up from the pool's `starts` best, by swaps of up to `most_items` items.

    With more items than that, those of the pool's best queries are tried. `swaps_per_item` limits what is looked at: so
    many swaps times the items tried, which is two rounds of all positions for 50 starts and 3 candidates.
    """

    starts: int = 50
    most_items: int = 1000
    swaps_per_item: int = 400

    def __call__(self, scores: FloatArray, situation: Situation, rng: Generator) -> IntArray:
        predict, pool = situation.predict, situation.pool
        if not isinstance(predict, SwappingPrediction):
            return pool[:0]
        order = np.argsort(-scores, kind="stable")
        order = order[(pool[order] >= 0).all(axis=1)]  # short rows have no place to swap
        kind = situation.answers.kind
        order = order[first_of_each(pool[order], kind)]
        items = items_to_try(pool[order], len(situation.belief.embedding), self.most_items)
        starts, heights = pool[order[: self.starts]], scores[order[: self.starts]]
        found = climb(starts, heights, items, predict.swap_information, self.swaps_per_item * len(items))
        found = found[first_of_each(found, kind)]
        return found[not_among(found, pool, kind)]


def climb(queries: IntArray, scores: FloatArray, items: IntArray, swap_scores: SwapScores, most_swaps: int) -> IntArray:
    """All queries that were better than where they came from, on every way up: (n, 1 + C), the latest last."""
    queries, scores = queries.copy(), scores.copy()
    found, width = [queries[:0]], queries.shape[1]
    in_vain = np.zeros(len(queries), int)  # positions tried since the last swap that helped
    position = 0
    while len(queries) and len(queries) * len(items) <= most_swaps:
        most_swaps -= len(queries) * len(items)
        swapped = np.nan_to_num(swap_scores(queries, position, items), nan=-np.inf)
        best = swapped.argmax(axis=1)
        heights = swapped[np.arange(len(queries)), best]
        better = heights > scores + LEAST_GAIN
        queries[better, position] = items[best[better]]
        scores[better] = heights[better]
        found.append(queries[better])
        in_vain = np.where(better, 1, in_vain + 1)  # its own position need not be tried again
        going = first_of_each(queries)  # two ways that met go on as one
        going = going[in_vain[going] < width]
        queries, scores, in_vain = queries[going], scores[going], in_vain[going]
        position = (position + 1) % width
    return np.concatenate(found)


def items_to_try(queries: IntArray, n_items: int, most: int) -> IntArray:
    """All items, or the first `most` that occur in `queries`."""
    if n_items <= most:
        return np.arange(n_items)
    items, first = np.unique(queries, return_index=True)
    return np.sort(items[np.argsort(first, kind="stable")[:most]])
