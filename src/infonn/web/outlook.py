"""How many more answers? The forecast in numbers, and in two sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from infonn.maths.forecast import PAYS, forecast
from infonn.web.messages import AccuracyPoint, ForecastOut, ForecastPoint

SURE = 0.9  # how sure we want to be before we suggest to stop
_MOST_POINTS = 60  # of the measured curve; more would add time and no knowledge


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
        band = f"{last.low:.0%} to {last.high:.0%}"
        sentences.append(f"At {last.n_answers:,} answers the accuracy should be about {last.accuracy:.0%} ({band}).")
    stop = expected.p_small >= SURE
    if stop:
        sentences.append(f"You could stop: with {expected.p_small:.0%} certainty they add less than {PAYS:.0%}.")
    elif expected.enough_at is not None and expected.enough_at > now:
        sentences.append(f"From about {expected.enough_at:,} answers on, more of them will hardly help.")
    return ForecastOut(points=ahead, stop=stop, sentences=sentences)
