"""Points in fewer columns: distances kept as well as a map can, checked beside plain loops."""

import numpy as np
import pytest

from infonn.maths.distances import pairwise_distances
from infonn.maths.placement import beside, expected_accuracy, fewest_columns, in_columns, majorised


def error(points, wanted):
    return ((pairwise_distances(points) - pairwise_distances(wanted)) ** 2).sum()


@pytest.mark.parametrize("n_items, n_columns", [(12, 2), (12, 1), (40, 3)])
def test_columns_are_as_many_as_asked_for_and_keep_distances_better_than_axes(rng, n_items, n_columns):
    points = rng.standard_normal((n_items, 9)) * np.geomspace(3, 0.5, 9)
    placed = in_columns(points, n_columns)
    assert placed.shape == (n_items, n_columns)
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred)[2][:n_columns].T
    assert error(placed, points) < error(centred @ axes, points)


def test_points_that_fit_are_only_turned(rng):
    flat = rng.standard_normal((10, 2)) @ rng.standard_normal((2, 5))
    placed = in_columns(flat, 3)
    np.testing.assert_allclose(pairwise_distances(placed), pairwise_distances(flat), atol=1e-6)
    np.testing.assert_allclose(placed[:, 2], 0, atol=1e-6)
    assert in_columns(flat[:, :2], 4).shape == (10, 4)
    np.testing.assert_array_equal(in_columns(np.zeros((4, 3)), 2), np.zeros((4, 2)))


def test_a_step_is_the_mean_of_where_the_others_would_have_a_point(rng):
    """The transform by loops, from de Leeuw's formula."""
    wanted, start = pairwise_distances(rng.standard_normal((6, 4))), rng.standard_normal((6, 2))
    start -= start.mean(axis=0)
    moved = np.zeros_like(start)
    for i in range(6):
        for j in range(6):
            if i != j:
                moved[i] += start[j] + wanted[i, j] * (start[i] - start[j]) / np.linalg.norm(start[i] - start[j])
    moved = (moved + start) / 6  # its own place counts, too
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("infonn.maths.placement.STEPS", 1)
        np.testing.assert_allclose(majorised(wanted, start), moved, atol=1e-12)


def test_more_items_than_landmarks_are_placed_beside_them(rng, monkeypatch):
    monkeypatch.setattr("infonn.maths.placement.LANDMARKS", 60)
    points = np.hstack([rng.standard_normal((200, 2)), 0.1 * rng.standard_normal((200, 4))])
    placed = in_columns(points, 2)
    correlation = np.corrcoef(pairwise_distances(placed).ravel(), pairwise_distances(points).ravel())[0, 1]
    assert correlation > 0.99


def test_new_points_go_where_their_own_twins_are(rng):
    points = np.hstack([rng.standard_normal((50, 2)), 0.05 * rng.standard_normal((50, 3))])
    placed = in_columns(points, 2)
    np.testing.assert_allclose(beside(points, placed, points[:7]), placed[:7], atol=0.1)
    assert beside(points, placed, points[:0]).shape == (0, 2)


@pytest.mark.parametrize("n_true", [1, 2, 3])
def test_as_many_columns_as_the_draws_agree_on(rng, n_true):
    truth = np.hstack([rng.standard_normal((40, n_true)), np.zeros((40, 4 - n_true))])
    draws = truth + 0.1 * rng.standard_normal((30, 40, 4))
    points = np.hstack([truth, 0.2 * rng.standard_normal((40, 10))])
    assert fewest_columns(points, draws, 4) == n_true
    assert fewest_columns(points, draws, 1) == 1
    assert fewest_columns(points[:2], draws[:, :2], 4) == 1


def test_expected_accuracy_counts_draws_that_agree():
    points = np.array([[0.0], [1.0], [3.0]])
    draws = np.array([[[0.0], [1.0], [3.0]], [[0.0], [3.0], [1.0]], [[0.0], [1.0], [2.0]]])
    assert expected_accuracy(points, draws, np.array([[0, 1, 2]])) == pytest.approx(2 / 3)
