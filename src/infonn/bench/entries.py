"""How an entry is measured: the median of interleaved runs of both sides, in one process, as a ratio.

To add an entry, write a function without arguments that returns a `Comparison`, and name it in `bench/table.py`:

    def my_entry() -> Comparison:
        data = ...                                          # made once, not measured
        return Comparison(lambda: fast(data), "plain loop", lambda: plain(data[:200]), share=200 / len(data))

Both sides run once unmeasured (compiling, warming caches), then `runs` times in turn. `share` is the part of the
work that the baseline does; its seconds are scaled up by it. `extra` adds named numbers, worked out once at the end.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Comparison:
    """Ours, beside the plain way to do the same (None where the entry is not about a ratio)."""

    ours: Callable[[], object]
    baseline_name: str = ""
    baseline: Callable[[], object] | None = None
    share: float = 1.0
    extra: Callable[[], dict[str, float]] = dict


@dataclass(frozen=True)
class Entry:
    """One line of the table. `ratio` says how many times faster ours is."""

    name: str
    seconds: float
    baseline: str = ""
    baseline_seconds: float | None = None
    ratio: float | None = None
    extra: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Flat, as it is written to a JSON file."""
        fields = {key: value for key, value in vars(self).items() if key != "extra"}
        return {**fields, **self.extra}


def measure(name: str, comparison: Comparison, runs: int = 5) -> Entry:
    """The median of `runs` runs of each side, taken in turn so that a busy moment hits both."""
    sides = [side for side in (comparison.ours, comparison.baseline) if side is not None]
    times: list[list[float]] = [[] for _ in sides]
    for side in sides:
        side()
    for _ in range(runs):
        for side, taken in zip(sides, times):
            started = perf_counter()
            side()
            taken.append(perf_counter() - started)
    seconds = median(times[0])
    if comparison.baseline is None:
        return Entry(name, seconds, extra=comparison.extra())
    plain = median(times[1]) / comparison.share
    return Entry(name, seconds, comparison.baseline_name, plain, plain / seconds, comparison.extra())


def peak_mb(target: str) -> float:
    """Most memory, in megabytes, that a fresh process takes to run `target` ("module:function")."""
    module, function = target.split(":")
    code = f"import {module}, infonn.bench.entries as e; {module}.{function}(); print(e.own_peak_mb())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def own_peak_mb() -> float:
    """Most memory this process has taken so far."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent held before this process was its own
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
