"""A pool of millions: time per query and memory must not grow with it."""

from __future__ import annotations

from statistics import median
from time import perf_counter

import numpy as np
from numpy.random import default_rng

from infonn.arrays import IntArray
from infonn.bench.entries import Comparison, peak_mb
from infonn.bench.information import MU, SIGMA, score
from infonn.queries import draw_queries
from infonn.selection.predictions import DistanceNoise

N_ITEMS = 133


def pool_5m() -> Comparison:
    """5,000,000 length-3 queries of 133 items with default draws, beside ten pools of 500,000."""
    embedding = default_rng(2023).standard_normal((N_ITEMS, 3))
    queries = draw_queries(5_000_000, N_ITEMS, 3, default_rng(1))
    parts = np.split(queries, 10)

    def seconds(pools: list[IntArray]) -> float:
        started = perf_counter()
        for pool in pools:
            score(embedding, pool, DistanceNoise(SIGMA, MU))
        return perf_counter() - started

    def extra() -> dict[str, float]:
        times = [(seconds([queries]), seconds(parts)) for _ in range(5)]  # as many queries on both sides
        whole, split = (median(side) for side in zip(*times))
        return {"peak_mb": peak_mb("infonn.bench.pool:score_5m"), "per_query_ratio": whole / split}

    return Comparison(lambda: seconds([queries]), extra=extra)


def score_5m() -> None:
    """What the fresh process runs whose memory is measured."""
    pool_5m().ours()
