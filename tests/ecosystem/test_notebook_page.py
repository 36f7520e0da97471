"""The page for answering inside a notebook: a notebook is executed, and its buttons are clicked."""

import pytest

pytest.importorskip("ipywidgets", reason="make test-ecosystem builds the environment that has it")
pytest.importorskip("nbclient")

import nbclient
import nbformat

from infonn import create_study
from infonn.notebook import AnswerPage

CELLS = [
    """
from infonn import create_study
from infonn.notebook import AnswerPage
study = create_study(["apple", "pear", "plum", "leek"], candidates=2, learner="mds", first=50, name="fruit")
page = AnswerPage(study, respondent="me")
page
""",
    """
for press in (0, 1, -1):
    page.buttons[press].click()
print(page.n_answered, len(study.answers()))
""",
    """
study.belief()
study
""",
    """
from infonn.notebook import Shown
Shown(study, study.ask()[0])
""",
]


def test_the_next_question_comes_when_a_button_is_clicked() -> None:
    study = create_study(["apple", "pear", "plum"], candidates=2, learner="mds", first=50)
    page = AnswerPage(study)
    for left in (2, 1, 0):
        assert [button.description for button in page.buttons][-1] == "Skip"
        assert len(page.buttons) == 3
        page.buttons[0].click()
        assert len(study.answers()) == 3 - left
    assert page.buttons == []
    assert "thank you" in page.box.children[0].value


def test_a_button_answers_with_the_option_it_names() -> None:
    study = create_study([f"item {i}" for i in range(8)], candidates=3, learner="mds", first=50, seed=3)
    page = AnswerPage(study)
    for _ in range(5):
        question, button = page.question, page.buttons[1]
        assert question is not None
        button.click()
        told = study.storage.answers(study.name)[-1]
        assert told.question.options[told.answer.response].label == button.description


@pytest.mark.timeout(300)
def test_a_notebook_runs_and_its_page_is_answered() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    done = nbclient.NotebookClient(notebook, timeout=200, kernel_name="python3").execute()
    shown = done.cells[0].outputs[-1]
    assert "application/vnd.jupyter.widget-view+json" in shown["data"]
    assert done.cells[1].outputs[-1]["text"].strip() == "2 2"
    assert "The map of the items" in done.cells[2].outputs[-1]["data"]["text/html"]
    assert "Which of these is most like" in done.cells[3].outputs[-1]["data"]["text/html"]
