"""What one study's fit may take of a machine that many studies share, and who is over it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psutil

PAUSE_S = 3600.0  # before a study that took too much is tried again as it is


@dataclass(frozen=True)
class FitLimits:
    """Resident memory of a process that fits, and seconds of one fit.

    They are watched, not imposed: limits on the address space break compiled kernels.
    """

    memory_gb: float
    seconds: float

    def exceeded(self, pid: int, seconds: float) -> str | None:
        """What a process takes too much of, as a sentence; None where all is well."""
        if seconds > self.seconds:
            return f"one fit took more than {self.seconds:g} s, so it was stopped. Use fewer items, answers or draws."
        try:
            resident = psutil.Process(pid).memory_info().rss / 1e9
        except psutil.Error:
            return None  # it has ended by itself
        if resident > self.memory_gb:
            return (
                f"it took {resident:.1f} GB of memory and {self.memory_gb:g} GB are allowed, so it was stopped. Use "
                "fewer items, dimensions or draws, or give workers more memory."
            )
        return None


def default_limits() -> FitLimits:
    """Half of the machine's memory, and ten minutes."""
    return FitLimits(round(psutil.virtual_memory().total / 2e9, 1), 600.0)


def pause_note(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Word to all workers that a study is to be left alone for a while, or until its parts are changed."""
    return {"until": time.time() + PAUSE_S, "parts": _parts(spec)}


def is_paused(note: Mapping[str, Any] | None, spec: Mapping[str, Any]) -> bool:
    return note is not None and note["parts"] == _parts(spec) and time.time() < note["until"]


def _parts(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {table: dict(spec.get(table, {})) for table in ("learner", "strategy")}
