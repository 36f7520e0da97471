"""Leasing in a database: what handing questions to one person and accepting answers reads and writes.

Its statements are built once: building them anew costs more than running them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from infonn.queries import question_key
from infonn.records import Answer, Purpose, Question
from infonn.storage import rows
from infonn.storage.leasing import PERSONAL, lapsed
from infonn.storage.schema import answers, leases, questions, respondents


def is_lapsed(now: Any) -> sa.ColumnElement[bool]:
    """Whether the lease of a row of questions has lapsed."""
    over: sa.ColumnElement[bool] = lapsed(sa.func.coalesce(questions.c.asked_at, now), questions.c.lease_until, now)
    return over


def is_open(now: Any) -> sa.ColumnElement[bool]:
    """Whether nobody holds a question that waits for an answer."""
    return (questions.c.state == "open") | ((questions.c.state == "leased") & is_lapsed(now))


def is_leased(now: Any) -> sa.ColumnElement[bool]:
    return (questions.c.state == "leased") & ~is_lapsed(now)


# Statements of the way an answer takes, built once.
_STUDY: sa.BindParameter[int] = bindparam("study")
_RESPONDENT: sa.BindParameter[str] = bindparam("person")
_QUESTION: sa.BindParameter[str] = bindparam("asked")
_OF_STUDY = questions.c.study_id == _STUDY
_THE_QUESTION = _OF_STUDY & (questions.c.id == _QUESTION)
_THE_LEASE = (leases.c.study_id == _STUDY) & (leases.c.question_id == _QUESTION) & (leases.c.respondent == _RESPONDENT)


_ANSWERED = (answers.c.study_id == _STUDY) & (answers.c.respondent == _RESPONDENT) & ~answers.c.undone
_HELD = (
    sa.select(questions)
    .where(_OF_STUDY & (questions.c.respondent == _RESPONDENT) & questions.c.state.in_(("leased", "open")))
    .where(questions.c.asked_at.is_not(None) | questions.c.purpose.in_(PERSONAL))
    .order_by(questions.c.asked_at, questions.c.number)
    .with_for_update()
)
_SEEN = sa.select(answers.c.query_key).where(_ANSWERED)
_ADD = sa.insert(questions)
_LEASE_QUESTION = (
    sa.update(questions)
    .where(_THE_QUESTION)
    .values(
        state="leased",
        respondent=_RESPONDENT,
        asked_at=bindparam("since"),
        lease_until=bindparam("end"),
        unseen_answers=bindparam("unseen"),
    )
)
_LEASE_END = sa.select(leases.c.until).where(_THE_LEASE)
_UNSEEN = sa.select(sa.func.count()).where(
    (answers.c.study_id == _STUDY)
    & (answers.c.number > bindparam("version"))
    & (answers.c.purpose == "train")
    & (answers.c.outcome == "answered")
    & ~answers.c.undone
)
_LEAVE = (
    sa.update(respondents)
    .where((respondents.c.study_id == _STUDY) & (respondents.c.name == _RESPONDENT))
    .values(
        seen_at=bindparam("now"),
        n_done=bindparam("done"),
        n_practice=bindparam("practice"),
        n_catch=bindparam("catch"),
        n_repeats=bindparam("again"),
        n_wrong=bindparam("wrong"),
    )
)
_LAPSED = (
    sa.select(questions.c.number)
    .where(_OF_STUDY & (questions.c.state == "leased") & is_lapsed(bindparam("now")))
    .with_for_update(skip_locked=True)
)
_RELEASE = sa.update(questions).where(questions.c.number.in_(_LAPSED.scalar_subquery())).values(state="open")
_IN_FORCE = (
    sa.select(answers.c.question_id, answers.c.purpose, answers.c.outcome).where(_ANSWERED).order_by(answers.c.number)
)
_REPEATED = sa.select(questions.c.copy_of).where(
    _OF_STUDY & (questions.c.respondent == _RESPONDENT) & (questions.c.purpose == "repeat")
)
_QUESTION_BY_ID = sa.select(questions).where(_THE_QUESTION).with_for_update()
_CLOSE_QUESTION = sa.update(questions).where(_THE_QUESTION).values(state="answered", respondent=_RESPONDENT)
_ANSWER_BY_ID = sa.select(answers).where((answers.c.study_id == _STUDY) & (answers.c.id == bindparam("id")))
_ANSWERS_TO = sa.select(answers).where(
    (answers.c.study_id == _STUDY) & (answers.c.question_id == _QUESTION) & ~answers.c.undone
)


@lru_cache
def _next_open(repeats: bool, copies: bool, random_again: bool) -> sa.Select[Any]:
    where = _OF_STUDY & (questions.c.state == "open") & (questions.c.purpose == bindparam("purpose"))
    where &= questions.c.condition == bindparam("condition")
    where &= questions.c.query_key.not_in(bindparam("keys", expanding=True))
    if copies:
        where &= questions.c.copy_of.is_not(None)
    if not random_again:
        where &= questions.c.asked_at.is_(None) | (questions.c.strategy_used != "random")
    same_query, same_question = answers.c.query_key == questions.c.query_key, answers.c.question_id == questions.c.id
    # A copy made for overlap is for somebody else, whatever else may be repeated.
    known = sa.case((questions.c.copy_of.is_(None), same_question), else_=same_query) if repeats else same_query
    where &= ~sa.exists().where(_ANSWERED & known)
    where &= questions.c.copy_of.is_(None) | (questions.c.query_key != bindparam("just_now"))
    found = sa.select(questions).where(where).order_by(questions.c.number).limit(1)
    return found.with_for_update(skip_locked=True)


@lru_cache
def _keep_lease(dialect: str) -> Any:
    insert: Any = sqlite.insert(leases) if dialect == "sqlite" else postgresql.insert(leases)
    values = {"study_id": _STUDY, "question_id": _QUESTION, "respondent": _RESPONDENT}
    whole = insert.values(**values, asked_at=bindparam("since"), until=bindparam("end"))
    return whole.on_conflict_do_update(index_elements=list(values), set_={"until": bindparam("end")})


@dataclass
class SqlLeasing:
    """A `Leasing` within one transaction that holds the lock of the respondent's row."""

    connection: Connection
    study: str
    study_id: int
    respondent: str
    n_done: int
    n_practice: int
    n_catch: int
    n_repeats: int
    n_wrong: int
    now: float
    answered: Question | None = None  # answered in this transaction, and not in the table yet
    n_leased: int = 0

    def held(self) -> list[Question]:
        return [rows.question(row, self.study) for row in self.run(_HELD)]

    def next_open(
        self, purpose: Purpose, keys: set[str], repeats: bool, copies: bool, condition: str
    ) -> Question | None:
        just_now = "" if self.answered is None else question_key(self.answered.query, self.answered.kind)
        if just_now and not repeats:
            keys = keys | {just_now}
        values = {"purpose": purpose, "keys": sorted(keys), "condition": condition, "just_now": just_now}
        for random_again in (False, True):
            row = self.run(_next_open(repeats, copies, random_again), **values).first()
            if row is not None:
                return rows.question(row, self.study)
        return None

    def to_repeat(self, gap: int) -> Question | None:
        in_force = list(self.run(_IN_FORCE))
        n_since = gap - (self.answered is not None)
        again = set(self.run(_REPEATED).scalars())
        for row in in_force[: max(0, len(in_force) - max(0, n_since))]:
            fit = row.purpose in ("train", "hold_out") and row.outcome == "answered"
            if fit and row.question_id not in again:
                found = self.question(row.question_id)
                return None if found is None else found[0]
        return None

    def seen(self) -> set[str]:
        just_now = [] if self.answered is None else [question_key(self.answered.query, self.answered.kind)]
        return {*self.run(_SEEN).scalars(), *just_now}

    def add(self, new: Sequence[Question]) -> None:
        if new:
            self.connection.execute(_ADD, [rows.question_values(question, self.study_id) for question in new])

    def keep_lease(self, question: Question) -> None:
        times = {"asked": question.id, "since": question.asked_at, "end": question.lease_until}
        self.run(_LEASE_QUESTION, **times, unseen=question.unseen_answers)
        self.run(_keep_lease(self.connection.dialect.name), **times)

    def lease_end(self, question_id: str) -> float | None:
        end: float | None = self.run(_LEASE_END, asked=question_id).scalar()
        return end

    def answer(self, answer_id: str) -> Answer | None:
        row = self.run(_ANSWER_BY_ID, id=answer_id).first()
        return None if row is None else rows.answer(row)

    def question(self, question_id: str) -> tuple[Question, str] | None:
        row = self.run(_QUESTION_BY_ID, asked=question_id).first()
        return None if row is None else (rows.question(row, self.study), row.state)

    def answers_to(self, question_id: str) -> Iterator[Answer]:
        return (rows.answer(row) for row in self.run(_ANSWERS_TO, asked=question_id))

    def close(self, question: Question) -> None:
        self.run(_CLOSE_QUESTION, asked=question.id)

    def leave(self) -> None:
        """Write down where the person now stands."""
        handed_out = {"practice": self.n_practice, "catch": self.n_catch, "again": self.n_repeats}
        self.run(_LEAVE, now=self.now, done=self.n_done, wrong=self.n_wrong, **handed_out)

    def unseen(self, version: int) -> int:
        return self.run(_UNSEEN, version=version).scalar() or 0

    def run(self, statement: Any, **values: Any) -> sa.CursorResult[Any]:
        """Run a statement for this study and person."""
        given = {"study": self.study_id, "person": self.respondent, **values}
        result: sa.CursorResult[Any] = self.connection.execute(statement, given)
        return result


def release_lapsed(connection: Connection, study_id: int, now: float) -> int:
    """Return questions to the queue whose lease has lapsed; how many."""
    return connection.execute(_RELEASE, {"study": study_id, "now": now}).rowcount
