"""Dealing questions to one person: the same rules for every storage."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from infonn.contracts.storage import Serving
from infonn.queries import Kind
from infonn.records import Purpose, Question


class Desk(Protocol):
    """What dealing needs to know and do for one person, within one transaction."""

    respondent: str
    now: float
    n_done: int  # answers in force, practice aside
    n_practice: int  # practice questions handed out so far
    n_catch: int  # catch questions handed out so far
    n_dealt: int  # questions handed out in this transaction

    def held(self) -> list[Question]:
        """What this person holds, in the order in which it was handed out."""
        ...

    def next_open(self, purpose: Purpose, keys: set[str], repeats: bool, copies: bool) -> Question | None:
        """The first free question that this person has not answered and that asks none of `keys` nor (without
        `repeats`) what this person answered.

        With `copies`, only among the copies made for overlap."""
        ...

    def seen(self) -> set[str]:
        """The keys of what this person answered."""
        ...

    def add(self, questions: Sequence[Question]) -> None: ...

    def unseen(self, version: int) -> int:
        """Train answers on record that a model of this version had not seen."""
        ...

    def keep_lease(self, question: Question) -> None:
        """Write down that the question is this person's until its lease ends."""
        ...


def key_of(query: Sequence[int], kind: Kind) -> str:
    """Equal where two queries ask the same: candidate order aside; for a label, the item alone."""
    if kind == "label":
        return str(query[0])
    return f"{query[0]}:{','.join(map(str, sorted(query[1:])))}"


def deal(desk: Desk, n: int, serving: Serving) -> list[Question]:
    """Up to `n` questions for the person at the desk, those held already first, all leased from now."""
    dealt = [_renewed(desk, question, serving.lease_s) for question in desk.held()[:n]]
    while len(dealt) < n:
        question = _next(desk, dealt, serving)
        if question is None:
            break
        first_time = question.asked_at is None and question.copy_of is None
        if first_time and question.purpose in ("train", "hold_out"):
            desk.add([_copy(question) for _ in range(serving.overlap - 1)])
        dealt.append(_leased(desk, question, serving.lease_s))
    return dealt


def _renewed(desk: Desk, question: Question, lease_s: float) -> Question:
    """A lease with more than half its time left stays as it is: most answers come long before, and writing costs."""
    fresh = question.lease_until is not None and question.lease_until - desk.now > lease_s / 2
    same_length = fresh and question.lease_until is not None and question.lease_until <= desk.now + lease_s
    return question if same_length else _leased(desk, question, lease_s)


def _leased(desk: Desk, question: Question, lease_s: float) -> Question:
    """The question in this person's hands. Each is handed out a microsecond after the last, which keeps their order."""
    leased = replace(question, respondent=desk.respondent, lease_until=desk.now + lease_s)
    if question.respondent != desk.respondent or question.asked_at is None:
        of_model = question.purpose == "train" and question.model_version
        unseen = desk.unseen(question.model_version) if of_model else 0
        leased = replace(leased, asked_at=desk.now + 1e-6 * desk.n_dealt, unseen_answers=unseen)
        desk.n_dealt += 1
    desk.keep_lease(leased)
    return leased


def _next(desk: Desk, dealt: list[Question], serving: Serving) -> Question | None:
    if desk.n_practice < len(serving.practice):
        desk.n_practice += 1
        return _personal(desk, serving.practice[desk.n_practice - 1])
    position = desk.n_done + sum(question.purpose != "practice" for question in dealt)
    if serving.per_person is not None and position >= serving.per_person:
        return None
    due = sorted(place for place in serving.catch if place <= position)
    if desk.n_catch < len(due):
        desk.n_catch += 1
        return _personal(desk, serving.catch[due[desk.n_catch - 1]])
    keys = {key_of(question.query, question.kind) for question in dealt}
    purpose = serving.purpose_at(desk.respondent, position)
    if serving.overlap > 1 and (copy := desk.next_open(purpose, keys, serving.repeats, copies=True)):
        return copy  # what others were asked comes first, so that queries are completed
    if purpose == "train" and serving.is_random_at(desk.respondent, position):
        return _drawn(desk, purpose, keys, serving, strategy_asked="random")
    return desk.next_open(purpose, keys, serving.repeats, copies=False) or _drawn(desk, purpose, keys, serving)


def _drawn(
    desk: Desk, purpose: Purpose, keys: set[str], serving: Serving, strategy_asked: str | None = None
) -> Question | None:
    """A random question: every hold-out question is one, train questions meant to be, or when the queue is dry."""
    if serving.draw is None:
        return None
    old = keys if serving.repeats else keys | desk.seen()
    for question in serving.draw(purpose):
        if key_of(question.query, question.kind) not in old:
            if strategy_asked is not None:
                question = replace(question, strategy_asked=strategy_asked)
            desk.add([question])
            return question
    return None


def _personal(desk: Desk, template: Question) -> Question:
    question = replace(template, id=secrets.token_hex(8), respondent=desk.respondent)
    desk.add([question])
    return question


def _copy(question: Question) -> Question:
    return replace(question, id=secrets.token_hex(8), copy_of=question.id)
