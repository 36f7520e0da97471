"""What answers share, against plain loops over the joint distribution; greedy batches against plain greedy."""

import math

import numpy as np
import pytest

from infonn.maths.information import mutual_information
from infonn.maths.joint import exact_joint_information
from infonn.maths.pairs import (
    gaussian_information,
    greedy_gaussian_batch,
    greedy_pairwise_batch,
    shared_information,
    target_information,
    whitened,
)


def some_log_probs(n_draws: int = 30, n: int = 7, k: int = 3, seed: int = 0, spread: float = 1.0) -> np.ndarray:
    logits = spread * np.random.default_rng(seed).standard_normal((n_draws, n, k))
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def plain_shared(first: np.ndarray, second: np.ndarray) -> float:
    """KL between the joint of two answers and the product of their marginals, option by option."""
    a, b = np.exp(first), np.exp(second)
    total = 0.0
    for i in range(a.shape[1]):
        for j in range(b.shape[1]):
            joint = np.mean(a[:, i] * b[:, j])
            total += joint * math.log(joint / (a[:, i].mean() * b[:, j].mean()))
    return total


def test_shared_information_is_the_kl_of_the_joint_answer() -> None:
    queries, others = some_log_probs(), some_log_probs(n=4, k=2, seed=1)
    shared = shared_information(queries, others)
    for i in range(7):
        for j in range(4):
            assert shared[i, j] == pytest.approx(plain_shared(queries[:, i], others[:, j]), abs=1e-12)
    np.testing.assert_allclose(target_information(queries, others), shared.mean(axis=1))


def test_two_answers_together_tell_the_sum_less_what_they_share() -> None:
    pair = some_log_probs(n=2)
    alone = mutual_information(pair).sum()
    assert exact_joint_information(pair) == pytest.approx(alone - shared_information(pair[:, :1], pair[:, 1:])[0, 0])


def test_an_answer_shares_no_more_than_it_tells() -> None:
    queries = some_log_probs(n=5)
    told = mutual_information(queries)
    assert (shared_information(queries, queries) <= told[:, None] + 1e-12).all()


def test_half_the_squares_are_the_information_to_second_order() -> None:
    queries = some_log_probs(spread=0.05)
    np.testing.assert_allclose(0.5 * (whitened(queries) ** 2).sum(axis=(1, 2)), mutual_information(queries), rtol=0.05)


def test_the_pairwise_batch_is_that_of_plain_greedy() -> None:
    queries = some_log_probs(n=12)
    told = mutual_information(queries)
    plain: list[int] = []
    for _ in range(4):
        gains = [
            -np.inf if q in plain else told[q] - sum(plain_shared(queries[:, q], queries[:, j]) for j in plain)
            for q in range(12)
        ]
        plain.append(int(np.argmax(gains)))
    assert greedy_pairwise_batch(queries, told, 4) == plain


def test_the_gaussian_batch_is_that_of_plain_greedy() -> None:
    queries = some_log_probs(n=12)
    plain: list[int] = []
    for _ in range(5):
        gains = [-np.inf if q in plain else gaussian_information(queries[:, [*plain, q]]) for q in range(12)]
        plain.append(int(np.argmax(gains)))
    assert greedy_gaussian_batch(queries, 5) == plain


def test_a_copy_of_a_pick_is_not_picked_next() -> None:
    queries = some_log_probs(n=6, spread=2.0)
    queries[:, 1] = queries[:, int(np.argmax(mutual_information(queries)))]
    told = mutual_information(queries)
    twins = {1, int(np.argmax(told))}
    assert not twins <= set(greedy_pairwise_batch(queries, told, 2))
    assert not twins <= set(greedy_gaussian_batch(queries, 2))
