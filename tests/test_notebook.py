"""A study in a notebook: tables, words, callbacks, HTML."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from infonn import create_study
from infonn.errors import MissingPartError
from infonn.notebook import AnswerPage, Shown, StopAnswering, answer, question_html, study_html, summary, to_pandas
from infonn.records import Answer, Question
from infonn.study import Study

FRUIT = ["apple", "pear", "plum", "<b>leek</b>", "onion"]


@pytest.fixture
def study() -> Study:
    return create_study(FRUIT, candidates=2, learner="mds", first=50, seed=1, name="fruit")


def first_option(question: Question) -> int:
    return 0


def test_a_study_without_answers_is_an_empty_table(study: Study) -> None:
    table = to_pandas(study)
    assert len(table) == 0
    assert {"reference", "answer", "response_time_s", "received_at"} <= set(table.columns)


def test_every_answer_is_a_row_in_the_order_of_arrival(study: Study) -> None:
    told = answer(study, lambda question: None if question.names[0] == "pear" else 1, n=12)
    table = to_pandas(study)
    assert table["question"].tolist() == [one.question_id for one in told]
    skipped = table[table["reference"] == "pear"]
    assert skipped["response"].isna().all()
    assert (skipped["outcome"] == "skipped").all()
    said = table[table["reference"] != "pear"]
    assert all(row.answer in row.candidates for row in said.itertuples())


def test_a_callback_sees_every_answer_and_may_end_the_asking(study: Study) -> None:
    seen: list[str] = []

    def stop_at_three(own: Study, told: Answer) -> None:
        assert own is study
        seen.append(told.id)
        if len(seen) == 3:
            raise StopAnswering

    told = answer(study, first_option, n=10, callbacks=[stop_at_three])
    assert [one.id for one in told] == seen
    assert len(study.answers()) == 3


def test_asking_ends_where_nothing_is_left(study: Study) -> None:
    assert len(answer(study, first_option, n=1000)) == 30  # 5 references, 6 pairs of candidates each


def test_the_summary_counts_what_was_asked_and_answered(study: Study) -> None:
    answer(study, lambda question: None if question.names[0] == "pear" else 0, n=30)
    found = summary(study)
    assert (found.items, found.questions, found.answered, found.skipped) == (5, 30, 24, 6)
    assert str(found).startswith('Study "fruit": 5 items, 24 answers of 1 people; 30 questions asked')


def test_a_study_tells_of_itself(study: Study) -> None:
    answer(study, first_option, n=4)
    assert study.to_pandas().equals(to_pandas(study))
    assert study.summary() == summary(study)
    assert "<img" not in study._repr_html_()  # no model was fitted, and to be shown is no reason to
    study.belief()
    assert study._repr_html_() == study_html(study, study.belief())
    question = study.ask()[0]
    assert Shown(study, question)._repr_html_() == question_html(study, question)


def test_an_odd_one_is_asked_for_without_a_reference() -> None:
    odd = create_study(FRUIT, kind="odd_one_out", learner="mds", first=50, seed=1)
    answer(odd, first_option, n=4)
    table = odd.to_pandas()
    assert table["reference"].isna().all()
    assert all(row.answer in row.candidates and len(row.candidates) == 3 for row in table.itertuples())
    assert "does not belong" in question_html(odd, odd.ask()[0])


def test_html_shows_state_map_and_curve_and_escapes_names(study: Study) -> None:
    from infonn.oracles.distances import DistanceOracle

    assert "<img" not in study_html(study)
    list(
        study.run(DistanceOracle(np.array([[0.0], [1.0], [2.0], [5.0], [6.0]])), 0, 5, {"constant": lambda belief: 0.5})
    )
    html = study_html(study, study.belief())
    assert html.count("data:image/png;base64,") == 2
    shown = "".join(question_html(study, question) for question in study.storage.questions("fruit"))
    assert "<b>leek</b>" not in shown.replace("<b>&lt;b&gt;leek&lt;/b&gt;</b>", "")


def test_a_question_shows_the_pictures_of_its_items(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        Image.new("RGB", (4, 4)).save(tmp_path / f"{name}.png")
    study = create_study(tmp_path, candidates=2, learner="mds")
    assert question_html(study, study.ask()[0], tmp_path).count("data:image/png;base64,") == 3


def test_the_page_without_widgets_says_what_to_install(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    with pytest.raises(MissingPartError, match="infonn\\[notebook\\]"):
        AnswerPage(study)
