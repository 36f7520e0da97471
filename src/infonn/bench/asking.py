"""What a person waits for: the next question, the map, and what they take of memory; each beside its target."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import lru_cache
from time import perf_counter, process_time

import numpy as np
from numpy.random import default_rng

from infonn.bench.entries import Comparison, peak_mb
from infonn.learners.mds import MDS
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries
from infonn.specs.build import create_study
from infonn.study import Study

N_ANSWERS = 60
ASK_S = {100: 0.05, 1000: 0.15, 10_000: 0.8}  # targets, seconds of CPU
MAP_S, MDS_MB, FIRST_S = 5.0, 500.0, 6.0


def ask_100() -> Comparison:
    """One more answer, then the next question of 100 items by the default learner and strategy."""
    return _ask(100)


def ask_1000() -> Comparison:
    """The same with 1,000 items."""
    return _ask(1000)


def ask_10000() -> Comparison:
    """The same with 10,000 items."""
    return _ask(10_000)


def map_10000() -> Comparison:
    """`embedding()` of 10,000 items: a cold fit of the answers, and the map."""
    study = _answered(10_000)
    taken: list[float] = []

    def ours() -> None:
        study._cold = None  # so that it is fitted anew
        begun = process_time()
        study.embedding()
        taken.append(process_time() - begun)

    return Comparison(ours, extra=lambda: {"cpu_s": float(np.median(taken)), "target_s": MAP_S})


def mds_10000() -> Comparison:
    """Probabilistic MDS of 10,000 items; `peak_mb` is the most memory that a fresh process takes for it."""
    return Comparison(fit_mds, extra=lambda: {"peak_mb": peak_mb("infonn.bench.asking:fit_mds"), "target_mb": MDS_MB})


def first_question() -> Comparison:
    """The first chosen question of a fresh installation, nothing compiled, once 20 random ones are answered.

    The time counts from the moment a question is wanted, which is when compiling in the background is done; `compile_s`
    is what that took, and goes on while people answer.
    """
    told = _of_a_fresh_installation()
    return Comparison(lambda: None, extra=lambda: {**told, "target_s": FIRST_S})


def fit_mds() -> None:
    """A fit on 1,000 answers about 10,000 items."""
    rng = default_rng(0)
    queries = draw_queries(1000, 10_000, 3, rng)
    MDS(10_000, steps=20).fit(Answers(queries, np.zeros(1000, np.int32)), rng)


def _ask(n_items: int) -> Comparison:
    study = _answered(n_items)
    taken: list[float] = []

    def ours() -> None:
        begun = process_time()
        study.tell(study.ask()[0], 0)
        taken.append(process_time() - begun)

    return Comparison(ours, extra=lambda: {"cpu_s": float(np.median(taken[1:])), "target_s": ASK_S[n_items]})


@lru_cache
def _answered(n_items: int) -> Study:
    """A study with a few random answers."""
    rng = default_rng(0)
    study = create_study([str(item) for item in range(n_items)], first=N_ANSWERS)
    oracle = DistanceOracle(rng.standard_normal((n_items, 3)))
    questions = study.ask(N_ANSWERS)
    responses = oracle.answer(np.array([question.query for question in questions]), rng)
    for question, response in zip(questions, responses):
        study.tell(question, int(response))
    return study


_FRESH = """
from time import perf_counter
from infonn import create_study
from infonn.specs.compiling import wait_for_kernels
begun = perf_counter()
study = create_study([str(item) for item in range(60)])
for question in study.ask(20):
    study.tell(question, 0)
wait_for_kernels()
compiled = perf_counter()
study.ask()
print(compiled - begun, perf_counter() - compiled)
"""


def _of_a_fresh_installation() -> dict[str, float]:
    begun = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", _FRESH], capture_output=True, text=True, check=True, env=environment
        )
    compile_s, first_s = (float(word) for word in done.stdout.split()[-2:])
    return {"compile_s": compile_s, "first_s": first_s, "whole_s": perf_counter() - begun}
