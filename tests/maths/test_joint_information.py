"""Joint information: chain rule, brute force, sampled against exact, lazy against plain greedy."""

import numpy as np
import pytest

from infonn.maths.joint import (
    conditional_information,
    empty_joint,
    exact_joint_information,
    extended,
    greedy_joint_batch,
)


def random_log_probs(rng, n_draws, n_queries, n_options, spread=1.5):
    centre = rng.normal(0, spread, (1, n_queries, n_options))
    logits = centre + rng.normal(0, spread, (n_draws, n_queries, n_options))
    return (logits - np.log(np.exp(logits).sum(-1, keepdims=True))).astype(np.float32)


def plain_greedy(log_probs, size, max_configurations, rng):
    joint, chosen = empty_joint(len(log_probs)), []
    for _ in range(size):
        terms = conditional_information(joint, log_probs)
        terms[chosen] = -np.inf
        chosen.append(int(np.argmax(terms)))
        joint = extended(joint, log_probs[:, chosen[-1]], rng, max_configurations)
    return chosen


def test_terms_add_up_to_the_joint_information_of_the_batch(rng):
    log_probs = random_log_probs(rng, 12, 4, 3)
    joint, total = empty_joint(12), 0.0
    for i in range(4):
        total += conditional_information(joint, log_probs[:, i : i + 1])[0]
        joint = extended(joint, log_probs[:, i], rng)
    assert total == pytest.approx(exact_joint_information(log_probs.astype(float)), abs=1e-5)


def test_an_answered_query_tells_less_a_second_time(rng):
    log_probs = random_log_probs(rng, 30, 5, 4)
    alone = conditional_information(empty_joint(30), log_probs)
    joint = extended(empty_joint(30), log_probs[:, 2], rng)
    assert (conditional_information(joint, log_probs) <= alone + 1e-6).all()
    assert conditional_information(joint, log_probs)[2] < alone[2] - 1e-3


def test_impossible_options_change_nothing(rng):
    log_probs = random_log_probs(rng, 10, 3, 3)
    padded = np.concatenate([log_probs, np.full((10, 3, 1), -np.inf, np.float32)], axis=-1)
    joint, padded_joint = empty_joint(10), empty_joint(10)
    for i in range(2):
        joint, padded_joint = (extended(j, p[:, i], rng) for j, p in ((joint, log_probs), (padded_joint, padded)))
    np.testing.assert_allclose(
        conditional_information(joint, log_probs), conditional_information(padded_joint, padded), atol=1e-6
    )


def test_sampled_terms_agree_with_exact_ones():
    # 2,000 sampled joint answers of 59,049, entropies in [0, log 3]: standard errors below 0.012, tolerance 4 of them.
    rng = np.random.default_rng(5)
    log_probs = random_log_probs(rng, 40, 12, 3)
    exact, sampled = empty_joint(40), empty_joint(40)
    for i in range(10):
        exact = extended(exact, log_probs[:, i], rng, max_configurations=3**10)
        sampled = extended(sampled, log_probs[:, i], rng, max_configurations=2000)
    assert exact.origins is None
    assert sampled.origins is not None
    errors = conditional_information(sampled, log_probs) - conditional_information(exact, log_probs)
    assert np.abs(errors).max() < 0.05


@pytest.mark.parametrize("n_options", [2, 10])
def test_lazy_greedy_picks_what_plain_greedy_picks(n_options):
    log_probs = random_log_probs(np.random.default_rng(3), 50, 600, n_options)
    information = conditional_information(empty_joint(50), log_probs)
    lazy = greedy_joint_batch(lambda rows: log_probs[:, rows], information, 8, np.random.default_rng(1), 1000)
    assert lazy.tolist() == plain_greedy(log_probs, 8, 1000, np.random.default_rng(1))


def test_greedy_beats_the_best_single_ones_where_items_repeat(rng):
    distinct = random_log_probs(rng, 40, 6, 2)
    log_probs = np.repeat(distinct, 5, axis=1)  # every item five times
    information = conditional_information(empty_joint(40), log_probs)
    chosen = greedy_joint_batch(lambda rows: log_probs[:, rows], information, 6, rng)
    assert len(set(chosen.tolist())) == 6
    top = np.argsort(-information)[:6]
    assert exact_joint_information(log_probs[:, chosen]) > exact_joint_information(log_probs[:, top]) + 0.05


def test_a_batch_larger_than_the_pool_is_the_pool(rng):
    log_probs = random_log_probs(rng, 10, 4, 3)
    information = conditional_information(empty_joint(10), log_probs)
    assert sorted(greedy_joint_batch(lambda rows: log_probs[:, rows], information, 9, rng)) == [0, 1, 2, 3]


def test_torch_gives_what_numpy_gives(rng):
    import torch

    log_probs = random_log_probs(rng, 20, 30, 4)
    information = conditional_information(empty_joint(20), log_probs)
    in_torch = torch.tensor(log_probs)
    np.testing.assert_allclose(conditional_information(empty_joint(20), in_torch), information, atol=1e-5)
    a = greedy_joint_batch(lambda rows: log_probs[:, rows], information, 5, np.random.default_rng(0))
    b = greedy_joint_batch(lambda rows: in_torch[:, rows], information, 5, np.random.default_rng(0))
    assert a.tolist() == b.tolist()


@pytest.mark.parametrize(("m", "n_draws"), [(1, 3), (30, 64), (150, 50)])
def test_the_kernel_averages_as_plain_numpy_does(rng, m, n_draws):
    from infonn.maths.kernels.joint import mean_surprise

    likelihoods = rng.random((m, n_draws)).astype(np.float32) / n_draws
    probs = rng.random((n_draws, 700)).astype(np.float32)
    probs[:, :50] = 0
    shares = rng.dirichlet(np.ones(m)).astype(np.float32)
    predicted = likelihoods.astype(float) @ probs.astype(float)
    plain = -(shares[:, None] * predicted * np.log(np.maximum(predicted, 1e-37))).sum(axis=0)
    np.testing.assert_allclose(mean_surprise(shares, likelihoods, probs), plain, atol=2e-6)
