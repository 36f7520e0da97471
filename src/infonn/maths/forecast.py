"""Where an accuracy curve is going, what 100 more answers would add, and when to stop.

The rule, everywhere: stop once the 90 % interval of what 100 more answers add to the accuracy ends below one percentage
point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infonn.arrays import FloatArray, IntArray

MORE = 100  # answers whose gain decides
PAYS = 0.01  # a gain of one percentage point is worth asking for them
FEWEST_POINTS, FEWEST_HELD_OUT = 3, 20
EXPECTED_AS_GOOD_AS = 200  # hold-out answers that an accuracy is trusted as much as which a model only expects


@dataclass(frozen=True)
class Gain:
    """What `MORE` answers add to the accuracy, from `n_answers` on: expected, and its 90 % interval."""

    n_answers: int
    expected: float
    low: float
    high: float

    @property
    def stop(self) -> bool:
        """Whether it no longer pays to ask on."""
        return self.high < PAYS


@dataclass(frozen=True)
class Forecast:
    """Accuracy at `n_answers` with a 90 % band, and what `MORE` answers would add now."""

    n_answers: IntArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    gain: Gain
    enough_at: int | None  # answers from which on `MORE` are expected to add less than `PAYS`, if it is not much later


def forecast(
    n_answers: IntArray,
    accuracy: FloatArray,
    n_held_out: IntArray,
    chance: float,
    upto: int,
    now: int | None = None,
) -> Forecast | None:
    """Weigh learning curves by how well they explain the measured points; None where these are too few.

    A curve starts at `chance`, slowly or at once, and comes near its ceiling:
    ceiling - (ceiling - chance) (1 + (n / scale)^onset)^(-rate / onset). The points were measured on the same hold-out
    answers, so that together they weigh no more than these answers do: that widens the intervals, and keeps them
    honest. `now` is where the gain counts from: the last point, where it is not given.
    """
    keep = n_held_out > 0
    n_answers, accuracy, n_held_out = n_answers[keep], accuracy[keep], n_held_out[keep]
    if len(n_answers) < FEWEST_POINTS or n_held_out.max(initial=0) < FEWEST_HELD_OUT:
        return None
    ceilings, shapes = _grid(chance)

    def curves(n: FloatArray) -> FloatArray:
        """(curves, n)"""
        scale, rate, onset = (column[:, None] for column in shapes)
        left = (1 + (n / scale) ** onset) ** (-rate / onset)
        return (ceilings[:, None, None] - (ceilings - chance)[:, None, None] * left).reshape(-1, len(n))

    expected = np.clip(curves(n_answers.astype(float)), 1e-4, 1 - 1e-4)
    share = n_held_out * n_held_out.max() / n_held_out.sum()
    log_weight = (share * (accuracy * np.log(expected) + (1 - accuracy) * np.log1p(-expected))).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()

    last = int(n_answers.max()) if now is None else now
    ahead = np.unique(np.linspace(0, max(upto, last), 60).astype(int))
    futures = curves(ahead.astype(float))
    low, high = _interval(futures, weight)
    further = np.unique(np.geomspace(max(10.0, last / 4), 20 * max(last, 10.0), 80).astype(int)).astype(float)
    pays = np.flatnonzero(weight @ (curves(further + MORE) - curves(further)) >= PAYS)
    first_after = int(pays[-1]) + 1 if len(pays) else 0
    return Forecast(
        n_answers=ahead,
        accuracy=weight @ futures,
        low=low,
        high=high,
        gain=_gain(curves(np.array([float(last), float(last + MORE)])), weight, last),
        enough_at=int(further[first_after]) if first_after < len(further) else None,
    )


def _gain(now_and_then: FloatArray, weight: FloatArray, n_answers: int) -> Gain:
    gains = np.diff(now_and_then, axis=1)
    low, high = _interval(gains, weight)
    return Gain(n_answers, float(weight @ gains[:, 0]), float(low[0]), float(high[0]))


def _grid(chance: float) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """Ceilings; and scales in answers, rates and onsets in all combinations. All are equally likely beforehand.

    Ceilings lie closer together the higher they are: a study that can learn little is rare.
    """
    shapes = np.meshgrid(np.geomspace(5, 20_000, 18), np.array([0.5, 1, 2]), np.array([1.0, 2.0, 4.0]), indexing="ij")
    return chance + (1 - chance) * np.sqrt(np.linspace(0.002, 1.0, 30)), tuple(axis.ravel() for axis in shapes)


def _interval(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The weighted 5 % and 95 % quantiles of each column."""
    order = np.argsort(values, axis=0)
    cumulative, columns = np.cumsum(weight[order], axis=0), np.arange(values.shape[1])
    low, high = ((cumulative < q).sum(axis=0).clip(max=len(values) - 1) for q in (0.05, 0.95))
    return values[order[low, columns], columns], values[order[high, columns], columns]
