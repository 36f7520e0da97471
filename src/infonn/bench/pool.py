"""A pool of millions: time per query and memory must not grow with it."""

from __future__ import annotations

from statistics import median
from time import perf_counter

from numpy.random import default_rng

from infonn.bench.entries import Comparison, peak_mb
from infonn.bench.information import MU, SIGMA, score
from infonn.queries import draw_queries
from infonn.selection.predictions import DistanceNoise

N_ITEMS = 133


def pool_5m() -> Comparison:
    """5,000,000 length-3 queries of 133 items with default draws, beside 500,000 of them."""
    embedding = default_rng(2023).standard_normal((N_ITEMS, 3))
    queries = draw_queries(5_000_000, N_ITEMS, 3, default_rng(1))
    part = queries[:500_000]

    def seconds(n: int) -> float:
        started = perf_counter()
        score(embedding, queries[:n], DistanceNoise(SIGMA, MU))
        return perf_counter() - started

    def extra() -> dict[str, float]:
        times = [(seconds(len(queries)) / len(queries), seconds(len(part)) / len(part)) for _ in range(5)]
        large, small = (median(side) for side in zip(*times))
        return {"peak_mb": peak_mb("infonn.bench.pool:score_5m"), "per_query_ratio": large / small}

    return Comparison(lambda: seconds(len(queries)), extra=extra)


def score_5m() -> None:
    """What the fresh process runs whose memory is measured."""
    pool_5m().ours()
