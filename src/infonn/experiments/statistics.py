"""What curves say, in numbers: medians and quartiles, paired differences, answers needed to reach a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infonn.arrays import FloatArray
from infonn.errors import DataError
from infonn.experiments.trial import Curve
from infonn.maths.paired import PairedDifference, paired_difference

__all__ = [
    "PairedDifference",
    "answers_ratio",
    "answers_to_target",
    "mean_level",
    "median_answers",
    "paired_curves",
    "paired_difference",
    "pick",
    "quartiles",
    "series",
    "value_at",
]


def pick(
    curves: Sequence[Curve], method: str | None = None, learner: str | None = None, **settings: Any
) -> list[Curve]:
    """The curves of a method, a learner and these settings, by trial."""
    chosen = [
        curve
        for curve in curves
        if method in (None, curve.method)
        and learner in (None, curve.learner)
        and all(curve.settings.get(key) == value for key, value in settings.items())
    ]
    return sorted(chosen, key=lambda curve: curve.trial)


def series(curves: Sequence[Curve], measure: str) -> FloatArray:
    """One measure of curves of equal length: (curves, points). What could not be measured is NaN."""
    lengths = {len(curve.measures[measure]) for curve in curves}
    if len(lengths) != 1:
        raise DataError(f"{len(curves)} curves with {sorted(lengths)} points; to be compared they need equally many.")
    return np.array([curve.measures[measure] for curve in curves], float)


def quartiles(values: FloatArray, axis: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Lower quartile, median, upper quartile over trials."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=axis)
    return low, middle, high


def value_at(curve: Curve, measure: str, n: float, axis: str = "queries") -> float:
    """The measure after `n` queries (or triplets), interpolated; NaN outside the curve."""
    return float(np.interp(n, getattr(curve, axis), curve.measures[measure], left=np.nan, right=np.nan))


def mean_level(curve: Curve, measure: str) -> float:
    """The mean of a measure over the active rounds: the area under the curve, shared start left out."""
    return float(np.mean(curve.measures[measure][1:]))


def paired_curves(first: Sequence[Curve], second: Sequence[Curve]) -> tuple[list[Curve], list[Curve]]:
    """The curves of trials that both have, in the same order."""
    seconds = {curve.trial: curve for curve in second}
    shared = sorted((curve for curve in first if curve.trial in seconds), key=lambda curve: curve.trial)
    return shared, [seconds[curve.trial] for curve in shared]


def answers_to_target(curve: Curve, measure: str, target: float) -> float:
    """Answers after the shared start until a running median of 3 stays at or above `target`; inf if it never does.

    Interpolated between the last round below and the first round of staying above.
    """
    values = np.asarray(curve.measures[measure], float)
    answers = np.asarray(curve.queries, float) - curve.queries[0]
    padded = np.pad(values, 1, mode="edge")
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(padded, 3), axis=1)
    below = np.flatnonzero(~(smooth >= target))
    if not len(below):
        return 0.0
    last = int(below[-1])
    if last == len(values) - 1:
        return float("inf")
    share = (target - smooth[last]) / (smooth[last + 1] - smooth[last])
    return float(answers[last] + share * (answers[last + 1] - answers[last]))


def median_answers(curves: Sequence[Curve], measure: str, target: float) -> float:
    """Median over trials of the answers to a target; a trial that never gets there counts as infinite."""
    counts = np.sort([answers_to_target(curve, measure, target) for curve in curves])
    middle = len(counts) // 2
    return float(counts[middle] if len(counts) % 2 else (counts[middle - 1] + counts[middle]) / 2)


def answers_ratio(first: Sequence[Curve], second: Sequence[Curve], measure: str, target: float) -> float:
    """How many answers `first` needs for one of `second`: the ratio of medians; NaN where neither gets there."""
    a, b = median_answers(first, measure, target), median_answers(second, measure, target)
    if np.isinf(a) and np.isinf(b):
        return float("nan")
    return float("inf") if b == 0 and a > 0 else float(a / b) if b else 1.0
