"""The forecast against curves that are known."""

import numpy as np
import pytest

from infonn.maths.forecast import MORE, PAYS, forecast

CHANCE = 1 / 3


def curve(n, ceiling, scale, rate=1.0, onset=1.0):
    return ceiling - (ceiling - CHANCE) * (1 + (np.asarray(n, float) / scale) ** onset) ** (-rate / onset)


def measured(rng, truth, n, held_out=120):
    """Points as a study measures them: hold-out questions are the same ones throughout, and more come with time."""
    hardness = rng.random(held_out)
    asked = np.maximum(10, held_out * n // n[-1])
    right = np.array([(hardness[:k] < t).mean() for k, t in zip(asked, truth(n))])
    return n, right, asked


def simulated(rng):
    """A study of any size and speed, and how far it has come."""
    ceiling, rate, onset = rng.uniform(0.6, 0.95), rng.uniform(0.5, 2), rng.uniform(1, 4)
    scale, last = 10 ** rng.uniform(1.3, 3.3), int(rng.choice([100, 300, 1000, 3000]))
    return (lambda n: curve(n, ceiling, scale, rate, onset)), np.unique(np.linspace(20, last, 15).astype(int))


def test_the_intervals_cover_the_truth_as_often_as_they_say(rng) -> None:
    """60 studies, 90 % intervals: fewer than 47 hits would have a chance below 3 in 1,000."""
    in_band, in_interval, wrong_stops = 0, 0, 0
    for turn in range(60):
        truth, n = simulated(rng)
        result = forecast(*measured(rng, truth, n, (60, 200, 800)[turn % 3]), CHANCE, n[-1] + MORE)
        gain = float(truth(n[-1] + MORE) - truth(n[-1]))
        in_band += result.low[-1] <= truth(n[-1] + MORE) <= result.high[-1]
        in_interval += result.gain.low <= gain <= result.gain.high
        wrong_stops += result.gain.stop and gain >= PAYS
    assert in_band >= 47
    assert in_interval >= 47
    assert wrong_stops <= 3


@pytest.mark.slow
def test_the_interval_of_the_gain_is_neither_too_narrow_nor_idle(rng) -> None:
    """300 studies: fewer than 255 hits have a chance below 4 in 1,000; and most that can gain nothing should stop."""
    hits, stops, idle = 0, 0, 0
    for _ in range(300):
        truth, n = simulated(rng)
        result = forecast(*measured(rng, truth, n, 200), CHANCE, n[-1] + MORE)
        gain = float(truth(n[-1] + MORE) - truth(n[-1]))
        hits += result.gain.low <= gain <= result.gain.high
        if gain < PAYS / 4:
            idle += 1
            stops += result.gain.stop
    assert hits >= 255
    assert stops >= idle / 2


def test_a_flat_curve_is_enough_and_a_rising_one_is_not(rng) -> None:
    n = np.arange(50, 1001, 50)
    flat = forecast(*measured(rng, lambda n: curve(n, 0.8, 5), n, 600), CHANCE, 2000)
    rising = forecast(*measured(rng, lambda n: curve(n, 0.95, 900), n // 2, 600), CHANCE, 2000)
    assert flat.gain.stop
    assert flat.gain.low <= flat.gain.expected <= flat.gain.high < PAYS
    assert not rising.gain.stop
    assert rising.enough_at > 500


def test_a_study_that_has_not_begun_to_learn_is_not_told_to_stop(rng) -> None:
    n = np.arange(10, 121, 10)
    assert not forecast(*measured(rng, lambda n: curve(n, 0.9, 300, 2, 4), n, 40), CHANCE, 400).gain.stop


def test_bands_are_ordered_and_stay_between_chance_and_one(rng) -> None:
    result = forecast(*measured(rng, lambda n: curve(n, 0.9, 100), np.arange(20, 200, 20)), 0.25, 500)
    assert (result.low <= result.accuracy + 1e-9).all()
    assert (result.accuracy <= result.high + 1e-9).all()
    assert result.low.min() >= 0.25 - 1e-9
    assert result.high.max() <= 1 + 1e-9
    assert (np.diff(result.n_answers) > 0).all()


def test_the_gain_may_count_from_another_point_than_the_last(rng) -> None:
    points = measured(rng, lambda n: curve(n, 0.9, 200), np.arange(50, 1001, 50), 600)
    early, late = (forecast(*points, CHANCE, 1000, now).gain for now in (100, 1000))
    assert (early.n_answers, late.n_answers) == (100, 1000)
    assert early.expected > late.expected


def test_too_little_is_no_forecast() -> None:
    assert forecast(np.array([10, 20]), np.array([0.4, 0.5]), np.array([30, 30]), 0.5, 100) is None
    assert forecast(np.arange(5), np.full(5, 0.5), np.full(5, 3), 0.5, 100) is None
