"""What every task owes: queries that can be asked, an option for every response, the same for the same generator."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.queries import Answers, check_queries, check_responses, no_answers
from infonn.specs.registry import TASKS, build_part

N = 9
CONTEXT = {"names": [f"item {i}" for i in range(N)], "n_items": N, "classes": ["a", "b", "c"], "candidates": 3}
BELIEF = Belief(np.random.default_rng(0).normal(size=(N, 2)))
CASES = {  # what is asked -> (task, kind)
    "nearest": ("similarity", "nearest"),
    "nearest of many": ("similarity", "nearest"),
    "ranking": ("similarity", "ranking"),
    "odd one": ("similarity", "odd_one_out"),
    "odd one of many": ("similarity", "odd_one_out"),
    "label": ("labels", "label"),
}


def task_of(case: str):
    name, kind = CASES[case]
    more = {"pool_size": 30} if "of many" in case else {}  # drawn, where all would be too many
    if kind == "odd_one_out":
        more["candidates"] = 2
    return build_part("Task", TASKS, name, {}, {**CONTEXT, "kind": kind, **more})


def answers_of(case: str, task, n: int) -> Answers:
    """The first queries answered; of labels the classes in turn."""
    queries = task.first_queries(n, np.random.default_rng(2))
    return Answers(queries, (np.arange(n) % 3).astype(np.int32), CASES[case][1])


@pytest.fixture(params=CASES)
def case(request) -> str:
    return request.param


def test_every_task_is_in_this_suite() -> None:
    assert {task for task, _ in CASES.values()} == set(TASKS)


def test_first_queries_can_be_asked_and_are_the_same_for_the_same_generator(case) -> None:
    task = task_of(case)
    assert task.n_items == N
    first, again = (task.first_queries(5, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert len(first) == 5
    assert set(first[:, 0].tolist()) <= set(range(N))
    if case != "label":  # whose candidates come with the first labels
        check_queries(first, N)
    assert len(task.first_queries(0, np.random.default_rng(1))) == 0


def test_what_is_proposed_can_be_asked_and_changes_nothing_it_was_shown(case) -> None:
    task = task_of(case)
    answers, places = answers_of(case, task, 4), BELIEF.embedding.copy()
    pool = task.propose(BELIEF, answers, np.random.default_rng(3))
    check_queries(task.completed(pool, BELIEF, answers), N)
    np.testing.assert_array_equal(pool, task.propose(BELIEF, answers, np.random.default_rng(3)))
    np.testing.assert_array_equal(BELIEF.embedding, places)
    assert len(task.propose(BELIEF, no_answers(3, CASES[case][1]), np.random.default_rng(3)))


def test_every_response_has_an_option_and_no_more(case) -> None:
    task, kind = task_of(case), CASES[case][1]
    query = task.propose(BELIEF, answers_of(case, task, 4), np.random.default_rng(3))[:1]
    options = task.options(query[0])
    assert len(options) == {"nearest": 3, "ranking": 6, "odd_one_out": 3, "label": 3}[kind]
    assert len({option.label for option in options}) == len(options)
    for response in range(len(options)):
        check_responses(np.array([response], np.int32), query, kind, 3)
    assert all(option.item is None or 0 <= option.item < N for option in options)
