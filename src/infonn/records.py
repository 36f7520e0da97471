"""What is kept of a study: items, questions, answers, rounds. Plain data, there and back through JSON."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self, SupportsIndex

from infonn.errors import AlreadyAnsweredError, InvalidQueryError
from infonn.queries import Kind

Purpose = Literal["train", "hold_out", "catch", "repeat", "practice"]
Outcome = Literal["answered", "skipped", "cannot_tell"]
Role = Literal["owner", "reader"]


class _Record:
    """JSON there and back for the records below; unknown keys are refused by the constructor."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload,no-any-return]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{f.name: data[f.name] for f in fields(cls) if f.name in data})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Item(_Record):
    """One thing people judge. Files are named relative to the study's folder of items."""

    name: str
    text: str | None = None
    image: str | None = None
    audio: str | None = None


@dataclass(frozen=True)
class ItemFile:
    """A file that belongs to a study's items: an image or a sound."""

    path: str
    content_type: str
    data: bytes


@dataclass(frozen=True)
class Option(_Record):
    """What a response may choose: its label, and the item that stands for it (none for an unseen class)."""

    label: str
    item: int | None = None


@dataclass(frozen=True)
class Question(_Record):
    """A query that was handed out. A response indexes `options`, always; `shown` is the order on the screen."""

    id: str
    study: str
    query: tuple[int, ...]
    names: tuple[str, ...]  # of the items in `query`, in the same order
    options: tuple[Option, ...]
    shown: tuple[int, ...]
    kind: Kind = "nearest"
    purpose: Purpose = "train"
    expected: int | None = None  # catch and practice questions only
    strategy_asked: str = ""
    strategy_used: str = ""  # differs from `strategy_asked` when a fallback had to step in
    model_version: int = 0  # number of the last answer the model had seen
    score: float | None = None
    unseen_answers: int = 0  # train answers on record, when it was handed out, that the model had not seen
    created_at: float = 0.0  # seconds since 1970, UTC
    copy_of: str | None = None  # the question this one repeats: for another person, or (purpose "repeat") for the same
    condition: str = ""  # whose people it is for; empty for all who have no list of items of their own
    respondent: str = ""  # who holds it, or held it last
    asked_at: float | None = None
    lease_until: float | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        options = tuple(Option.from_json(option) for option in data["options"])
        tuples = {key: tuple(data[key]) for key in ("query", "names", "shown")}
        return super().from_json({**data, **tuples, "options": options})


@dataclass(frozen=True)
class Answer(_Record):
    """A response on record. `response` is None when the person skipped or could not tell."""

    id: str
    question_id: str
    respondent: str
    response: int | None
    outcome: Outcome = "answered"
    response_time_s: float | None = None
    received_at: float = 0.0  # seconds since 1970, UTC
    late: bool = False  # came after the lease had ended
    undone: bool = False
    context: Mapping[str, Any] = field(default_factory=dict)  # device class, visibility changes, ...
    number: int = 0  # 1, 2, 3, ... within the study, in the order of arrival; given by the storage


@dataclass(frozen=True)
class Respondent(_Record):
    """A person who answers, under a name that says nothing; who it is stands in a table that can be purged."""

    name: str
    joined_at: float = 0.0
    seen_at: float = 0.0
    excluded: bool = False
    consent_version: int | None = None  # of the consent text this person agreed to
    consented_at: float | None = None
    condition: str = ""  # of a study that compares people; given when they come
    about: Mapping[str, Any] = field(default_factory=dict)  # what they said about themselves: field -> value


@dataclass(frozen=True)
class Counts(_Record):
    """Where a study stands, for its status page."""

    answered: Mapping[str, int]  # by purpose; answers in force
    skipped: int
    cannot_tell: int
    late: int
    undone: int
    people: int
    people_at_work: int  # seen within the last two minutes
    answers_last_minute: int
    queue: int  # train questions nobody holds
    leased: int
    asked: int  # train questions handed out
    fallback: int  # of these, how many a fallback had to choose
    unseen_median: float  # answers the model had not seen, over the last 500 questions it chose
    unseen_p95: float


@dataclass(frozen=True)
class Round(_Record):
    """One turn of the loop: how many answers the model knew, and what it measured then."""

    index: int
    n_answers: int
    measures: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class StudyRecord(_Record):
    """A study as data. `spec` holds the tables of `study.toml`; it builds the same study anywhere."""

    name: str
    spec: Mapping[str, Any]
    seed: int = 0
    created_at: float = 0.0
    archived: bool = False
    key: str = field(default_factory=lambda: secrets.token_urlsafe(16))  # the participants' link ends in it
    retention_days: float = 0.0  # after which it is forgotten who a person is who was not seen since; 0 for never
    paused: bool = False  # nobody is asked anything until it goes on


@dataclass(frozen=True)
class Token(_Record):
    """A key to the owners' pages, given to one person; its text is shown once, and only its hash is kept."""

    id: str
    person: str
    role: Role = "owner"  # an owner may change things, a reader may look
    study: str | None = None  # the one study it is good for; None for the whole server
    made_at: float = 0.0  # seconds since 1970, UTC
    revoked_at: float | None = None


@dataclass(frozen=True)
class Act(_Record):
    """A line of the audit log: who did what to which study, and when. It outlives the study."""

    number: int
    at: float  # seconds since 1970, UTC
    who: str
    what: str
    study: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Deletion(_Record):
    """That a person's data were deleted: how many answers, and not whose."""

    at: float  # seconds since 1970, UTC
    answers: int


def check_response(question: Question, response: int | None, outcome: str) -> None:
    """Refuse what cannot be an answer to `question`."""
    if outcome not in ("answered", "skipped", "cannot_tell"):
        raise InvalidQueryError(f'Outcome "{outcome}" is unknown. Known: answered, cannot_tell, skipped.')
    if (response is None) != (outcome != "answered"):
        raise InvalidQueryError(
            f'Question {question.id}: response {response} with outcome "{outcome}". '
            'An answer has a response; "skipped" and "cannot_tell" have none.'
        )
    whole = isinstance(response, SupportsIndex)  # an integer, of Python or numpy: 1.5 is no option, nor is "1"
    if response is not None and not (whole and 0 <= response < len(question.options)):
        raise InvalidQueryError(
            f"Question {question.id}: response {response!r} is none of its {len(question.options)} options, "
            f"numbered 0 to {len(question.options) - 1}."
        )


def second_answer(earlier: Answer) -> AlreadyAnsweredError:
    """The refusal of another answer to the same question."""
    when = time.strftime("%H:%M", time.gmtime(earlier.received_at))
    who = f"participant {earlier.respondent}" if earlier.respondent else "somebody"
    return AlreadyAnsweredError(
        f"Question {earlier.question_id} was already answered by {who} at {when} UTC; the second answer was not stored."
    )
