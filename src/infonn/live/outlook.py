"""How many more answers? The forecast in numbers, and in two sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from infonn.maths.forecast import PAYS, forecast

SURE = 0.9  # how sure we want to be before we suggest to stop
_MOST_POINTS = 60  # of the measured curve; more would add time and no knowledge


class AccuracyPoint(BaseModel):
    """Accuracy on the hold-out answers after so many train answers, with its 95 % interval."""

    n_answers: int
    n_hold_out: int
    accuracy: float
    low: float
    high: float
    log_loss: float | None
    at: float


class ForecastPoint(BaseModel):
    """Expected accuracy after so many train answers, with a 90 % band."""

    n_answers: int
    accuracy: float
    low: float
    high: float


class ForecastOut(BaseModel):
    """What more answers would bring; `stop` where they are not expected to pay any more."""

    points: list[ForecastPoint]
    stop: bool
    sentences: list[str]


def outlook(points: Sequence[AccuracyPoint], chance: float, goal: int) -> ForecastOut:
    """What more answers would bring, and whether it pays to ask on."""
    chosen = [points[i] for i in np.unique(np.linspace(0, len(points) - 1, _MOST_POINTS).astype(int))] if points else []
    now = max((point.n_answers for point in chosen), default=0)
    upto = int(max(goal, 1.5 * now, 50))
    expected = forecast(
        np.array([point.n_answers for point in chosen], int),
        np.array([point.accuracy for point in chosen], float),
        np.array([point.n_hold_out for point in chosen], int),
        chance,
        upto,
    )
    if expected is None:
        waiting = "A forecast needs at least 20 hold-out answers and three fits of the model."
        return ForecastOut(points=[], stop=False, sentences=[waiting])
    ahead = [
        ForecastPoint(n_answers=int(n), accuracy=float(mean), low=float(low), high=float(high))
        for n, mean, low, high in zip(expected.n_answers, expected.accuracy, expected.low, expected.high)
        if n >= now
    ]
    half, last = max(1, now // 2), ahead[-1]
    sentences = [f"{half:,} more answers are expected to add {100 * max(0.0, expected.gain):.1f} percentage points."]
    if goal > now:
        band = f"{percent(last.low)} to {percent(last.high)}"
        sentences.append(
            f"At {last.n_answers:,} answers the accuracy should be about {percent(last.accuracy)} ({band})."
        )
    stop = expected.p_small >= SURE
    if stop:
        small = f"less than {100 * PAYS:.0f} percentage points"
        sentences.append(f"You could stop: with {percent(expected.p_small)} certainty they add {small}.")
    elif expected.enough_at is not None and expected.enough_at > now:
        sentences.append(f"From about {expected.enough_at:,} answers on, more of them will hardly help.")
    return ForecastOut(points=ahead, stop=stop, sentences=sentences)


def percent(share: float, digits: int = 0) -> str:
    """As the pages write it: 0.123 -> "12 %"."""
    return f"{100 * share:.{digits}f} %"
