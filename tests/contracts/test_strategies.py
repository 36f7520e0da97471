"""One suite for every strategy with a name: distinct rows of the pool, and the same seed the same batch."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.maths.responses import ResponseSettings
from infonn.queries import Answers, draw_queries
from infonn.specs.registry import STRATEGIES_BY_TASK, build_part, describe
from infonn.tasks.labels import LabelTask

N_ITEMS, N_CLASSES, N_POOL, N_DRAWS = 25, 4, 40, 12
NAMED = [(task, name) for task, names in STRATEGIES_BY_TASK.items() for name in names]
CONTEXT = {"n_items": N_ITEMS, "n_classes": N_CLASSES, "candidates": 3, "kind": "nearest"}


def situation_of(task: str, n_candidates: int) -> Situation:
    """Something to choose from: similarity queries, or items to be labelled, and a belief that knows both."""
    rng = np.random.default_rng(5)
    embedding = rng.standard_normal((N_ITEMS, 3))
    classes = np.log(rng.dirichlet(np.ones(N_CLASSES), (N_DRAWS, N_ITEMS)))
    draws = embedding + rng.standard_normal((N_DRAWS, N_ITEMS, 3))
    belief = Belief(embedding, draws, classes, ResponseSettings(1.0))
    if task == "labels":
        items = rng.permutation(N_ITEMS)[:6].astype(np.int32)
        queries = np.column_stack([items, np.full((6, 3), -1, np.int32)])
        answers = Answers(queries, (np.arange(6) % N_CLASSES).astype(np.int32), "label")
        labels = LabelTask(N_ITEMS, [f"class {c}" for c in range(N_CLASSES)])
        return Situation(labels.propose(belief, answers, rng), belief, answers)
    pool = np.unique(draw_queries(N_POOL, N_ITEMS, n_candidates, rng), axis=0)
    return Situation(pool, belief, Answers(draw_queries(6, N_ITEMS, n_candidates, rng), np.zeros(6, np.int32)))


@pytest.fixture(params=NAMED, ids="/".join, scope="module")
def named(request):
    task, name = request.param
    part = build_part("Strategy", STRATEGIES_BY_TASK[task], name, {}, CONTEXT)
    triplets = "triplet" in STRATEGIES_BY_TASK[task][name]  # these methods know triplets alone
    return part, situation_of(task, 2 if triplets else 3)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_rows_are_distinct_from_the_pool_and_as_many_as_asked_for(named, size) -> None:
    strategy, situation = named
    rows = strategy.select(situation, size, np.random.default_rng(0))
    assert len(rows) == len(set(rows.tolist())) == min(size, len(situation.pool))
    assert set(rows.tolist()) <= set(range(len(situation.pool)))


def test_the_same_seed_gives_the_same_batch(named) -> None:
    strategy, situation = named
    first, scores = strategy.select_with_scores(situation, 5, np.random.default_rng(3))
    again, scores_again = strategy.select_with_scores(situation, 5, np.random.default_rng(3))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(scores, scores_again)
    assert scores.shape == (len(situation.pool),)
    assert not np.isnan(scores).any()


def test_an_empty_pool_gives_an_empty_batch(named) -> None:
    strategy, situation = named
    empty = Situation(situation.pool[:0], situation.belief, situation.answers)
    assert len(strategy.select(empty, 3, np.random.default_rng(0))) == 0


def test_nothing_it_was_shown_is_changed(named) -> None:
    strategy, situation = named
    belief, answers = situation.belief, situation.answers
    shown = (situation.pool, belief.embedding, belief.draws, belief.class_log_probs, answers.queries, answers.responses)
    before = [array.copy() for array in shown]
    strategy.select(situation, 5, np.random.default_rng(0))
    for kept, now in zip(before, shown):
        np.testing.assert_array_equal(kept, now)


@pytest.mark.parametrize("task", STRATEGIES_BY_TASK)
def test_every_strategy_has_a_line_to_show(task) -> None:
    for name, line in describe("Strategy", STRATEGIES_BY_TASK[task]).items():
        assert 20 < len(line) < 120, name
        assert line.endswith("."), name
