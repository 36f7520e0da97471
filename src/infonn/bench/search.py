"""Searching for questions beyond the pool."""

from __future__ import annotations

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.bench.entries import Comparison
from infonn.contracts.loop import Situation
from infonn.maths.responses import ResponseSettings
from infonn.queries import draw_queries, no_answers
from infonn.selection.criteria import Information
from infonn.selection.predictions import BeliefDraws
from infonn.selection.search import SwapSearch, climb, items_to_try

N_ITEMS, N_CANDIDATES, N_DRAWS, N_POOL = 1000, 3, 48, 20_000
BEST = 10  # questions whose mean is compared


def query_search() -> Comparison:
    """1,000 items, 3 candidates: score a pool of 20,000 and search from its best, against writing every swap down.

    `gain` is how many more nats the ten best questions tell with the search than the pool's own.
    """
    situation, rng = _situation(), default_rng(0)
    search, criterion = SwapSearch(), Information()

    def ours() -> tuple[FloatArray, IntArray]:
        scores = criterion(situation.pool, situation, rng)
        return scores, search(scores, situation, rng)

    def written_down() -> IntArray:
        scores = criterion(situation.pool, situation, rng)
        order = np.argsort(-scores, kind="stable")[: search.starts]
        items = items_to_try(situation.pool, N_ITEMS, search.most_items)
        limit = search.swaps_per_item * len(items)
        return climb(situation.pool[order], scores[order], items, lambda *swap: swaps_plainly(situation, *swap), limit)

    def gain() -> dict[str, float]:
        scores, found = ours()
        together = np.concatenate([scores, criterion(found, situation, rng)])
        return {"gain": _top(together) / _top(scores) - 1, "pool_nats": _top(scores), "nats": _top(together)}

    return Comparison(ours, "every swap written down as a query and scored", written_down, extra=gain)


def swaps_plainly(situation: Situation, queries: IntArray, position: int, items: IntArray) -> FloatArray:
    """What `swap_information` gives, by queries that are written down."""
    written = np.repeat(queries[:, None], len(items), axis=1)
    possible = ~(queries[:, :, None] == items).any(axis=1)
    written[:, :, position] = items
    scores = np.full(possible.shape, -np.inf)
    scores[possible] = Information()(written[possible], situation, default_rng(0))
    return scores


def _situation() -> Situation:
    rng = default_rng(2023)
    places = rng.standard_normal((N_ITEMS, 3))
    draws = places + 0.5 * rng.standard_normal((N_DRAWS, N_ITEMS, 3))
    belief = Belief(places, draws, response=ResponseSettings(1.0, 6.0, 0.1))
    situation = Situation(draw_queries(N_POOL, N_ITEMS, N_CANDIDATES, rng), belief, no_answers(N_CANDIDATES))
    return Situation(situation.pool, belief, situation.answers, BeliefDraws()(situation, rng))


def _top(scores: FloatArray) -> float:
    return float(np.sort(scores)[-BEST:].mean())
