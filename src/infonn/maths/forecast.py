"""Where an accuracy curve is going: a band over what more answers would bring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infonn.arrays import FloatArray, IntArray

PAYS = 0.02  # a gain of two percentage points is worth asking for
_FEWEST_POINTS, _FEWEST_HELD_OUT = 3, 20


@dataclass(frozen=True)
class Forecast:
    """Accuracy at `n_answers` with a 90 % band; and what half as many answers again would add."""

    n_answers: IntArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    gain: float  # expected
    p_small: float  # chance that the gain stays below `PAYS`
    enough_at: int | None  # answers from which on half as many again are expected to add less than `PAYS`


def forecast(
    n_answers: IntArray, accuracy: FloatArray, n_held_out: IntArray, chance: float, upto: int
) -> Forecast | None:
    """Weigh learning curves by how well they explain the measured points; None where these are too few.

    A curve starts at `chance` and comes near its ceiling: ceiling - (ceiling - chance) (1 + n / scale)^-rate. The
    points were measured on the same hold-out answers, so that together they weigh no more than these answers do:
    that widens the band, and keeps it honest.
    """
    keep = n_held_out > 0
    n_answers, accuracy, n_held_out = n_answers[keep], accuracy[keep], n_held_out[keep]
    if len(n_answers) < _FEWEST_POINTS or n_held_out.max(initial=0) < _FEWEST_HELD_OUT:
        return None
    ceiling, scale, rate = (axis.ravel() for axis in np.meshgrid(*_grid(chance), indexing="ij"))

    def curves(n: FloatArray) -> FloatArray:
        """(curves, n)"""
        left = (1 + n[None, :] / scale[:, None]) ** -rate[:, None]
        return ceiling[:, None] - (ceiling - chance)[:, None] * left

    expected = np.clip(curves(n_answers.astype(float)), 1e-4, 1 - 1e-4)
    share = n_held_out * n_held_out.max() / n_held_out.sum()
    log_weight = (share * (accuracy * np.log(expected) + (1 - accuracy) * np.log1p(-expected))).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()

    now = float(n_answers.max())
    ahead = np.unique(np.linspace(0, max(upto, now), 60).astype(int))
    futures = curves(ahead.astype(float))
    low, high = (_quantiles(futures, weight, q) for q in (0.05, 0.95))
    gains = curves(np.array([1.5 * now]))[:, 0] - curves(np.array([now]))[:, 0]
    further = np.unique(np.geomspace(max(10.0, now / 4), 20 * max(now, 10.0), 80).astype(int)).astype(float)
    added = weight @ (curves(1.5 * further) - curves(further))
    past = np.flatnonzero(added < PAYS)
    return Forecast(
        n_answers=ahead,
        accuracy=weight @ futures,
        low=low,
        high=high,
        gain=float(weight @ gains),
        p_small=float(weight[gains < PAYS].sum()),
        enough_at=int(further[past[0]]) if len(past) else None,
    )


def _grid(chance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ceilings, scales in answers, and rates, all taken as equally likely beforehand."""
    return chance + (1 - chance) * np.linspace(0.02, 1.0, 40), np.geomspace(3, 30_000, 20), np.array([0.5, 1, 2])


def _quantiles(values: FloatArray, weight: FloatArray, q: float) -> FloatArray:
    """The weighted quantile of each column."""
    order = np.argsort(values, axis=0)
    cumulative = np.cumsum(weight[order], axis=0)
    rows = (cumulative < q).sum(axis=0).clip(max=len(values) - 1)
    return np.take_along_axis(values, order, axis=0)[rows, np.arange(values.shape[1])]
