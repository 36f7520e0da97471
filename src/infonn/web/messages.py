"""What goes over the wire, and what the OpenAPI document says about it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from infonn.live.outlook import AccuracyPoint
from infonn.live.studies import LiveStudy
from infonn.queries import Kind
from infonn.records import Answer, Item, Question, Role

ClientId = Annotated[str, StringConstraints(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_\-]+$")]
Table = dict[str, Any]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What went wrong, in one sentence."""

    detail: str


# --- participants ----------------------------------------------------------------------------------


class SessionIn(Message):
    """A person arrives, with the parameters of the link (PROLIFIC_PID, workerId, ...), or comes back with `session`."""

    parameters: dict[
        Annotated[str, StringConstraints(max_length=64)], Annotated[str, StringConstraints(max_length=256)]
    ] = Field(default={}, max_length=20)
    session: Annotated[str, StringConstraints(max_length=200)] | None = None


class AnswerIn(Message):
    """`response` is the number of an option; None with the outcome `skipped` or `cannot_tell`."""

    id: ClientId = Field(description="Chosen by the client, a UUID say: the same id again is the same answer.")
    question: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    response: int | None = Field(default=None, ge=0, le=100_000)
    outcome: Literal["answered", "skipped", "cannot_tell"] = "answered"
    response_time_s: float | None = Field(default=None, ge=0, le=1e6)
    context: Table = Field(default={}, description="Device class, visibility changes, ...: at most 4,000 characters.")


class AboutIn(Message):
    """What a person says about themselves: the fields of a form by name."""

    form: Literal["before", "after"]
    values: dict[
        Annotated[str, StringConstraints(max_length=40)],
        Annotated[str, StringConstraints(max_length=5000)]
        | float
        | Annotated[list[Annotated[str, StringConstraints(max_length=500)]], Field(max_length=200)]
        | None,
    ] = Field(max_length=100)


class UndoIn(Message):
    answer: ClientId


class ItemView(BaseModel):
    """An item as the page shows it; `image` and `audio` are paths on this server."""

    index: int
    name: str
    text: str | None
    image: str | None
    audio: str | None


class OptionView(BaseModel):
    """`response` is what to send back when this option is chosen."""

    response: int
    label: str
    item: ItemView | None


class QuestionView(BaseModel):
    """One question; `options` in the order of the screen. `expected` is told for practice questions only."""

    id: str
    kind: Kind
    practice: bool
    reference: ItemView | None  # none where the odd one of the candidates is asked for
    candidates: list[ItemView]
    options: list[OptionView]
    expected: int | None


class Progress(BaseModel):
    """`done` counts answered and skipped questions, practice aside; `of` is None where there is no end in sight."""

    done: int
    of: int | None


class FieldView(BaseModel):
    """A question about the person."""

    name: str
    label: str
    kind: Literal["text", "long_text", "number", "choice", "choices"]
    options: list[str]
    required: bool
    least: float | None
    most: float | None


class StudyView(BaseModel):
    """What a participant's page needs to know about the study."""

    title: str
    question: str
    instructions: str
    consent: str
    thanks: str
    language: str
    kind: Kind
    prefetch: int
    practice: int
    pause_text: str = ""
    min_time_s: float = Field(default=0.0, description="Before a choice counts.")
    block: int = Field(default=0, description="Questions between two pauses; 0 for none.")
    pause_s: float = Field(default=0.0, description="The shortest pause.")
    withdraw: bool = True
    before: list[FieldView] = Field(default=[], description="Asked about the person before the first question.")
    after: list[FieldView] = []


class Turn(BaseModel):
    """What to show: the first of `questions` now, the others are fetched ahead; `finished` when there is no more.

    `form` is what the person has to fill in before it goes on. `ended` says how it went for them."""

    questions: list[QuestionView]
    progress: Progress
    finished: bool
    form: Literal["before", "after"] | None = None
    paused: bool = Field(default=False, description="The study pauses; what was answered is kept.")
    ended: Literal["done", "screened_out", "over_quota"] | None = None
    completion_code: str | None = None
    completion_url: str | None = None


class SessionOut(Turn):
    """`session` goes into the header `Authorization: Bearer ...` of everything that follows."""

    respondent: str
    session: str
    study: StudyView
    briefing: str | None = Field(default=None, description="Instructions of the person's own condition, as clean HTML.")


class AnswerView(BaseModel):
    """An answer as it is on record."""

    id: str
    question: str
    response: int | None
    outcome: Literal["answered", "skipped", "cannot_tell"]
    late: bool
    undone: bool
    received_at: float


class AnswerOut(Turn):
    answer: AnswerView


# --- owners ----------------------------------------------------------------------------------------


class LoginIn(Message):
    token: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class TokenIn(Message):
    """An owner may change things, a reader may look; with `study`, in that one alone."""

    person: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    role: Role = "owner"
    study: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None


class TokenOut(BaseModel):
    id: str
    person: str
    role: Role
    study: str | None
    made_at: float
    revoked_at: float | None


