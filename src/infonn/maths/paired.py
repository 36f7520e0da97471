"""Differences of two methods over trials that share seeds: means, intervals, and how many trials would tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray
from infonn.errors import DataError

SURE, POWER = 1.96, 0.8416  # standard errors: of a 95 % interval, and beyond it for four chances in five


@dataclass(frozen=True)
class PairedDifference:
    """First minus second over trials that share seeds: mean with a 95 % bootstrap interval, median, share above 0."""

    mean: float
    low: float
    high: float
    median: float
    wins: float
    n: int

    @property
    def above(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0

    @property
    def below(self) -> bool:
        """Whether the interval lies below 0."""
        return self.high < 0


def paired_difference(
    first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray, n_resamples: int = 10_000
) -> PairedDifference:
    """Compare two methods trial by trial; entry i of both comes from trial i. The resampling is seeded."""
    difference = np.asarray(first, float) - np.asarray(second, float)
    if difference.ndim != 1 or not len(difference):
        raise DataError(f"Paired values have shape {difference.shape}; one number per trial is needed.")
    rows = default_rng(0).integers(0, len(difference), (n_resamples, len(difference)))
    low, high = np.quantile(difference[rows].mean(axis=1), [0.025, 0.975])
    return PairedDifference(
        float(difference.mean()),
        float(low),
        float(high),
        float(np.median(difference)),
        float((difference > 0).mean()),
        len(difference),
    )


def detectable(low: float, high: float) -> float:
    """The smallest difference that trials with such an interval tell from 0 four times in five."""
    return (SURE + POWER) * (high - low) / (2 * SURE)


def trials_to_decide(mean: float, low: float, high: float, n: int) -> float:
    """Trials after which the interval leaves out 0 four times in five, were the true difference the observed mean."""
    return math.inf if mean == 0 else float(math.ceil(n * (detectable(low, high) / mean) ** 2))
