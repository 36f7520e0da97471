"""Oracles that know the true metric."""

import itertools

import numpy as np
import pytest

from infonn.errors import DataError, InvalidQueryError
from infonn.maths.responses import ResponseSettings
from infonn.oracles.distances import DistanceOracle, mahalanobis_oracle, metric_root
from infonn.queries import all_queries, draw_queries


def test_the_nearest_candidate_is_chosen(rng) -> None:
    points = np.array([[0.0], [5.0], [1.0], [-2.0]])
    queries = np.array([[0, 1, 2, 3], [0, 3, 1, -1], [1, 3, 0, 2]])
    assert DistanceOracle(points).answer(queries, rng).tolist() == [1, 0, 2]


def test_rankings_are_all_candidates_in_order_of_distance(rng) -> None:
    points = rng.normal(size=(12, 3))
    queries = draw_queries(50, 12, 4, rng)
    responses = DistanceOracle(points, "ranking").answer(queries, rng)
    all_orders = list(itertools.permutations(range(4)))
    for query, response in zip(queries, responses):
        distances = [np.linalg.norm(points[query[0]] - points[c]) for c in query[1:]]
        assert all_orders[response] == tuple(np.argsort(distances))


def test_mahalanobis_distances_are_those_of_the_metric(rng) -> None:
    features = rng.normal(size=(15, 4))
    factor = rng.normal(size=(4, 4))
    metric = factor.T @ factor
    queries = draw_queries(60, 15, 3, rng)
    responses = mahalanobis_oracle(features, metric).answer(queries, rng)
    for query, response in zip(queries, responses):
        difference = features[query[1:]] - features[query[0]]
        assert response == np.argmin([d @ metric @ d for d in difference])


def test_a_metric_may_be_of_low_rank_but_not_negative(rng) -> None:
    flat = np.diag([1.0, 0.0])
    np.testing.assert_allclose(metric_root(flat) @ metric_root(flat).T, flat)
    with pytest.raises(DataError, match="negative eigenvalues"):
        metric_root(np.diag([1.0, -1.0]))
    with pytest.raises(DataError, match="symmetric"):
        metric_root(np.array([[1.0, 2.0], [0.0, 1.0]]))


def test_the_odd_one_is_what_the_nearest_pair_leaves_out(rng) -> None:
    points = rng.normal(size=(9, 2))
    triples = all_queries(9, 2, "odd_one_out")
    for triple, odd in zip(triples, DistanceOracle(points, "odd_one_out").answer(triples, rng)):
        others = [np.linalg.norm(np.subtract(*points[np.delete(triple, k)])) for k in range(3)]
        assert odd == np.argmin(others)


@pytest.mark.parametrize("kind", ["nearest", "ranking"])
def test_noisy_answers_follow_the_response_model(kind, rng) -> None:
    points = np.array([[0.0], [1.0], [2.0], [3.0]])
    n = 20_000
    queries = np.tile(np.array([[0, 1, 2, 3]]), (n, 1))
    responses = DistanceOracle(points, kind, ResponseSettings(mu=1.0)).answer(queries, rng)
    weights = 1 / (np.array([1.0, 4.0, 9.0]) + 1)
    if kind == "nearest":
        expected = weights / weights.sum()
    else:
        expected = np.array(
            [
                weights[a] / weights.sum() * weights[b] / (weights[b] + weights[c])
                for a, b, c in itertools.permutations(range(3))
            ]
        )
    shares = np.bincount(responses, minlength=len(expected)) / n
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(shares - expected) < 5 * error).all()  # false alarm below 1e-5


def test_what_cannot_be_answered_is_refused() -> None:
    with pytest.raises(DataError, match="Item 1 .* not finite"):
        DistanceOracle(np.array([[0.0], [np.nan]]))
    with pytest.raises(InvalidQueryError, match="classes"):
        DistanceOracle(np.zeros((2, 1)), "label")
