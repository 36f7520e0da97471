"""Made-up items."""

import numpy as np

from infonn.datasets.synthetic import gaussian_points, mahalanobis_items
from infonn.oracles.distances import metric_root


def test_points_are_standard_normal(rng) -> None:
    points = gaussian_points(5000, 2, rng)
    assert points.shape == (5000, 2)
    np.testing.assert_allclose(np.cov(points.T), np.eye(2), atol=0.1)


def test_mahalanobis_items_come_with_a_metric_and_repeat_with_their_seed() -> None:
    items = mahalanobis_items(np.random.default_rng(1))
    assert items.features.shape == (100, 10)
    root = metric_root(items.metric)
    np.testing.assert_allclose(root @ root.T, items.metric, atol=1e-9)
    np.testing.assert_array_equal(mahalanobis_items(np.random.default_rng(1)).metric, items.metric)
