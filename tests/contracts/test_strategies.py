"""One suite for every named strategy: distinct rows of the pool, and the same seed the same batch."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.maths.responses import ResponseSettings
from infonn.queries import Answers, draw_queries
from infonn.specs.registry import STRATEGIES, describe, load_part

N_ITEMS, N_CLASSES, N_POOL = 25, 4, 40


def situation_for(name: str) -> Situation:
    """Something the strategy can choose from: similarity queries, triplets, or items to be labelled."""
    rng = np.random.default_rng(5)
    module = STRATEGIES[name]
    kind = "label" if "class_" in module else "nearest"
    n_candidates = 2 if "triplet" in module else 3
    embedding = rng.standard_normal((N_ITEMS, 3))
    classes = np.log(rng.dirichlet(np.ones(N_CLASSES), (12, N_ITEMS)))
    belief = Belief(embedding, embedding + rng.standard_normal((12, N_ITEMS, 3)), classes, ResponseSettings(1.0))
    pool = np.unique(draw_queries(N_POOL, N_ITEMS, n_candidates, rng), axis=0)
    asked = draw_queries(6, N_ITEMS, n_candidates, rng)
    if kind == "label":
        pool = pool[np.unique(pool[:, 0], return_index=True)[1]]
    return Situation(pool, belief, Answers(asked, np.zeros(6, np.int32), kind))


@pytest.fixture(params=sorted(STRATEGIES))
def named(request):
    return load_part("Strategy", STRATEGIES, request.param)(), situation_for(request.param)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_rows_are_distinct_from_the_pool_and_as_many_as_asked_for(named, size):
    strategy, situation = named
    rows = strategy.select(situation, size, np.random.default_rng(0))
    assert len(rows) == len(set(rows.tolist())) == min(size, len(situation.pool))
    assert set(rows.tolist()) <= set(range(len(situation.pool)))


def test_the_same_seed_gives_the_same_batch(named):
    strategy, situation = named
    first, scores = strategy.select_with_scores(situation, 5, np.random.default_rng(3))
    again, scores_again = strategy.select_with_scores(situation, 5, np.random.default_rng(3))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(scores, scores_again)
    assert scores.shape == (len(situation.pool),)
    assert not np.isnan(scores).any()


def test_an_empty_pool_gives_an_empty_batch(named):
    strategy, situation = named
    empty = Situation(situation.pool[:0], situation.belief, situation.answers)
    assert len(strategy.select(empty, 3, np.random.default_rng(0))) == 0


def test_nothing_it_was_shown_is_changed(named):
    strategy, situation = named
    before = [a.copy() for a in (situation.pool, situation.belief.embedding, situation.belief.draws)]
    strategy.select(situation, 5, np.random.default_rng(0))
    for kept, now in zip(before, (situation.pool, situation.belief.embedding, situation.belief.draws)):
        np.testing.assert_array_equal(kept, now)


def test_every_strategy_has_a_line_to_show():
    for name, line in describe("Strategy", STRATEGIES).items():
        assert 20 < len(line) < 120, name
        assert line.endswith("."), name
