"""Similarity questions: what the pool may be."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.errors import InvalidQueryError
from infonn.queries import no_answers
from infonn.tasks.similarity import SimilarityTask

NAMES = [str(item) for item in range(10)]


def test_a_pool_of_another_length_than_the_questions_is_refused():
    with pytest.raises(InvalidQueryError, match="pool's queries have 2 candidates, and the study's questions have 3"):
        SimilarityTask(NAMES, candidates=3, pool=np.array([[0, 1, 2]]))


def test_a_pool_may_be_rows_of_numbers_and_have_short_ones(rng):
    task = SimilarityTask(NAMES, candidates=3, pool=[[0, 1, 2, 3], [4, 5, 6, -1]])
    assert task.propose(Belief(np.zeros((10, 2))), no_answers(3), rng).tolist() == [[0, 1, 2, 3], [4, 5, 6, -1]]
