"""How far the Info-NN kernel is from what this machine could do: nanoseconds per query, draw and core, side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import process_time

import numpy as np
from numba import njit
from numpy.random import default_rng

from infonn.arrays import FloatArray
from infonn.bench.entries import Comparison
from infonn.bench.information import MU, SIGMA
from infonn.maths.kernels.weights import ONE, OPTIONS, log32
from infonn.maths.responses import ResponseSettings
from infonn.queries import draw_queries
from infonn.selection.predictions import DistancePrediction

N_ITEMS, N_QUERIES, N_DRAWS = 133, 100_000, 128
# What three candidates take for one query and draw: w and w log(1/w) of each are loaded, and their sum is inverted;
# 9 additions and multiplications, and 4 steps on whole numbers that stand in for a logarithm.
LOADS, DIVISIONS, ARITHMETIC = 6, 1, 13
NUMBERS = 1 << 16  # 256 KB of single precision: as large as a table of weights, in the processor's second cache
ROUNDS = 200


def kernel_roofline() -> Comparison:
    """100,000 length-3 queries of 133 items, 128 draws, one thread; beside loads, divisions, sums and logarithms."""
    rng = default_rng(0)
    embedding, queries = rng.standard_normal((N_ITEMS, 3)), draw_queries(N_QUERIES, N_ITEMS, 3, rng)
    predict = DistancePrediction(embedding, rng.standard_normal((N_DRAWS, 3)), None, SIGMA, ResponseSettings(MU))

    def ours() -> FloatArray:
        return _with_one_thread(lambda: predict.information(queries))

    def limits() -> dict[str, float]:
        x = rng.random(NUMBERS, np.float32) + ONE
        few = x[: 1 << 12].copy()  # 16 KB, in the first cache: arithmetic alone is measured on it
        load, divide = _ns(_add_up, x, NUMBERS), _ns(_inverses, few, len(few))
        arithmetic, log = _ns(_multiply_adds, few, 8 * len(few)), _ns(_logs, few, len(few))
        taken = min(_seconds(ours) for _ in range(5)) * 1e9 / N_QUERIES / N_DRAWS
        limit = max(LOADS * load, DIVISIONS * divide, ARITHMETIC * arithmetic)
        return {
            "ns_per_query_draw": taken,
            "limit_ns": limit,
            "times_the_limit": taken / limit,
            "ns_per_load": load,
            "ns_per_division": divide,
            "ns_per_multiply_add": arithmetic,
            "ns_per_log": log,
        }

    return Comparison(ours, extra=limits)


def _with_one_thread(work: Callable[[], FloatArray]) -> FloatArray:
    before = os.environ.get("INFONN_THREADS")
    os.environ["INFONN_THREADS"] = "1"
    try:
        return work()
    finally:
        if before is None:
            del os.environ["INFONN_THREADS"]
        else:
            os.environ["INFONN_THREADS"] = before


def _seconds(work: Callable[[], object]) -> float:
    """Of this process alone: another one that is busy does not count."""
    started = process_time()
    work()
    return process_time() - started


def _ns(kernel: Callable[[FloatArray, int], float], x: FloatArray, n: int) -> float:
    """The least that one step took, of `n` in each round."""
    kernel(x, 1)
    return min(_seconds(lambda: kernel(x, ROUNDS)) for _ in range(5)) * 1e9 / ROUNDS / n


@njit(**OPTIONS)
def _add_up(x, rounds):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for r in range(rounds):
        part = np.float32(0)
        for i in range(len(x)):
            part += x[i]
        total = max(total, part * np.float32(r))
    return total


@njit(**OPTIONS)
def _inverses(x, rounds):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for r in range(rounds):
        shift, part = np.float32(r), np.float32(0)
        for i in range(len(x)):
            part += ONE / (x[i] + shift)
        total = max(total, part)
    return total


@njit(**OPTIONS)
def _multiply_adds(x, rounds):  # type: ignore[no-untyped-def]
    """Eight for each number."""
    total = np.float32(0)
    for r in range(rounds):
        a, part = np.float32(r) * np.float32(1e-3), np.float32(0)
        for i in range(len(x)):
            y = x[i]
            z = y * a + ONE
            z = z * a + y
            z = z * y + a
            z = z * a + ONE
            z = z * y + a
            z = z * a + y
            z = z * y + ONE
            part += z * a
        total = max(total, part)
    return total


@njit(**OPTIONS)
def _logs(x, rounds):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for r in range(rounds):
        shift, part = np.float32(r), np.float32(0)
        for i in range(len(x)):
            part += log32(x[i] + shift)
        total = max(total, part)
    return total