class NewTokenOut(TokenOut):
    text: str = Field(description="The token itself, shown this once.")


class ActOut(BaseModel):
    """A line of the audit log."""

    number: int
    at: float
    who: str
    what: str
    study: str | None
    details: dict[str, Any]


class ItemIn(Message):
    name: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    text: Annotated[str, StringConstraints(max_length=20_000)] | None = None


class StudyIn(Message):
    """The tables of `study.toml`, and the items: names, or names with texts."""

    study: Table
    items: list[ItemIn | Annotated[str, StringConstraints(min_length=1, max_length=500)]] = Field(max_length=100_000)
    features: list[list[float]] | None = Field(default=None, description="One row of numbers per item.")
    queries: Table = {}
    learner: Table = {}
    strategy: Table = {}
    budget: Table = {}
    people: Table = {}


class StudyOut(BaseModel):
    """A study as its owner sees it; `link` is for participants."""

    name: str
    link: str
    link_warning: str | None = Field(description="Why people may not reach the link, where that is to be feared.")
    condition_links: dict[str, str] = Field(description="For each condition, the link that leads into it.")
    key: str
    archived: bool
    paused: bool
    created_at: float
    n_items: int
    retention_days: float
    spec: dict[str, Any]


class ChangeIn(Message):
    """`archived` ends the study (or opens it again), `paused` lets it wait; `people` and `budget` change keys of these
    tables.

    After `retention_days` without a visit it is forgotten who a person is; 0 for never."""

    archived: bool | None = None
    paused: bool | None = None
    retention_days: float | None = Field(default=None, ge=0, le=36_500)
    people: Table | None = None
    budget: Table | None = None


class CopyIn(Message):
    """A new study of the same items and settings, without people and answers."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=80)]


class ExcludeIn(Message):
    excluded: bool = True
    why: Annotated[str, StringConstraints(max_length=500)] = ""


class LinksIn(Message):
    """The names or numbers by which you know people."""

    participants: list[Annotated[str, StringConstraints(min_length=1, max_length=256)]] = Field(max_length=1000)


class LinksOut(BaseModel):
    links: dict[str, str] = Field(description="By participant.")


class ImportOut(BaseModel):
    imported: int
    known: int = Field(description="Answers that were there already and were left as they are.")


class CountOut(BaseModel):
    count: int


class Estimate(BaseModel):
    accuracy: float
    low: float
    high: float


class ComparedPoint(BaseModel):
    """Accuracy of models fitted on `n_answers` to random questions alone, and on as many to chosen ones."""

    n_answers: int
    n_hold_out: int
    random: Estimate
    chosen: Estimate


class AccuracyOut(BaseModel):
    chance: float
    points: list[AccuracyPoint]
    compared: list[ComparedPoint] = Field(description="Where the study mixes random and chosen questions.")


class EmbeddedItem(BaseModel):
    index: int
    name: str
    image: str | None
    coordinates: list[float]
    plane: list[float] = Field(description="Two coordinates that show most of the spread.")
    spread: float | None = Field(description="How uncertain the place is, in the same unit; None where not known.")


class EmbeddingOut(BaseModel):
    """Where the answers place the items: a cold fit of the stored answers, or of the first `n_answers` of them."""

    version: int
    n_answers: int
    up_to_date: bool
    findings: list[str] = Field(description="Its columns, what features are worth, whether chains disagree.")
    items: list[EmbeddedItem]


class ServerOut(BaseModel):
    """Times from the arrival of a request to its reply, over the last requests of each kind."""

    version: str
    started_at: float
    requests: dict[str, dict[str, float]]


# --- records to views ------------------------------------------------------------------------------


def item_view(study: LiveStudy, index: int) -> ItemView:
    item: Item = study.items[index]
    base = f"/api/p/{study.record.key}/items/{index}"
    return ItemView(
        index=index,
        name=item.name,
        text=item.text,
        image=f"{base}/image" if item.image else None,
        audio=f"{base}/audio" if item.audio else None,
    )


def question_view(study: LiveStudy, question: Question) -> QuestionView:
    """Hold-out and catch questions look like any other."""
    options = []
    for response in question.shown:
        option = question.options[response]
        item = None if option.item is None else item_view(study, option.item)
        options.append(OptionView(response=response, label=option.label, item=item))
    practice = question.purpose == "practice"
    items = [item_view(study, item) for item in question.query]
    n_references = 0 if question.kind == "odd_one_out" else 1
    return QuestionView(
        id=question.id,
        kind=question.kind,
        practice=practice,
        reference=items[0] if n_references else None,
        candidates=items[n_references:],
        options=options,
        expected=question.expected if practice else None,
    )


def answer_view(answer: Answer) -> AnswerView:
    return AnswerView(
        id=answer.id,
        question=answer.question_id,
        response=answer.response,
        outcome=answer.outcome,
        late=answer.late,
        undone=answer.undone,
        received_at=answer.received_at,
    )
