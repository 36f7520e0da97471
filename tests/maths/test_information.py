"""Entropy and mutual information beside plain loops, for numpy and torch."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infonn.maths.information import correction, entropy, mean_answer, mutual_information
from infonn.maths.responses import ResponseSettings, nearest_log_probs, ranking_log_probs

seeds = st.integers(0, 2**32 - 1)


def random_log_probs(seed, n_draws=7, n_queries=5, n_options=4):
    probs = np.random.default_rng(seed).dirichlet(np.full(n_options, 0.5), (n_draws, n_queries))
    with np.errstate(divide="ignore"):
        return np.log(probs)


def plain_information(log_probs):
    def h(probs):
        return -sum(p * math.log(p) for p in probs if p > 0)

    probs = np.exp(log_probs)
    return [h(probs[:, q].mean(axis=0)) - np.mean([h(draw) for draw in probs[:, q]]) for q in range(log_probs.shape[1])]


def test_equal_chances_give_most_entropy():
    assert entropy(np.log(np.full(4, 0.25))) == pytest.approx(math.log(4))
    assert entropy(np.log([0.5, 0.25, 0.25])) == pytest.approx(1.5 * math.log(2))


def test_an_impossible_option_adds_nothing():
    assert entropy(np.array([0.0, -np.inf])) == 0
    assert entropy(np.log([0.5, 0.5])) == entropy(np.array([math.log(0.5), math.log(0.5), -np.inf]))


@given(seeds)
def test_information_is_that_of_the_plain_loop_and_within_its_bounds(seed):
    log_probs = random_log_probs(seed)
    scores = mutual_information(log_probs)
    np.testing.assert_allclose(scores, plain_information(log_probs), atol=1e-12)
    assert (scores >= 0).all()
    assert (scores <= math.log(4) + 1e-12).all()


@given(seeds)
def test_permuted_options_and_draws_and_added_impossible_options_change_nothing(seed):
    log_probs = random_log_probs(seed)
    rng = np.random.default_rng(seed)
    scores = mutual_information(log_probs)
    np.testing.assert_allclose(mutual_information(log_probs[:, :, rng.permutation(4)]), scores, atol=1e-12)
    np.testing.assert_allclose(mutual_information(rng.permutation(log_probs)), scores, atol=1e-12)
    padded = np.concatenate([log_probs, np.full((7, 5, 1), -np.inf)], axis=2)
    np.testing.assert_allclose(mutual_information(padded), scores, atol=1e-12)


def test_draws_that_agree_tell_nothing_and_draws_that_differ_tell_all():
    same = np.log(np.tile([0.7, 0.2, 0.1], (5, 1, 1)))
    assert mutual_information(same) == pytest.approx(0, abs=1e-15)
    with np.errstate(divide="ignore"):
        certain = np.log(np.eye(3))[:, None, :]
    assert mutual_information(certain) == pytest.approx(math.log(3))


def test_the_correction_is_that_of_a_sample_variance():
    log_probs = random_log_probs(3)
    np.testing.assert_allclose(mutual_information(log_probs, corrected=True), mutual_information(log_probs) * 7 / 6)
    assert correction(1) == 1


def test_the_mean_answer_is_a_distribution():
    mean = np.exp(mean_answer(random_log_probs(0)))
    np.testing.assert_allclose(mean, np.exp(random_log_probs(0)).mean(axis=0))
    np.testing.assert_allclose(mean.sum(axis=-1), 1)


def test_a_ranking_tells_at_least_what_its_nearest_tells(rng):
    squared = rng.random((50, 10, 3)) * 5
    settings = ResponseSettings(0.5)
    nearest = mutual_information(nearest_log_probs(squared, settings))
    ranking = mutual_information(ranking_log_probs(squared, settings))
    assert (ranking >= nearest).all()


def test_torch_tensors_give_torch_tensors_of_the_same_values():
    import torch

    log_probs = random_log_probs(1)
    for function in (mutual_information, entropy, mean_answer):
        got = function(torch.as_tensor(log_probs))
        assert isinstance(got, torch.Tensor)
        np.testing.assert_allclose(got.numpy(), function(log_probs), atol=1e-12)
