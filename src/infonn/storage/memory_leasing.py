"""What memory keeps of a study, and how questions are dealt from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from infonn.arrays import FloatArray
from infonn.records import Answer, Item, ItemFile, Purpose, Question, Respondent, Round, StudyRecord
from infonn.storage.leasing import key_of


@dataclass
class Kept:
    """A study."""

    record: StudyRecord
    items: list[Item]
    features: FloatArray | None
    files: dict[str, ItemFile]
    questions: dict[str, Question] = field(default_factory=dict)  # in the order of the queue
    states: dict[str, str] = field(default_factory=dict)  # open, leased, answered, withdrawn
    leases: dict[tuple[str, str], float] = field(default_factory=dict)  # question, respondent -> end
    answers: dict[str, Answer] = field(default_factory=dict)  # in the order of arrival
    of_question: dict[str, list[str]] = field(default_factory=dict)  # question -> ids of its answers
    seen: dict[str, set[str]] = field(default_factory=dict)  # respondent -> keys answered
    waiting: dict[str, None] = field(default_factory=dict)  # questions open or leased, in the order of the queue
    people: dict[str, Person] = field(default_factory=dict)
    details: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    rounds: dict[int, Round] = field(default_factory=dict)
    models: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    claim: tuple[str, float] = ("", -math.inf)
    changes: int = 0

    def add(self, questions: Sequence[Question]) -> None:
        """At the end of the queue, each once."""
        for question in [question for question in questions if question.id not in self.questions]:
            self.questions[question.id] = question
            self.states[question.id] = "open"
            self.waiting[question.id] = None


@dataclass
class Person:
    """A respondent, and what was handed out."""

    record: Respondent
    n_done: int = 0
    n_practice: int = 0
    n_catch: int = 0


@dataclass
class MemoryDesk:
    """A `Desk` while the storage's lock is held."""

    kept: Kept
    respondent: str
    now: float
    n_done: int
    n_practice: int
    n_catch: int
    n_dealt: int = 0

    def held(self) -> list[Question]:
        waiting = [self.kept.questions[question_id] for question_id in self.kept.waiting]
        mine = [question for question in waiting if question.respondent == self.respondent and _was_given(question)]
        return sorted(mine, key=lambda question: question.asked_at or 0.0)

    def next_open(self, purpose: Purpose, keys: set[str], repeats: bool, copies: bool) -> Question | None:
        for question_id in self.kept.waiting:
            question = self.kept.questions[question_id]
            if self.kept.states[question_id] != "open" or question.purpose != purpose:
                continue
            if copies and question.copy_of is None:
                continue
            key = key_of(question.query, question.kind)
            known = self._answered(question_id) if repeats else key in self.seen()
            if key not in keys and not known:
                return question
        return None

    def _answered(self, question_id: str) -> bool:
        given = [self.kept.answers[name] for name in self.kept.of_question.get(question_id, [])]
        return any(answer.respondent == self.respondent and not answer.undone for answer in given)

    def seen(self) -> set[str]:
        return self.kept.seen.get(self.respondent, set())

    def add(self, questions: Sequence[Question]) -> None:
        self.kept.add(questions)

    def keep_lease(self, question: Question) -> None:
        assert question.lease_until is not None
        self.kept.questions[question.id] = question
        self.kept.states[question.id] = "leased"
        self.kept.leases[question.id, self.respondent] = question.lease_until

    def leave(self) -> None:
        person = self.kept.people[self.respondent]
        person.n_done, person.n_practice, person.n_catch = self.n_done, self.n_practice, self.n_catch
        person.record = replace(person.record, seen_at=self.now)

    def unseen(self, version: int) -> int:
        later = list(self.kept.answers.values())[version:]
        return sum(
            self.kept.questions[answer.question_id].purpose == "train"
            and answer.outcome == "answered"
            and not answer.undone
            for answer in later
        )


def _was_given(question: Question) -> bool:
    return question.asked_at is not None or question.purpose in ("catch", "practice")


def release_expired(kept: Kept, now: float) -> None:
    """Return questions to the queue whose lease has ended, or was given before the clock was set back."""
    for question_id in kept.waiting:
        if kept.states[question_id] == "leased" and state_of(kept, kept.questions[question_id], now) == "open":
            kept.states[question_id] = "open"


def state_of(kept: Kept, question: Question, now: float) -> str:
    state = kept.states[question.id]
    if state != "leased" or question.lease_until is None or question.asked_at is None:
        return state
    until, length = question.lease_until, question.lease_until - question.asked_at
    return "open" if until <= now or until > now + 2 * length else "leased"
