"""Label queries: which items and classes stand in them, and what their options are."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.oracles.labels import LabelOracle
from infonn.queries import Answers, no_answers
from infonn.tasks.labels import LabelTask

LINE = np.arange(10.0)[:, None]  # items on a line
CLASSES = ("low", "middle", "high")


def answers_of(items, classes, width=3):
    queries = np.full((len(items), 1 + width), -1, np.int32)
    queries[:, 0] = items
    return Answers(queries, np.array(classes, np.int32), "label")


def completed(task, belief, answers, rng):
    return task.completed(task.propose(belief, answers, rng), belief, answers)


def test_candidates_are_the_nearest_labelled_items_of_the_nearest_classes(rng):
    task = LabelTask(10, CLASSES, candidates=2)
    pool = completed(task, Belief(LINE), answers_of([0, 2, 5, 9], [0, 0, 1, 2], 2), rng)
    by_item = {row[0]: row[1:] for row in pool.tolist()}
    assert sorted(by_item) == [1, 3, 4, 6, 7, 8]
    assert by_item[3] == [2, 5]
    assert by_item[4] == [5, 2]
    assert by_item[8] == [9, 5]


def test_classes_without_a_label_leave_padding(rng):
    pool = completed(LabelTask(10, CLASSES), Belief(LINE), answers_of([0, 9], [0, 2]), rng)
    assert pool.shape == (8, 4)
    assert (pool[:, 3] == -1).all()
    assert (pool[:, 1:3] >= 0).all()


def test_without_any_label_every_item_is_proposed_bare(rng):
    pool = completed(LabelTask(10, CLASSES), Belief(LINE), no_answers(3, "label"), rng)
    assert pool[:, 0].tolist() == list(range(10))
    assert (pool[:, 1:] == -1).all()


def test_a_query_compares_no_more_classes_than_there_are():
    assert LabelTask(10, ("a", "b"), candidates=5).n_nearest == 2


def test_a_thousand_classes(rng):
    embedding = rng.normal(size=(3000, 4))
    task = LabelTask(3000, tuple(map(str, range(1000))))
    pool = completed(task, Belief(embedding), answers_of(np.arange(1500), np.arange(1500) % 1000), rng)
    assert pool.shape == (1500, 4)
    assert all(len(set((row[1:] % 1000).tolist())) == 3 for row in pool)


def test_options_are_all_classes_with_the_item_that_stands_for_each(rng):
    task = LabelTask(10, CLASSES, candidates=2)
    labels = answers_of([0, 5, 9], [0, 1, 2], 2)
    pool = completed(task, Belief(LINE), labels, rng)
    options = task.options(pool[pool[:, 0] == 6][0], task.examples(Belief(LINE), labels))
    assert [option.label for option in options] == list(CLASSES)
    assert [option.item for option in options] == [0, 5, 9]  # those beyond the candidates too


def test_an_item_never_stands_for_itself():
    task = LabelTask(10, CLASSES, candidates=2)
    examples = task.examples(Belief(LINE), answers_of([0, 5, 9], [0, 1, 1], 2))
    assert [option.item for option in task.options(np.array([5, -1, -1]), examples)] == [0, 9, None]


def test_a_stored_model_is_enough_for_examples():
    task = LabelTask(10, CLASSES, candidates=2)
    nothing = task.examples_of_model({"embedding": LINE})  # of a study that has no labels yet
    assert [option.item for option in task.options(np.array([4, -1, -1]), nothing)] == [None, None, None]
    known = task.examples_of_model({"embedding": LINE, "labelled": np.array([[0, 0], [5, 1], [9, 1]])})
    assert [option.item for option in task.options(np.array([4, -1, -1]), known)] == [0, 5, None]


def test_the_last_label_of_an_item_counts():
    task = LabelTask(10, CLASSES, candidates=2)
    examples = task.examples(Belief(LINE), answers_of([0, 5, 5], [0, 1, 2], 2))
    assert task.options(np.array([6, 5, 0]), examples)[2].item == 5


def test_first_queries_are_distinct_items_or_the_given_ones(rng):
    drawn = LabelTask(10, CLASSES).first_queries(10, rng)
    assert sorted(drawn[:, 0].tolist()) == list(range(10))
    given = LabelTask(10, CLASSES, start=np.array([7, 3, 1])).first_queries(2, rng)
    assert given[:, 0].tolist() == [7, 3]


@pytest.mark.parametrize(
    "classes, words", [(("a",), "at least 2"), (("a", "b", "a"), '"a" occurs twice'), (("a", " "), "no name")]
)
def test_classes_that_make_no_sense_are_refused(classes, words):
    with pytest.raises(DataError, match=words):
        LabelTask(10, classes)


def test_the_oracle_answers_with_the_true_class(rng):
    oracle = LabelOracle(np.array([2, 0, 1]))
    assert oracle.answer(np.array([[1, -1], [0, 2]]), rng).tolist() == [0, 2]


def test_of_copies_one_is_asked_and_none_twice(rng):
    original = np.repeat(np.arange(0, 30, 3), 3)  # every picture three times
    task = LabelTask(30, ("a", "b"), original=original)
    first = task.first_queries(30, rng)[:, 0]
    assert sorted(first.tolist()) == list(range(0, 30, 3))
    answers = Answers(np.array([[4, -1, -1], [9, -1, -1]], np.int32), np.array([0, 1], np.int32), "label")
    proposed = task.propose(Belief(np.zeros((30, 2))), answers, rng)[:, 0]
    assert proposed.tolist() == [0, 6, *range(12, 30, 3)]  # 4 is a copy of 3, whose label is known then


def test_pictures_with_many_copies_are_drawn_as_often_as_these():
    original = np.array([0] * 9 + [9])
    task = LabelTask(10, ("a", "b"), original=original)
    drawn = [int(task.first_queries(1, np.random.default_rng(seed))[0, 0]) for seed in range(300)]
    assert 240 <= drawn.count(0) <= 292  # nine of ten, within four standard errors
