"""A study in a notebook: tables and a summary, callbacks after each answer, its state and questions as HTML, a page.

study                                # its state, curve and map
study.to_pandas()                    # one row per answer
Shown(study, study.ask()[0], folder="photos")   # a question with its pictures
answer(study, my_rule, n=50, callbacks=[print_every_tenth])
AnswerPage(study, folder="photos")   # answer inside the notebook; pip install "infonn[notebook]"
"""

from __future__ import annotations

import base64
import io
import mimetypes
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infonn.beliefs import Belief
from infonn.errors import MissingPartError
from infonn.formats.csv import reference_and_candidates
from infonn.records import Answer, Question
from infonn.study import Study

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS = {
    "nearest": "Which of these is most like {reference}?",
    "ranking": "Order these from most to least like {reference}.",
    "odd_one_out": "Which of these does not belong with the other two?",
    "label": "What is {reference}?",
}

# --- tables and words ------------------------------------------------------------------------------


def to_pandas(study: Study) -> DataFrame:
    """Every answer in the order of arrival: what was asked, of whom, chosen how, and what was said."""
    from pandas import DataFrame, to_datetime

    rows = [
        {
            "question": pair.question.id,
            **dict(zip(("reference", "candidates"), reference_and_candidates(pair.question))),
            "answer": None if pair.answer.response is None else pair.question.options[pair.answer.response].label,
            "response": pair.answer.response,
            "outcome": pair.answer.outcome,
            "respondent": pair.answer.respondent,
            "response_time_s": pair.answer.response_time_s,
            "purpose": pair.question.purpose,
            "strategy": pair.question.strategy_used,
            "score": pair.question.score,
            "model_version": pair.question.model_version,
            "received_at": pair.answer.received_at,
        }
        for pair in study.storage.answers(study.name, None)
    ]
    columns = (
        *("question", "reference", "candidates", "answer", "response", "outcome", "respondent", "response_time_s"),
        *("purpose", "strategy", "score", "model_version", "received_at"),
    )
    table = DataFrame(rows, columns=list(columns))
    table["response"] = table["response"].astype("Int64")
    table["received_at"] = to_datetime(table["received_at"].astype(float), unit="s", utc=True)
    return table


@dataclass(frozen=True)
class Summary:
    """Where a study stands."""

    name: str
    kind: str
    items: int
    questions: int
    answered: int
    skipped: int
    people: int
    strategy: str
    rounds: int
    measures: dict[str, float]  # of the last round
    findings: tuple[str, ...] = ()  # of a fit of these answers, where one was made

    def __str__(self) -> str:
        words = [
            f'Study "{self.name}": {self.items} items, {self.answered} answers of {self.people} people',
            f"{self.questions} questions asked ({self.kind}, {self.strategy}), {self.skipped} skipped",
            *(f"{name} {value:.3f}" for name, value in self.measures.items()),
        ]
        return " ".join(["; ".join(words) + ".", *self.findings])


def summary(study: Study) -> Summary:
    """Counts of what was asked and answered, and the measures of the last round of a simulation.

    After `study.embedding()`, also what that fit says: its columns, what features are worth, whether chains disagree.
    """
    answered = study.storage.answers(study.name, None)
    rounds, fitted = study.storage.rounds(study.name), study.fitted_findings()
    return Summary(
        name=study.name,
        kind=study.kind,
        items=len(study.item_names),
        questions=len(study.storage.questions(study.name)),
        answered=sum(pair.answer.outcome == "answered" for pair in answered),
        skipped=sum(pair.answer.outcome != "answered" for pair in answered),
        people=len({pair.answer.respondent for pair in answered}),
        strategy=study.strategy_name or type(study.strategy).__name__,
        rounds=len(rounds),
        measures=dict(rounds[-1].measures) if rounds else {},
        findings=() if fitted is None else tuple(fitted.sentences),
    )


Callback = Callable[[Study, Answer], None]


class StopAnswering(Exception):
    """Raised by a callback: the answer is stored, and no more are asked for."""


def answer(
    study: Study, rule: Callable[[Question], int | None], n: int, callbacks: Sequence[Callback] = ()
) -> list[Answer]:
    """Ask `n` questions and tell what `rule` says: a position of an option, or None to skip.

    After each answer every callback is called with the study and the answer; one may raise StopAnswering.
    """
    answers: list[Answer] = []
    for _ in range(n):
        asked = study.ask()
        if not asked:
            break  # nothing is left to ask
        response = rule(asked[0])
        told = study.tell(asked[0], response, outcome="skipped" if response is None else "answered")
        answers.append(told)
        try:
            for callback in callbacks:
                callback(study, told)
        except StopAnswering:
            break
    return answers


# --- HTML ------------------------------------------------------------------------------------------


def study_html(study: Study, belief: Belief | None = None) -> str:
    """The state of a study as HTML: counts, the map of `belief` where it is given, the curve of a simulation."""
    counts = summary(study)
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in {**asdict(counts), "findings": " ".join(counts.findings)}.items()
        if name != "measures" and value != ""
    )
    parts = [f"<table>{rows}</table>"]
    if belief is not None:
        parts.append(_figure_html(_map(study, belief), "The map of the items"))
    if counts.measures:
        parts.append(_figure_html(_curve(study), "The curve of the simulation"))
    return f"<div style='display:flex;flex-wrap:wrap;gap:1em;align-items:start'>{''.join(parts)}</div>"


