"""The fitted model of how people judge alien eggs."""

import numpy as np
import pytest

from infonn.datasets.eggs import alien_eggs
from infonn.oracles.eggs import EggOracle


def test_clear_questions_are_answered_with_the_fitted_error_and_unclear_ones_by_chance() -> None:
    oracle = EggOracle(np.array([0.0, 1.0, 1000.0, -1.0]))
    chance = lambda a, b: float(oracle.chance(np.array([0]), np.array([a]), np.array([b]))[0])  # noqa: E731
    assert chance(1, 3) == pytest.approx(0.5)
    assert chance(1, 2) == pytest.approx(1 - 0.07074231, abs=1e-3)
    assert chance(2, 1) == pytest.approx(1 - chance(1, 2))


def test_the_model_agrees_with_people_about_as_often_as_people_with_the_truth(rng) -> None:
    eggs = alien_eggs()
    test = eggs.chosen_by("Test")
    given = EggOracle(eggs.smoothness).answer(test.queries, rng)
    references, left, right = (eggs.smoothness[test.queries[:, i]] for i in range(3))
    nearer = np.where(np.abs(references - left) <= np.abs(references - right), 0, 1)
    people, model = (test.responses == nearer).mean(), (given == nearer).mean()
    assert abs(people - model) < 0.03


def test_knockouts_choose_among_all_candidates_and_never_padding(rng) -> None:
    oracle = EggOracle(np.array([0.0, 1.0, 50.0, 60.0, 70.0]))
    queries = np.tile(np.array([[0, 4, 1, 2, 3], [0, 2, 1, -1, -1]]), (2000, 1))
    given = oracle.answer(queries, rng).reshape(-1, 2)
    assert np.bincount(given[:, 0], minlength=4).argmax() == 1
    assert set(given[:, 0].tolist()) == {0, 1, 2, 3}
    assert set(given[:, 1].tolist()) == {0, 1}
    assert (given[:, 1] == 1).mean() == pytest.approx(1 - 0.07074231, abs=0.03)
