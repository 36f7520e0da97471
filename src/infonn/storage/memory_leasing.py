"""What memory keeps of a study, and how its questions are leased."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from infonn.arrays import FloatArray
from infonn.queries import question_key
from infonn.records import (
    Answer,
    Deletion,
    Item,
    ItemFile,
    Purpose,
    Question,
    Respondent,
    Round,
    StudyRecord,
)
from infonn.storage.leasing import PERSONAL, lapsed


@dataclass
class StoredStudy:
    """A study, and all that belongs to it."""

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
    consents: dict[int, str] = field(default_factory=dict)
    deletions: list[Deletion] = field(default_factory=list)
    n_answers: int = 0  # number of the last answer kept
    n_changes: int = 0  # undone, excluded, imported, deleted

    def add(self, questions: Sequence[Question]) -> None:
        """At the end of the queue, each once."""
        for question in [question for question in questions if question.id not in self.questions]:
            self.questions[question.id] = question
            self.states[question.id] = "open"
            self.waiting[question.id] = None

    def keep_answer(self, answer: Answer, question: Question) -> Answer:
        """The answer under its number, in the order of arrival."""
        self.n_answers += 1
        numbered = replace(answer, number=self.n_answers)
        self.answers[answer.id] = numbered
        self.of_question.setdefault(question.id, []).append(answer.id)
        self.seen.setdefault(answer.respondent, set()).add(question_key(question.query, question.kind))
        return numbered

    def state_of(self, question_id: str, now: float) -> str:
        """Open, leased, answered or withdrawn; what was leased is open once the lease has lapsed."""
        question, state = self.questions[question_id], self.states[question_id]
        if state != "leased" or question.lease_until is None:
            return state
        asked_at = now if question.asked_at is None else question.asked_at
        return "open" if lapsed(asked_at, question.lease_until, now) else "leased"

    def release_lapsed(self, now: float) -> None:
        """Return questions to the queue whose lease has lapsed."""
        for question_id in self.waiting:
            self.states[question_id] = self.state_of(question_id, now)


@dataclass
class Person:
    """A respondent, and what was handed out."""

    record: Respondent
    n_done: int = 0
    n_practice: int = 0
    n_catch: int = 0
    n_repeats: int = 0
    n_wrong: int = 0


@dataclass
class MemoryLeasing:
    """A `Leasing` while the storage's lock is held."""

    stored: StoredStudy
    respondent: str
    now: float
    n_done: int
    n_practice: int
    n_catch: int
    n_repeats: int
    n_wrong: int
    n_leased: int = 0

    @property
    def study(self) -> str:
        return self.stored.record.name

    def held(self) -> list[Question]:
        waiting = [self.stored.questions[question_id] for question_id in self.stored.waiting]
        mine = [question for question in waiting if question.respondent == self.respondent and _was_given(question)]
        return sorted(mine, key=lambda question: question.asked_at or 0.0)

    def next_open(
        self, purpose: Purpose, keys: set[str], repeats: bool, copies: bool, condition: str
    ) -> Question | None:
        random_again = None
        for question_id in self.stored.waiting:
            question = self.stored.questions[question_id]
            if self.stored.states[question_id] != "open" or question.purpose != purpose:
                continue
            if question.condition != condition or (copies and question.copy_of is None):
                continue
            key = question_key(question.query, question.kind)
            may_repeat = repeats and question.copy_of is None
            known = self._answered(question_id) if may_repeat else key in self.seen()
            if key in keys or known:
                continue
            if question.asked_at is None or question.strategy_used != "random":
                return question
            random_again = random_again or question
        return random_again

    def to_repeat(self, gap: int) -> Question | None:
        answers = [answer for answer in self.stored.answers.values() if answer.respondent == self.respondent]
        in_force = [answer for answer in answers if not answer.undone]
        questions = self.stored.questions.values()
        again = {q.copy_of for q in questions if q.purpose == "repeat" and q.respondent == self.respondent}
        for answer in in_force[: max(0, len(in_force) - gap)]:
            question = self.stored.questions[answer.question_id]
            if question.purpose in ("train", "hold_out") and answer.outcome == "answered" and question.id not in again:
                return question
        return None

    def _answered(self, question_id: str) -> bool:
        return any(answer.respondent == self.respondent for answer in self.answers_to(question_id))

    def seen(self) -> set[str]:
        return self.stored.seen.get(self.respondent, set())

    def add(self, questions: Sequence[Question]) -> None:
        self.stored.add(questions)

    def keep_lease(self, question: Question) -> None:
        assert question.lease_until is not None
        self.stored.questions[question.id] = question
        self.stored.states[question.id] = "leased"
        self.stored.leases[question.id, self.respondent] = question.lease_until

    def unseen(self, version: int) -> int:
        newest_first = reversed(self.stored.answers.values())
        return sum(
            self.stored.questions[answer.question_id].purpose == "train"
            and answer.outcome == "answered"
            and not answer.undone
            for answer in takewhile(lambda answer: answer.number > version, newest_first)
        )

    def answer(self, answer_id: str) -> Answer | None:
        return self.stored.answers.get(answer_id)

    def question(self, question_id: str) -> tuple[Question, str] | None:
        question = self.stored.questions.get(question_id)
        return None if question is None else (question, self.stored.states[question_id])

    def lease_end(self, question_id: str) -> float | None:
        return self.stored.leases.get((question_id, self.respondent))

    def answers_to(self, question_id: str) -> Iterator[Answer]:
        given = (self.stored.answers[name] for name in self.stored.of_question.get(question_id, []))
        return (answer for answer in given if not answer.undone)

    def close(self, question: Question) -> None:
        self.stored.states[question.id] = "answered"
        self.stored.waiting.pop(question.id, None)
        self.stored.questions[question.id] = replace(question, respondent=self.respondent)

    def leave(self) -> None:
        """Write down where the person now stands."""
        person = self.stored.people[self.respondent]
        person.n_done, person.n_practice, person.n_catch = self.n_done, self.n_practice, self.n_catch
        person.n_repeats, person.n_wrong = self.n_repeats, self.n_wrong
        person.record = replace(person.record, seen_at=self.now)


def _was_given(question: Question) -> bool:
    return question.asked_at is not None or question.purpose in PERSONAL
