"""The desk of a database: what dealing questions to one person reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from infonn.records import Purpose, Question
from infonn.storage import rows
from infonn.storage.desk import key_of
from infonn.storage.schema import answers, leases, questions, respondents


@dataclass
class SqlDesk:
    """A `Desk` within one transaction that holds the lock of the respondent's row."""

    connection: Connection
    study: str
    study_id: int
    respondent: str
    n_done: int
    n_practice: int
    n_catch: int
    now: float
    answered: Question | None = None  # answered in this transaction, and not in the table yet
    n_dealt: int = 0

    def held(self) -> list[Question]:
        where = (questions.c.study_id == self.study_id) & (questions.c.respondent == self.respondent)
        where &= questions.c.state.in_(("leased", "open"))
        where &= questions.c.asked_at.is_not(None) | questions.c.purpose.in_(("catch", "practice"))
        found = sa.select(questions).where(where).order_by(questions.c.asked_at, questions.c.number)
        return [rows.question(row, self.study) for row in self.connection.execute(found.with_for_update())]

    def next_open(self, purpose: Purpose, keys: set[str], repeats: bool, copies: bool) -> Question | None:
        where = (questions.c.study_id == self.study_id) & (questions.c.state == "open")
        where &= questions.c.purpose == purpose
        if self.answered is not None and not repeats:
            keys = keys | {key_of(self.answered.query, self.answered.kind)}
        if keys:
            where &= questions.c.query_key.not_in(sorted(keys))
        if copies:
            where &= questions.c.copy_of.is_not(None)
        if not repeats:
            where &= ~self._has_answered(questions.c.query_key)
        found = sa.select(questions).where(where).order_by(questions.c.number).limit(1)
        row = self.connection.execute(found.with_for_update(skip_locked=True)).first()
        return None if row is None else rows.question(row, self.study)

    def has_answered(self, key: str) -> bool:
        if self.answered is not None and key == key_of(self.answered.query, self.answered.kind):
            return True
        return bool(self.connection.scalar(sa.select(self._has_answered(sa.literal(key)))))

    def _has_answered(self, key: sa.ColumnElement[Any]) -> sa.Exists:
        return sa.exists().where(
            (answers.c.study_id == self.study_id)
            & (answers.c.respondent == self.respondent)
            & (answers.c.query_key == key)
            & ~answers.c.undone
        )

    def add(self, new: Sequence[Question]) -> None:
        if new:
            values = [rows.question_values(question, self.study_id) for question in new]
            self.connection.execute(sa.insert(questions), values)

    def lease(self, question: Question, lease_s: float) -> Question:
        until = self.now + lease_s
        again = question.respondent == self.respondent and question.asked_at is not None
        leased = replace(
            question,
            respondent=self.respondent,
            asked_at=question.asked_at if again else self._instant(),
            lease_until=until,
            unseen_answers=question.unseen_answers if again else self._unseen(question),
        )
        changed = {name: getattr(leased, name) for name in ("respondent", "asked_at", "lease_until", "unseen_answers")}
        where = (questions.c.study_id == self.study_id) & (questions.c.id == question.id)
        self.connection.execute(sa.update(questions).where(where).values(state="leased", **changed))
        values = {"study_id": self.study_id, "question_id": question.id, "respondent": self.respondent}
        insert: Any = sqlite.insert if self.connection.dialect.name == "sqlite" else postgresql.insert
        self.connection.execute(
            insert(leases)
            .values(**values, asked_at=leased.asked_at, until=until)
            .on_conflict_do_update(index_elements=list(values), set_={"until": until})
        )
        return leased

    def lease_end(self, question_id: str) -> float | None:
        """When this person's lease of a question ends or ended; None where it was never handed to this person."""
        where = (leases.c.study_id == self.study_id) & (leases.c.question_id == question_id)
        return self.connection.scalar(sa.select(leases.c.until).where(where & (leases.c.respondent == self.respondent)))

    def _instant(self) -> float:
        """Now, a microsecond later for each further question: their order is the order in which they were dealt."""
        self.n_dealt += 1
        return self.now + 1e-6 * (self.n_dealt - 1)

    def leave(self) -> None:
        """Write down where the person now stands."""
        where = (respondents.c.study_id == self.study_id) & (respondents.c.name == self.respondent)
        counters = {name: getattr(self, name) for name in ("n_done", "n_practice", "n_catch")}
        self.connection.execute(sa.update(respondents).where(where).values(seen_at=self.now, **counters))

    def _unseen(self, question: Question) -> int:
        """Train answers on record that the model behind this question had not seen."""
        if question.purpose != "train" or not question.model_version:
            return 0
        where = (answers.c.study_id == self.study_id) & (answers.c.number > question.model_version)
        where &= (answers.c.purpose == "train") & (answers.c.outcome == "answered") & ~answers.c.undone
        return self.connection.scalar(sa.select(sa.func.count()).where(where)) or 0


def release_expired(connection: Connection, study_id: int, now: float) -> int:
    """Return questions to the queue whose lease has ended; how many.

    A lease that ends later than twice its length from now was given before the clock was set back.
    """
    over = (questions.c.lease_until <= now) | (
        questions.c.lease_until > now + 2 * (questions.c.lease_until - questions.c.asked_at)
    )
    expired = (
        sa.select(questions.c.number)
        .where((questions.c.study_id == study_id) & (questions.c.state == "leased") & over)
        .with_for_update(skip_locked=True)
    )
    return connection.execute(
        sa.update(questions).where(questions.c.number.in_(expired.scalar_subquery())).values(state="open")
    ).rowcount
