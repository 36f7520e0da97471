"""Run a compiled function on slices of its work, in as many threads as there are processors.

Plain threads and kernels that let go of the interpreter, instead of Numba's own pool: they survive a fork, and
several callers at once, which the pages and the worker have.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Event, Lock, Thread


def n_threads() -> int:
    """As many as this process may use; the environment variable INFONN_THREADS says otherwise."""
    wanted = os.environ.get("INFONN_THREADS")
    if wanted:
        return max(1, int(wanted))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[int, int], None], n: int, least: int, most: int) -> None:
    """Call `work(first, last)` on slices of range(n), each of `least` to `most`; whoever is free takes the next."""
    threads = min(n_threads(), -(-n // least))
    size = min(most, max(least, -(-n // (4 * threads)))) if threads > 1 else most
    slices = [(first, min(first + size, n)) for first in range(0, n, size)]
    waiting, unfinished = iter(slices), len(slices)
    failures: list[BaseException] = []
    lock, finished = Lock(), Event()

    def run() -> None:
        nonlocal unfinished
        while True:
            with lock:
                piece = next(waiting, None)
            if piece is None:
                return
            try:
                work(*piece)
            except BaseException as failure:
                failures.append(failure)
            with lock:
                unfinished -= 1
                if not unfinished:
                    finished.set()

    for _ in range(threads - 1):
        Thread(target=run, daemon=True).start()
    run()
    if slices:
        finished.wait()  # for slices, not for threads: one that a busy machine has not started yet has nothing to add
    if failures:
        raise failures[0]
