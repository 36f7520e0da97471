"""Verdicts: whether curves bear a sentence out. One rule for the claims of the paper and for ours.

Methods are compared trial by trial, on shared seeds. Each rule gives (holds, evidence), as a `Claim` takes them: holds
is None where the trials cannot tell. A single difference may go without a name: its name is "".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from infonn.experiments.statistics import paired_curves, value_at
from infonn.experiments.trial import Curve
from infonn.maths.paired import PairedDifference, paired_difference

ENOUGH_TRIALS = 5  # with fewer nothing is decided

Differences = Mapping[str, PairedDifference | None]  # None where a method was not run
Judgement = tuple[bool | None, dict[str, Any]]


def compare(
    first: Sequence[Curve],
    second: Sequence[Curve],
    measure: str,
    axis: str = "queries",
    low: float = 0,
    high: float = np.inf,
) -> PairedDifference | None:
    """First minus second at equal queries (or triplets), averaged over what both have after the start, by trial.

    `low` to `high` answers count; None where no trial has both methods there.
    """
    levels: list[list[float]] = [[], []]
    for pair in zip(*paired_curves(first, second)):
        last = min(getattr(curve, axis)[-1] for curve in pair)
        shared = [n for n in getattr(pair[0], axis)[1:] if low <= n <= min(high, last)]
        if not shared:
            return None
        for side, curve in zip(levels, pair):
            side.append(float(np.mean([value_at(curve, measure, n, axis) for n in shared])))
    return paired_difference(levels[0], levels[1]) if levels[0] else None


def above(differences: Differences) -> Judgement:
    """True where every difference is surely above 0, False where one is not above 0 on average, else None."""
    known = _known(differences)
    holds: bool | None = None
    if known is not None and all(difference.above for difference in known):
        holds = True
    elif known is not None and any(difference.mean <= 0 for difference in known):
        holds = False
    return holds, evidence_of(differences)


def within(differences: Differences, margin: float) -> Judgement:
    """Whether no mean difference is larger than `margin`, up or down."""
    known = _known(differences)
    holds = None if known is None else all(abs(difference.mean) <= margin for difference in known)
    return holds, evidence_of(differences)


def not_below(differences: Differences, margin: float) -> Judgement:
    """Whether no mean difference is more than `margin` below 0."""
    known = _known(differences)
    holds = None if known is None else all(difference.mean >= -margin for difference in known)
    return holds, evidence_of(differences)


def enough(curves: Sequence[Curve]) -> bool:
    """Whether there are trials enough to decide anything."""
    return len({curve.trial for curve in curves}) >= ENOUGH_TRIALS


def evidence_of(differences: Differences) -> dict[str, Any]:
    """The differences as a claim shows them."""
    entries = {name: _entry(difference) for name, difference in differences.items()}
    return entries[""] if list(entries) == [""] else entries


def _entry(difference: PairedDifference | None) -> dict[str, Any]:
    if difference is None:
        return {"mean": None, "low": None, "high": None, "wins": None, "trials": 0}
    numbers = {key: round(float(getattr(difference, key)), 4) for key in ("mean", "low", "high", "wins")}
    return numbers | {"trials": difference.n}


def _known(differences: Differences) -> list[PairedDifference] | None:
    """All differences, where there are any, none is missing, and each has trials enough."""
    known = [difference for difference in differences.values() if difference is not None]
    if not known or len(known) < len(differences) or any(difference.n < ENOUGH_TRIALS for difference in known):
        return None
    return known
