"""psiz trials and THINGS odd-one-out answers in, comparisons for R out."""

import csv
import io

import numpy as np
import pytest

from infonn.errors import DataError
from infonn.formats import psiz, r, things
from infonn.formats.triplets import triplets_of

NAMES = [f"item {i}" for i in range(8)]


def triplets(answered: list) -> list[tuple[int, int, int]]:  # type: ignore[type-arg]
    return sorted((t.reference, t.near, t.far) for t in triplets_of(answered))


# --- THINGS ----------------------------------------------------------------------------------------


def test_the_two_that_belong_together_are_nearer_to_each_other_than_to_the_odd_one() -> None:
    assert triplets(things.read("3 5 1\n", "s", NAMES)) == [(3, 5, 1), (5, 3, 1)]


def test_commas_and_empty_lines_are_read_too() -> None:
    assert len(things.read("0,1,2\n\n3\t4\t5\n", "s", NAMES)) == 2


def test_the_raw_table_counts_from_one_and_names_the_place_of_the_odd_one() -> None:
    text = "image1\timage2\timage3\tchoice\tRT\tsubject_id\n4\t2\t6\t2\t1500\tp7\n"
    answered = things.read(text, "s", NAMES)
    assert [pair.question.kind for pair in answered] == ["odd_one_out"]
    assert answered[0].question.options[answered[0].answer.response].label == "item 1"
    assert triplets(answered) == [(3, 5, 1), (5, 3, 1)]
    assert {pair.answer.respondent for pair in answered} == {"p7"}
    assert {pair.answer.response_time_s for pair in answered} == {1.5}


@pytest.mark.parametrize(
    "text, says",
    [("0 1\n", "three item numbers"), ("0 1 x\n", "three item numbers"), ("0 1 9\n", "items are 0 to 7")],
)
def test_a_row_that_makes_no_sense_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        things.read(text, "s", NAMES)


def test_a_choice_that_is_no_place_is_refused() -> None:
    with pytest.raises(DataError, match="Line 2: choice is 4"):
        things.read_csv("image1,image2,image3,choice\n1,2,3,4\n", "s", NAMES)


def test_what_is_written_reads_the_same_and_twice_is_once() -> None:
    text = "3 5 1\n0 2 7\n"
    answered = things.read(text, "s", NAMES)
    assert things.write(answered) == text
    again = things.read(text, "s", NAMES)
    assert [pair.answer.id for pair in again] == [pair.answer.id for pair in answered]
    with pytest.raises(DataError, match='"nearest"'):
        things.write(psiz.from_trials(np.array([[0, 3, 1, 2]]), "s", NAMES))


# --- psiz ------------------------------------------------------------------------------------------


def test_a_trial_that_selects_one_is_the_nearest_of_all() -> None:
    (only,) = psiz.from_trials(np.array([[0, 3, 1, 2]]), "s", NAMES, agent_id=4, rt_ms=900.0)
    assert only.question.query == (0, 1, 2, 3)
    assert only.question.options[only.answer.response].label == "item 3"
    assert (only.answer.respondent, only.answer.response_time_s) == ("4", 0.9)


def test_ranked_selections_are_the_nearest_and_then_the_nearest_of_the_rest() -> None:
    answered = psiz.from_trials(np.array([[0, 3, 1, 2, 4]]), "s", NAMES, n_select=2)
    assert [pair.question.query for pair in answered] == [(0, 1, 2, 3, 4), (0, 1, 2, 4)]
    assert triplets(answered) == [(0, 1, 2), (0, 1, 4), (0, 3, 1), (0, 3, 2), (0, 3, 4)]


def test_selections_without_an_order_say_nothing_about_each_other() -> None:
    answered = psiz.from_trials(np.array([[0, 3, 1, 2, 4]]), "s", NAMES, n_select=[2], is_ranked=[False])
    assert triplets(answered) == [(0, 1, 2), (0, 1, 4), (0, 3, 2), (0, 3, 4)]


def test_a_placeholder_of_zero_means_counting_from_one() -> None:
    answered = psiz.from_trials(np.array([[1, 4, 2, 0, 0]]), "s", NAMES, placeholder=0)
    assert triplets(answered) == [(0, 3, 1)]


@pytest.mark.parametrize("trials, n_select", [(np.zeros((2, 2), int), 1), (np.array([[0, 1, 2]]), 2)])
def test_trials_that_make_no_sense_are_refused(trials: np.ndarray, n_select: int) -> None:
    with pytest.raises(DataError):
        psiz.from_trials(trials, "s", NAMES, n_select=n_select)


# --- R ---------------------------------------------------------------------------------------------


def test_comparisons_for_r_count_from_one_and_say_which_distance_is_smaller() -> None:
    answered = psiz.from_trials(np.array([[0, 3, 1]]), "s", NAMES)
    (row,) = csv.DictReader(io.StringIO(r.write(answered, NAMES)))
    assert [row[name] for name in "ijkl"] == ["1", "4", "1", "2"]
    assert (row["reference"], row["near"], row["far"]) == ("item 0", "item 3", "item 1")


def test_the_script_has_three_lines_and_names_the_files() -> None:
    made = r.script("a.csv", "names.csv", 3)
    assert len(made.splitlines()) == 3
    assert 'read.csv("a.csv")' in made
    assert "p = 3" in made
    assert r.write_items(NAMES).splitlines()[1] == "item 0"
