"""How an entry is measured: the median of interleaved runs of both sides, in one process, as a ratio.

To add an entry, write a function without arguments that returns a `Comparison`, and name it in `bench/table.py`:

    def my_entry() -> Comparison:
        data = ...                                          # made once, not measured
        return Comparison(lambda: fast(data), "plain loop", lambda: plain(data[:200]), share=200 / len(data))

Both sides run once unmeasured (compiling, warming caches), then `runs` times in turn. `share` is the part of the
work that the baseline does; its seconds are scaled up by it. `extra` adds named numbers, worked out once at the end,
and `targets` says what they should come to.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Target:
    """What a number of an entry (`seconds`, `ratio`, one of `extra`) should come to: at most so much, or at least."""

    number: str
    value: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        return value >= self.value if self.at_least else value <= self.value

    def __str__(self) -> str:
        return f"{self.number} {'at least' if self.at_least else 'at most'} {self.value:g}"


@dataclass(frozen=True)
class Comparison:
    """Ours, beside the plain way to do the same (None where the entry is not about a ratio)."""

    ours: Callable[[], object]
    baseline_name: str = ""
    baseline: Callable[[], object] | None = None
    share: float = 1.0
    extra: Callable[[], dict[str, float]] = dict
    targets: Sequence[Target] = ()
    runs: int = 5


@dataclass(frozen=True)
class Entry:
    """One line of the table. `ratio` says how many times faster ours is."""

    name: str
    seconds: float
    baseline: str = ""
    baseline_seconds: float | None = None
    ratio: float | None = None
    extra: dict[str, float] = field(default_factory=dict)
    targets: Sequence[Target] = ()

    def as_dict(self) -> dict[str, Any]:
        """Flat, as it is written to a JSON file."""
        fields = {key: value for key, value in vars(self).items() if key not in ("extra", "targets")}
        return {**fields, **self.extra, **({"targets": self.told_targets()} if self.targets else {})}

    def told_targets(self) -> list[str]:
        """Each target, the value beside it, and whether that is enough."""
        return told(self.targets, {**vars(self), **self.extra})


def told(targets: Sequence[Target], values: Mapping[str, Any]) -> list[str]:
    """Each target, the value beside it, and whether that is enough; of a value that is not known, that."""
    told = []
    for target in targets:
        value = values[target.number]
        met = "not measured" if value is None else f"{value:.3g}, {'met' if target.met(value) else 'missed'}"
        told.append(f"{target}: {met}")
    return told


def measure(name: str, comparison: Comparison, runs: int | None = None) -> Entry:
    """The median of `runs` runs of each side, taken in turn so that a busy moment hits both."""
    runs = comparison.runs if runs is None else runs
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
        return Entry(name, seconds, extra=comparison.extra(), targets=comparison.targets)
    plain = median(times[1]) / comparison.share
    found = comparison.extra()
    return Entry(name, seconds, comparison.baseline_name, plain, plain / seconds, found, comparison.targets)


def peak_mb(target: str) -> float:
    """Most memory, in megabytes, that a fresh process takes to run `target` ("module:function")."""
    module, function = target.split(":")
    code = f"import {module}, infonn.bench.entries as e; {module}.{function}(); print(e.own_peak_mb())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def peak_anonymous_mb(target: str) -> float:
    """The same of memory that is the process's own: pages of files that it has mapped are the system's to drop."""
    module, function = target.split(":")
    code = f"import {module} as m, infonn.bench.entries as e; print(e.watched_anonymous_mb(m.{function}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def watched_anonymous_mb(work: Callable[[], object], every_s: float = 0.01) -> float:
    """Most anonymous memory of this process while it works, looked at every so many seconds."""
    most, over = 0.0, Event()

    def look() -> None:
        nonlocal most
        while not over.wait(every_s):
            most = max(most, _anonymous_mb())

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    work()
    most = max(most, _anonymous_mb())
    over.set()
    watcher.join()
    return most


def _anonymous_mb() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024


def own_peak_mb() -> float:
    """Most memory this process has taken so far."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent held before this process was its own
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
