"""What an answer costs a person and what it brings in a minute, by how many candidates the question shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SECONDS_PER_ITEM = 0.58
"""Median seconds of an answer for each item shown, where no times are recorded: 1.74 s for a reference and two
candidates, as people took over 20,086 answers about alien eggs."""

FEWEST_TIMES = 20  # answers of one length whose median time counts as known


@dataclass(frozen=True)
class Pace:
    """What the best questions of one length bring; `recorded` where people's times with that length are known."""

    candidates: int
    nats: float
    seconds: float
    recorded: bool = False

    @property
    def nats_per_minute(self) -> float:
        return 60 * self.nats / self.seconds


def seconds_per_answer(candidates: int, recorded: Mapping[int, float]) -> float:
    """Seconds that an answer takes: as recorded (candidates -> median seconds), else in proportion to the items shown.

    The proportion is that of the recorded length nearest to it; without any, `SECONDS_PER_ITEM`. That a person looks at
    every item for equally long is an assumption: recorded times of that length replace it.
    """
    if not recorded:
        return SECONDS_PER_ITEM * (1 + candidates)
    nearest = min(recorded, key=lambda length: (abs(length - candidates), length))
    return recorded[nearest] * (1 + candidates) / (1 + nearest)


def paces(nats: Mapping[int, float], recorded: Mapping[int, float]) -> list[Pace]:
    """The pace of every length in `nats` (candidates -> nats of its best questions), shortest first."""
    return [
        Pace(length, nats[length], seconds_per_answer(length, recorded), length in recorded) for length in sorted(nats)
    ]


def fastest(measured: Sequence[Pace]) -> Pace:
    """The length that brings most nats in a minute; of equals the shortest."""
    return max(measured, key=lambda pace: pace.nats_per_minute)
