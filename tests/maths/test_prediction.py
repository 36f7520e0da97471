"""How uncertain places are."""

import numpy as np

from infonn.maths.prediction import spread_of


def turned(rng, points):
    """The same shape elsewhere: turned, mirrored, larger, moved."""
    q, _ = np.linalg.qr(rng.normal(size=(points.shape[1],) * 2))
    return rng.uniform(0.5, 3) * points @ q + rng.normal(size=points.shape[1])


def test_draws_of_one_shape_leave_nothing_uncertain(rng) -> None:
    points = rng.normal(size=(9, 3))
    draws = np.stack([turned(rng, points) for _ in range(6)])
    assert np.allclose(spread_of(draws, points), 0, atol=1e-9)


def test_an_item_that_wanders_is_the_uncertain_one(rng) -> None:
    points = rng.normal(size=(20, 2))
    draws = np.stack([points] * 200)
    draws[:, 4] += rng.normal(size=(200, 2)) * 0.3
    draws = np.stack([turned(rng, draw) for draw in draws])
    spread = spread_of(draws, points)
    assert spread.argmax() == 4
    assert np.isclose(spread[4], 0.3 * np.sqrt(2), rtol=0.2)
    assert np.delete(spread, 4).max() < 0.1


def test_draws_may_have_more_or_fewer_dimensions_than_the_embedding(rng) -> None:
    points = rng.normal(size=(9, 3))
    flat = np.hstack([points, np.zeros((9, 4))])  # the same shape in a larger space
    draws = np.stack([turned(rng, flat) for _ in range(5)])
    assert np.allclose(spread_of(draws, points), 0, atol=1e-9)
    assert spread_of(draws[:, :, :2], points).shape == (9,)
