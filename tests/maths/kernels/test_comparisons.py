"""The fused gradient steps against plain numpy, torch autograd and finite differences."""

import numpy as np
import pytest

from infonn.maths.comparisons import comparison_gradient, comparison_loss
from infonn.maths.kernels import comparisons as kernels
from infonn.maths.responses import ResponseSettings
from infonn.queries import draw_queries


def plain_descent(embedding, triplets, mu, steps, step):
    points = embedding.copy()
    for _ in range(steps):
        points -= step * comparison_gradient(points, triplets, mu)
    return points


@pytest.mark.parametrize("n_items, n_dims, n_triplets", [(4, 1, 3), (20, 2, 300), (30, 5, 200), (9, 3, 1)])
def test_the_kernel_takes_the_steps_of_the_plain_version(n_items, n_dims, n_triplets, rng) -> None:
    embedding, triplets = rng.random((n_items, n_dims)), draw_queries(n_triplets, n_items, 2, rng)
    expected = plain_descent(embedding, triplets, 0.7, 50, 0.5)
    np.testing.assert_allclose(kernels.descend(embedding, triplets, 0.7, 50, 0.5), expected, rtol=1e-11, atol=1e-12)


def test_the_gradient_is_that_of_the_loss(rng) -> None:
    embedding, triplets = rng.random((6, 2)), draw_queries(15, 6, 2, rng)
    settings, h = ResponseSettings(mu=0.4), 1e-6
    gradient = comparison_gradient(embedding, triplets, settings.mu)
    for row, column in np.ndindex(embedding.shape):
        up, down = embedding.copy(), embedding.copy()
        up[row, column] += h
        down[row, column] -= h
        slope = (comparison_loss(up, triplets, settings) - comparison_loss(down, triplets, settings)) / (2 * h)
        assert gradient[row, column] == pytest.approx(slope, abs=1e-8)


def test_torch_autograd_comes_to_the_same_embedding(rng) -> None:
    import torch

    embedding, triplets = rng.random((20, 2)), draw_queries(150, 20, 2, rng)
    points = torch.tensor(embedding, requires_grad=True)
    rows = torch.tensor(triplets.astype(np.int64))
    for _ in range(100):
        (gradient,) = torch.autograd.grad(comparison_loss(points, rows, ResponseSettings(mu=1.1)), points)
        with torch.no_grad():
            points -= 0.5 * gradient
    ours = kernels.descend(embedding, triplets, 1.1, 100, 0.5)
    np.testing.assert_allclose(ours, points.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_repeated_and_contradicting_comparisons_count_each_time(rng) -> None:
    embedding = rng.random((4, 2))
    triplets = np.array([[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2]])
    expected = plain_descent(embedding, triplets, 0.5, 20, 0.5)
    np.testing.assert_allclose(kernels.descend(embedding, triplets, 0.5, 20, 0.5), expected, rtol=1e-11)


def test_nothing_to_learn_from_changes_nothing_and_the_input_is_not_touched(rng) -> None:
    embedding = rng.random((4, 2))
    kept = embedding.copy()
    np.testing.assert_array_equal(kernels.descend(embedding, np.empty((0, 3), np.int32), 1.0, 500, 0.5), kept)
    kernels.descend(embedding, np.array([[0, 1, 2]]), 1.0, 5, 0.5)
    np.testing.assert_array_equal(embedding, kept)


def test_coinciding_and_far_points_stay_finite() -> None:
    embedding = np.array([[0.0], [0.0], [1e150], [0.0]])
    moved = kernels.descend(embedding, np.array([[0, 1, 2], [3, 0, 1], [0, 2, 1]]), 1e-12, 10, 0.5)
    assert np.isfinite(moved).all()
