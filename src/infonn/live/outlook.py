"""Whether more answers pay, and how long questions should be: numbers, and the sentences that the page shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np
from pydantic import BaseModel

from infonn.contracts.storage import Answered, Storage
from infonn.findings import gain_sentences, length_sentences, percent
from infonn.maths.forecast import FEWEST_HELD_OUT, MORE, forecast
from infonn.maths.pace import FEWEST_TIMES, Pace, paces

NATS = "nats_"  # measures of a round: nats_3 is what the best questions of three candidates tell
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


def outlook(
    points: Sequence[AccuracyPoint], chance: float, goal: int, measured: Sequence[Pace] = (), candidates: int = 0
) -> ForecastOut:
    """What more answers would bring, and whether it pays to ask on.

    `measured` is the pace of questions of every length; `candidates` the length that the study asks.
    """
    about_length = length_sentences(measured, candidates)
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
        waiting = f"A forecast needs at least {FEWEST_HELD_OUT} hold-out answers and three fits of the model."
        return ForecastOut(points=[], stop=False, sentences=[waiting, *about_length])
    ahead = [
        ForecastPoint(n_answers=int(n), accuracy=float(mean), low=float(low), high=float(high))
        for n, mean, low, high in zip(expected.n_answers, expected.accuracy, expected.low, expected.high)
        if n >= now
    ]
    sentences = gain_sentences(expected.gain)
    if goal > now:
        last = ahead[-1]
        band = f"{percent(last.low)} to {percent(last.high)}"
        sentences.append(
            f"At {last.n_answers:,} answers the accuracy should be about {percent(last.accuracy)} ({band})."
        )
    if not expected.gain.stop and expected.enough_at is not None and expected.enough_at > now:
        sentences.append(f"From about {expected.enough_at:,} answers on, {MORE} more will hardly help.")
    return ForecastOut(points=ahead, stop=expected.gain.stop, sentences=[*sentences, *about_length])


def study_paces(storage: Storage, study: str) -> list[Pace]:
    """The pace of each length whose nats the latest fit has measured, by the times that people took."""
    rounds = storage.rounds(study)
    measures = rounds[-1].measures if rounds else {}
    nats = {int(name.removeprefix(NATS)): value for name, value in measures.items() if name.startswith(NATS)}
    return paces(nats, recorded_times(storage.answers(study))) if nats else []


def recorded_times(answered: Iterable[Answered]) -> dict[int, float]:
    """Median seconds of an answer by the number of candidates, of lengths with enough recorded times."""
    times: dict[int, list[float]] = defaultdict(list)
    for pair in answered:
        if pair.answer.response_time_s is not None and pair.answer.outcome == "answered":
            times[len(pair.question.query) - 1].append(pair.answer.response_time_s)
    return {length: median(own) for length, own in times.items() if len(own) >= FEWEST_TIMES}
