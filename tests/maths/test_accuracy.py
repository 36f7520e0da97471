"""Each measure against a brute-force twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from infonn.maths.accuracy import (
    aggregate_kendall_tau,
    kendall_taus,
    recall_at,
    top_fraction_at,
    triplet_accuracy,
    true_order_signs,
)
from infonn.maths.distances import pairwise_distances
from infonn.queries import draw_queries


def test_triplets_with_equal_distances_count_half() -> None:
    line = np.array([[0.0], [1.0], [-1.0], [3.0]])
    assert triplet_accuracy(line, np.array([[0, 1, 2]])) == 0.5
    assert triplet_accuracy(line, np.array([[0, 1, 3], [0, 3, 1], [0, 1, 2], [0, 2, 3]])) == 0.625


def test_triplet_accuracy_is_a_plain_count(rng) -> None:
    points, triplets = rng.normal(size=(12, 3)), draw_queries(80, 12, 2, rng)
    count = sum(np.linalg.norm(points[r] - points[a]) < np.linalg.norm(points[r] - points[b]) for r, a, b in triplets)
    assert triplet_accuracy(points, triplets) == pytest.approx(count / 80)


@given(seed=st.integers(0, 10_000), n_items=st.integers(3, 12), whole=st.booleans())
@settings(max_examples=40, deadline=None)
def test_tau_is_scipys_averaged_over_references(seed, n_items, whole) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, n_items, 2))
    if whole:  # whole numbers on a line make ties
        first, second = np.round(first[:, :1] * 2), np.round(second[:, :1] * 2)
    taus = []
    for reference in range(n_items):
        others = [i for i in range(n_items) if i != reference]
        by_first, by_second = (np.abs(p[others] - p[reference]).sum(1) for p in (first, second))
        if not whole:
            by_first, by_second = (((p[others] - p[reference]) ** 2).sum(1) for p in (first, second))
        tau = kendalltau(by_first, by_second).statistic
        taus.append(0.0 if np.isnan(tau) else tau)  # a ranking without any order agrees with nothing
    distances = pairwise_distances(first).round(9)  # ties of whole numbers survive the square root
    signs = true_order_signs(second) if not whole else _signs(pairwise_distances(second).round(9))
    assert kendall_taus(distances, signs) == pytest.approx(np.mean(taus), abs=1e-9)


def _signs(distances):
    from infonn.maths.accuracy import _order_signs

    return _order_signs(distances)


def test_tau_does_not_see_turns_scale_or_shift(rng) -> None:
    truth = rng.normal(size=(15, 2))
    angle = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert aggregate_kendall_tau(truth @ angle * 3 + 7, truth) == pytest.approx(1)


def test_recall_and_top_fraction_are_plain_counts(rng) -> None:
    points, classes = rng.normal(size=(25, 2)), rng.integers(0, 4, 25)
    for k in (1, 3, 24):
        hits, shares = 0, []
        for item in range(25):
            others = sorted((np.linalg.norm(points[item] - points[j]), j) for j in range(25) if j != item)
            same = [classes[j] == classes[item] for _, j in others[:k]]
            hits += any(same)
            if classes[item] == 2:
                shares.append(np.mean(same))
        assert recall_at(points, classes, k) == pytest.approx(hits / 25)
        assert top_fraction_at(points, classes == 2, k) == pytest.approx(np.mean(shares))
    with pytest.raises(ValueError, match="between 1 and 24"):
        recall_at(points, classes, 25)
