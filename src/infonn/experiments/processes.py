"""Blocks of trials over several processes. Each child builds its own trials; the parent alone writes the journal."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infonn.experiments.curve_file import Journal
from infonn.experiments.gpu_sharing import gpu_shared
from infonn.experiments.table import EXPERIMENTS, load, location
from infonn.experiments.trial import Curve

if TYPE_CHECKING:
    from infonn.experiments.sweep import Experiment, Plan, _Watch

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_blocks(
    experiment: Experiment,
    plan: Plan,
    blocks: Sequence[list[int]],
    journal: Journal,
    processes: int,
    watch: _Watch,
    say: Callable[[str], None] = print,
) -> None:
    """Run blocks in child processes, each with its share of the cores and of the GPU; curves are kept as they come."""
    # Functions do not travel between processes, names do; what was made on the fly has none and must travel itself.
    place = location(experiment.name) if experiment.name in EXPERIMENTS else experiment
    context = multiprocessing.get_context("spawn")  # forked threads of numba and torch would hang
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = str(max(1, cores // processes))
    kept = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, threads))  # children read these as they start
    try:
        with (
            gpu_shared(plan.device, say),
            context.Manager() as manager,
            ProcessPoolExecutor(processes, mp_context=context) as pool,
        ):
            queue: Any = manager.Queue()
            futures: set[Future[None]] = {
                pool.submit(_child, place, plan, block, journal.curves, number, queue)
                for number, block in enumerate(blocks)
            }
            while futures:
                finished, futures = wait(futures, timeout=0.2, return_when=FIRST_COMPLETED)
                while not queue.empty():
                    number, message = queue.get()
                    if isinstance(message, Curve):
                        journal.add(message)
                    else:
                        watch.update(number, len(blocks), *message)
                for future in finished:
                    future.result()
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _Posted(Journal):
    """A journal whose curves go to the parent."""

    def __init__(self, curves: list[Curve], number: int, queue: Any) -> None:
        super().__init__(Path(), curves)
        self._number, self._queue = number, queue

    def add(self, curve: Curve) -> None:
        self._queue.put((self._number, curve))


def _child(place: str | Experiment, plan: Plan, trials: list[int], done: list[Curve], number: int, queue: Any) -> None:
    from infonn.experiments.sweep import run_block

    report = lambda *progress: queue.put((number, progress))  # noqa: E731
    run_block(load(place) if isinstance(place, str) else place, plan, trials, _Posted(done, number, queue), report)
