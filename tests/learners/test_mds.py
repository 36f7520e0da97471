"""Probabilistic MDS as in the paper."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.datasets.synthetic import gaussian_points
from infonn.errors import DataError
from infonn.learners.mds import MDS
from infonn.maths.accuracy import aggregate_kendall_tau, triplet_accuracy
from infonn.maths.comparisons import comparison_gradient, comparison_loss
from infonn.maths.distances import pairwise_distances
from infonn.maths.responses import ResponseSettings
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries, no_answers, split_into_triplets


def answers_about(truth, n, rng, kind="nearest", n_candidates=3):
    queries = draw_queries(n, len(truth), n_candidates, rng)
    return Answers(queries, DistanceOracle(truth, kind).answer(queries, rng), kind)


def test_the_mu_of_a_round_serves_its_score_and_its_fit(rng) -> None:
    learner = MDS(8, steps=3)
    answers = answers_about(gaussian_points(8, 2, rng), 30, rng)
    triplets = split_into_triplets(answers)
    start = rng.random((8, 2))

    def largest(points):
        return pairwise_distances(points).max()

    # By hand: Z_0 from the initial embedding with k = 0, then Z_1 from Z_0 with mu_1.
    points, mu = start.copy(), largest(start)
    beliefs = []
    belief = None
    for k in range(3):
        belief = learner.fit(answers, np.random.default_rng(0), belief or Belief(start))
        for _ in range(3):
            points = points - 0.5 * comparison_gradient(points, triplets, mu)
        mu = largest(points) * 0.99 ** (k + 1)
        np.testing.assert_allclose(belief.embedding, points, rtol=1e-9)
        assert belief.response.mu == pytest.approx(mu)
        beliefs.append(belief)


def test_a_cold_fit_starts_uniformly_between_0_and_1(rng) -> None:
    belief = MDS(500, 3).fit(no_answers(3), rng)
    assert belief.embedding.min() >= 0
    assert belief.embedding.max() <= 1
    assert belief.embedding.mean() == pytest.approx(0.5, abs=0.04)


def test_same_seed_same_belief(rng) -> None:
    answers = answers_about(gaussian_points(10, 2, rng), 40, rng)
    first, second = (MDS(10).fit(answers, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first.embedding, second.embedding)


@pytest.mark.parametrize(
    "kind, mu",
    [("nearest", "diminishing"), ("ranking", "diminishing"), ("nearest", 0.5), ("odd_one_out", "diminishing")],
)
def test_it_learns_from_every_kind_of_answer(kind, mu, rng) -> None:
    truth = gaussian_points(15, 2, rng)
    answers = answers_about(truth, 300, rng, kind, 2 if kind == "odd_one_out" else 3)
    learner = MDS(15, 2, mu=mu)
    belief = None
    for _ in range(10):
        belief = learner.fit(answers, rng, belief)
    assert triplet_accuracy(belief.embedding, split_into_triplets(answers)) > 0.9
    assert aggregate_kendall_tau(belief.embedding, truth) > 0.7


def test_a_step_lowers_the_loss_and_a_constant_mu_stays(rng) -> None:
    answers = answers_about(gaussian_points(10, 2, rng), 60, rng)
    triplets = split_into_triplets(answers)
    settings = ResponseSettings(0.3)
    start = Belief(rng.random((10, 2)))
    belief = MDS(10, mu=0.3, steps=20).fit(answers, rng, start)
    assert belief.response == settings
    before, after = (comparison_loss(b.embedding, triplets, settings) for b in (start, belief))
    assert after < before


def test_settings_and_answers_that_do_not_fit_are_refused(rng) -> None:
    with pytest.raises(ValueError, match="mu is -1"):
        MDS(5, mu=-1)
    with pytest.raises(ValueError, match="'shrinking'"):
        MDS(5, mu="shrinking")
    with pytest.raises(ValueError, match="step must be above 0"):
        MDS(5, step=0)
    with pytest.raises(ValueError, match="0 dimensions"):
        MDS(5, 0)
    with pytest.raises(DataError, match="Item 7 .* 5 items"):
        MDS(5).fit(Answers(np.array([[0, 1, 7]]), np.array([0])), rng)
    with pytest.raises(DataError, match=r"must be \(5, 2\)"):
        MDS(5).fit(no_answers(3), rng, Belief(np.zeros((4, 2))))


def test_points_that_coincide_keep_a_mu_above_0(rng) -> None:
    belief = MDS(5).fit(Answers(np.array([[0, 1, 2]]), np.array([0])), rng, Belief(np.ones((5, 2))))
    assert belief.response.mu > 0
    assert np.isfinite(belief.embedding).all()
