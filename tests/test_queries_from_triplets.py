"""Queries drawn from triplets without listing them all: the same ones, uniformly."""

import numpy as np
import pytest

from infonn.errors import InvalidQueryError
from infonn.queries import draw_from_triplets, queries_from_triplets

TRIPLETS = np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 5], [1, 0, 2], [1, 0, 3], [2, 0, 3]], np.int32)


def rows(answers):
    return {(*query, response) for query, response in zip(answers.queries.tolist(), answers.responses.tolist())}


def test_drawing_all_of_them_lists_them(rng):
    listed = queries_from_triplets(TRIPLETS, 3)
    assert len(listed) == 7
    assert rows(draw_from_triplets(TRIPLETS, 7, 3, rng)) == rows(listed)


def test_each_is_drawn_as_often_as_any_other(rng):
    """Chi-square with 6 degrees of freedom stays below 27.9 with probability 0.9999."""
    counts = dict.fromkeys(rows(queries_from_triplets(TRIPLETS, 3)), 0)
    for _ in range(2000):
        for row in rows(draw_from_triplets(TRIPLETS, 1, 3, rng)):
            counts[row] += 1
    expected = 2000 / 7
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 27.9


def test_more_than_there_are_is_refused(rng):
    with pytest.raises(InvalidQueryError, match="8 queries were asked for, and the triplets imply 7"):
        draw_from_triplets(TRIPLETS, 8, 3, rng)


def test_lists_will_do_and_a_triplet_with_an_item_twice_is_refused():
    assert len(queries_from_triplets(TRIPLETS.tolist(), 3)) == 7
    with pytest.raises(InvalidQueryError, match=r"Query 1 is \[0, 1, 1\]: item 1 occurs twice"):
        queries_from_triplets([[0, 1, 2], [0, 1, 1]])
