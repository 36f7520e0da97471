"""Recorded answers, asked again."""

import numpy as np
import pytest

from infonn.errors import InvalidQueryError
from infonn.oracles.replay import Recorded, ReplayOracle
from infonn.queries import Answers

BANK = Answers(
    np.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 3, 2, 1], [0, 1, 2, 3]], np.int32),
    np.array([0, 2, 0, 0], np.int32),  # items 1, 3, 3, 1: question one was answered 1, 3, 1
)


def test_every_question_is_in_the_pool_once() -> None:
    recorded = Recorded(BANK)
    assert recorded.queries.tolist() == [[0, 1, 2, 3], [1, 0, 2, 3]]


def test_candidates_may_stand_in_any_order(rng) -> None:
    oracle = ReplayOracle(Recorded(BANK), seed=3)
    assert oracle.answer(np.array([[1, 3, 0, 2], [1, 2, 3, 0]]), rng).tolist() == [0, 1]


def test_a_disputed_answer_is_drawn_once_per_seed_in_proportion(rng) -> None:
    recorded = Recorded(BANK)
    question = np.array([[0, 1, 2, 3]])
    answers = []
    for seed in range(300):
        oracle = ReplayOracle(recorded, seed)
        first, again = (int(oracle.answer(question, rng)[0]) for _ in range(2))
        assert first == again
        answers.append(first)
    assert set(answers) == {0, 2}
    assert abs(np.mean(np.array(answers) == 0) - 2 / 3) < 5 * np.sqrt(2 / 9 / 300)  # false alarm below 1e-6


def test_a_question_nobody_answered_is_refused(rng) -> None:
    with pytest.raises(InvalidQueryError, match=r"\[2, 0, 1, 3\] has no answer on record"):
        ReplayOracle(Recorded(BANK)).answer(np.array([[2, 0, 1, 3]]), rng)
    with pytest.raises(InvalidQueryError, match="ranking"):
        Recorded(Answers(BANK.queries, BANK.responses, "ranking"))
