"""Batch rules beside brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.queries import no_answers
from infonn.selection.batches import PowerNoise, RandomFill, batch_rule, best, best_per_reference, turns_of_groups


def situation_of(references):
    pool = np.column_stack([references, np.full(len(references), 98), np.full(len(references), 99)]).astype(np.int32)
    return Situation(pool, Belief(np.zeros((100, 1))), no_answers(2))


scored = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=30)
RULES = [best, best_per_reference, RandomFill(2), RandomFill(3, best_per_reference), PowerNoise(4.0)]


@given(scored, st.integers(0, 2**32 - 1), st.data())
@pytest.mark.parametrize("rule", RULES)
def test_a_batch_is_distinct_rows_of_the_pool(rule, rows, seed, data):
    references, scores = np.array(rows).T
    size = data.draw(st.integers(0, len(rows)))
    chosen = rule(scores.astype(float), situation_of(references), size, np.random.default_rng(seed))
    assert len(chosen) == len(set(chosen.tolist())) == size
    assert set(chosen.tolist()) <= set(range(len(rows)))


@given(scored, st.integers(0, 2**32 - 1), st.data())
def test_best_takes_the_highest_scores_in_order(rows, seed, data):
    references, scores = np.array(rows).T
    size = data.draw(st.integers(0, len(rows)))
    chosen = best(scores.astype(float), situation_of(references), size, np.random.default_rng(seed))
    assert scores[chosen].tolist() == sorted(scores.tolist(), reverse=True)[:size]


@given(scored, st.integers(0, 2**32 - 1), st.data())
def test_best_per_reference_is_that_of_the_plain_loop(rows, seed, data):
    references, scores = np.array(rows).T
    size = data.draw(st.integers(0, len(rows)))
    chosen = best_per_reference(scores.astype(float), situation_of(references), size, np.random.default_rng(seed))
    left = {r: sorted(scores[references == r].tolist(), reverse=True) for r in set(references.tolist())}
    expected = []
    while any(left.values()):
        turn = sorted(((left[r].pop(0), r) for r in left if left[r]), key=lambda pair: -pair[0])
        expected += [score for score, _ in turn]
    assert scores[chosen].tolist() == expected[:size]
    first = references[chosen[: len(left)]]
    assert len(set(first.tolist())) == len(first), "every reference once before any comes twice"


def test_ties_are_broken_at_random():
    """5 equal rows, 5,000 batches of 2: chi-square, 4 degrees of freedom, below 23.5 with probability 0.9999."""
    scores = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    for rule in (best, best_per_reference):
        rng = np.random.default_rng(0)
        picks = np.concatenate([rule(scores, situation_of(np.arange(6)), 2, rng) for _ in range(5000)])
        counts = np.bincount(picks, minlength=6)
        assert counts[0] == 0
        assert ((counts[1:] - 2000) ** 2 / 2000).sum() < 23.5


def test_random_fill_takes_so_many_best_and_the_rest_at_random(rng):
    scores = np.arange(50.0)
    chosen = RandomFill(5)(scores, situation_of(np.arange(50)), 12, rng)
    assert chosen[:5].tolist() == [49, 48, 47, 46, 45]
    assert chosen[5:].max() < 45
    rests = [RandomFill(1)(scores, situation_of(np.arange(50)), 2, rng)[1] for _ in range(300)]
    assert len(set(rests)) > 40


def test_power_noise_draws_in_proportion_to_a_power_of_the_score():
    """First picks against score^2: chi-square test, p above 1e-4, so a false alarm in 10,000."""
    scores, rng = np.array([0.0, 1.0, 2.0, 3.0]), np.random.default_rng(0)
    picks = [PowerNoise(2.0)(scores, situation_of(np.arange(4)), 1, rng)[0] for _ in range(4000)]
    counts = np.bincount(picks, minlength=4)
    assert counts[0] == 0
    assert stats.chisquare(counts[1:], 4000 * np.array([1, 4, 9]) / 14).pvalue > 1e-4


def test_rules_are_put_together():
    assert batch_rule() is best
    assert batch_rule(per_reference=True) is best_per_reference
    assert batch_rule(n_best=5, power=2.0, per_reference=True) == RandomFill(5, PowerNoise(2.0, best_per_reference))


def test_turns_count_those_of_the_same_group_before() -> None:
    assert turns_of_groups(np.array([7, 2, 7, 7, 2])).tolist() == [0, 0, 1, 2, 1]
    assert turns_of_groups(np.array([], int)).tolist() == []
