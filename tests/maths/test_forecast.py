"""The forecast against curves that are known."""

import numpy as np

from infonn.maths.forecast import forecast


def measured(rng, ceiling, scale, n, held_out=120, chance=1 / 3):
    """Points as a study measures them: hold-out questions are the same ones throughout, and more come with time."""
    truth = ceiling - (ceiling - chance) * (1 + n / scale) ** -1.0
    hardness = rng.random(held_out)
    asked = np.maximum(10, held_out * n // n[-1])
    right = np.array([(hardness[:k] < t).mean() for k, t in zip(asked, truth)])
    return n, right, asked


def test_the_band_covers_the_curve_that_made_the_points(rng) -> None:
    """40 studies, a 90 % band: fewer than 33 hits would have a chance below 2 in 1,000."""
    n = np.arange(20, 401, 20)
    hits = 0
    for _ in range(40):
        ceiling, scale = rng.uniform(0.6, 0.98), rng.uniform(20, 300)
        result = forecast(*measured(rng, ceiling, scale, n), 1 / 3, 1200)
        truth = ceiling - (ceiling - 1 / 3) / (1 + 1200 / scale)
        hits += result.low[-1] <= truth <= result.high[-1]
    assert hits >= 33


def test_a_flat_curve_is_enough_and_a_rising_one_is_not(rng) -> None:
    n = np.arange(50, 1001, 50)
    flat = forecast(*measured(rng, 0.8, 5, n, 600), 1 / 3, 2000)
    rising = forecast(*measured(rng, 0.95, 900, n, 600), 1 / 3, 2000)
    assert flat.p_small > 0.9
    assert flat.gain < 0.01
    assert rising.p_small < 0.5
    assert rising.enough_at > 1000


def test_bands_are_ordered_and_stay_between_chance_and_one(rng) -> None:
    result = forecast(*measured(rng, 0.9, 100, np.arange(20, 200, 20)), 0.25, 500)
    assert (result.low <= result.accuracy + 1e-9).all()
    assert (result.accuracy <= result.high + 1e-9).all()
    assert result.low.min() >= 0.25 - 1e-9
    assert result.high.max() <= 1 + 1e-9
    assert (np.diff(result.n_answers) > 0).all()


def test_too_little_is_no_forecast() -> None:
    assert forecast(np.array([10, 20]), np.array([0.4, 0.5]), np.array([30, 30]), 0.5, 100) is None
    assert forecast(np.arange(5), np.full(5, 0.5), np.full(5, 3), 0.5, 100) is None