def question_html(study: Study, question: Question, folder: Path | str | None = None) -> str:
    """A question as HTML, with the pictures of its items; `folder` holds their files, or the storage does."""
    reference = None if question.kind == "odd_one_out" else question.query[0]
    words = WORDS[question.kind].format(reference=f"<b>{escape(question.names[0])}</b>")
    shown = [question.options[place] for place in question.shown]
    cards = "".join(
        f"<figure style='margin:0'>{_picture(study, option.item, folder)}"
        f"<figcaption>{escape(option.label)}</figcaption></figure>"
        for option in shown
    )
    row = "display:flex;flex-wrap:wrap;gap:1em"
    return f"<p>{words}</p>{_picture(study, reference, folder)}<div style='{row}'>{cards}</div>"


@dataclass(frozen=True)
class Shown:
    """A question as a notebook displays it: with the pictures of its items, or their names."""

    study: Study
    question: Question
    folder: Path | str | None = None

    def _repr_html_(self) -> str:
        return question_html(self.study, self.question, self.folder)


def _picture(study: Study, item: int | None, folder: Path | str | None) -> str:
    data = None if item is None else picture_of(study, item, folder)
    if data is None or item is None:
        return ""
    name = escape(study.item_names[item])
    return f"<img alt='{name}' style='max-height:160px;max-width:200px' src='{data}'>"


def picture_of(study: Study, item: int, folder: Path | str | None = None) -> str | None:
    """The picture of an item as a data URL; None where it has none."""
    path = study.storage.items(study.name)[item].image
    if path is None:
        return None
    if folder is not None:
        kind, content = mimetypes.guess_type(path)[0] or "image/png", (Path(folder) / path).read_bytes()
    else:
        file = getattr(study.storage, "file", lambda *_: None)(study.name, path)
        if file is None:
            return None
        kind, content = file.content_type, file.data
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _map(study: Study, belief: Belief) -> Any:
    import numpy as np

    from infonn.arrays import to_numpy
    from infonn.plots.maps import draw_map, project

    points = to_numpy(belief.embedding)
    if points.shape[1] == 1:
        points = np.hstack([points, np.zeros_like(points)])
    flat = points if points.shape[1] == 2 else project(points, "pca")
    names = study.item_names if len(study.item_names) <= 60 else None
    return draw_map(flat, names=names, size=5.0)


def _curve(study: Study) -> Any:
    import numpy as np

    from infonn.plots.curves import Line, draw_curves

    rounds = study.storage.rounds(study.name)
    answers = [float(round.n_answers) for round in rounds]
    lines = {
        name: [Line(study.strategy_name or "study", answers, np.array([[round.measures[name] for round in rounds]]))]
        for name in rounds[-1].measures
    }
    return draw_curves(lines, "answers", "", share_y=False)


def _figure_html(figure: Any, words: str) -> str:
    from infonn.plots.look import style

    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=90)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f"<img alt='{words}' style='max-width:480px' src='data:image/png;base64,{data}'>"


# --- a page for answering ----------------------------------------------------------------------------


class AnswerPage:
    """Answer a study inside a notebook: one question at a time, a button for every option.

    `box` is the widget that is shown, `buttons` are those of the question on the screen; whoever clicks one gets the
    next question. Answers are stored at once, as those of any other page.
    """

    def __init__(self, study: Study, folder: Path | str | None = None, respondent: str = "") -> None:
        try:
            import ipywidgets
        except ModuleNotFoundError as error:
            raise MissingPartError(
                'Answering in a notebook needs ipywidgets: pip install "infonn[notebook]".'
            ) from error
        self.study, self.folder, self.respondent = study, folder, respondent
        self.n_answered = 0
        self.question: Question | None = None
        self.buttons: list[Any] = []
        self._widgets = ipywidgets
        self.box = ipywidgets.VBox()
        self._show_next()

    def _show_next(self) -> None:
        asked = self.study.ask(1, self.respondent)
        self.question = asked[0] if asked else None
        html = self._widgets.HTML
        if self.question is None:
            self.buttons = []
            self.box.children = (html(f"<p>Nothing is left to ask. {self.n_answered} answers; thank you.</p>"),)
            return
        question = self.question
        self.buttons = [self._button(question.options[place].label, place) for place in question.shown]
        self.buttons.append(self._button("Skip", None))
        self.box.children = (
            html(question_html(self.study, question, self.folder)),
            self._widgets.HBox(self.buttons, layout=self._widgets.Layout(flex_flow="row wrap")),
            html(f"<small>{self.n_answered} answered</small>"),
        )

    def _button(self, label: str, response: int | None) -> Any:
        button = self._widgets.Button(description=label, layout=self._widgets.Layout(width="auto"))
        button.on_click(lambda _: self._answer(response))
        return button

    def _answer(self, response: int | None) -> None:
        assert self.question is not None
        outcome = "skipped" if response is None else "answered"
        self.study.tell(self.question, response, outcome=outcome, respondent=self.respondent)  # type: ignore[arg-type]
        self.n_answered += response is not None
        self._show_next()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.box)
