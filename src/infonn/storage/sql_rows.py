"""Rows of questions and answers: how a database is told of many at once, and asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from infonn.contracts.storage import Answered
from infonn.queries import question_key
from infonn.records import Answer, Item, ItemFile, Question
from infonn.storage import rows
from infonn.storage.schema import answers, files, items, questions, studies
from infonn.storage.sql_leasing import SqlLeasing

_STUDY: sa.BindParameter[int] = sa.bindparam("study")
_ADD_ANSWER = sa.insert(answers)
_COUNT_ANSWERS = (
    sa.update(studies)
    .where(studies.c.id == _STUDY)
    .values(n_answers=studies.c.n_answers + sa.bindparam("new"))
    .returning(studies.c.n_answers)
)


@dataclass(frozen=True)
class Exchange:
    """An answer of one person, and the questions that go out for it."""

    leasing: SqlLeasing
    answer: Answer  # number 0 until it is in the table
    leased: list[Question] = field(default_factory=list)


def insert_answers(connection: Connection, exchanges: list[Exchange]) -> list[Exchange]:
    """Number the new answers and put them into the table.

    A study's counter is the row that all its answers meet at: touched last, once for all of them, and held only for
    the commit.
    """
    new: dict[int, list[Exchange]] = {}
    for exchange in exchanges:
        if not exchange.answer.number:
            new.setdefault(exchange.leasing.study_id, []).append(exchange)
    numbered: dict[int, Exchange] = {}
    for study_id in sorted(new):  # in one order everywhere, so that no two writers wait for one another
        counted = {"study": study_id, "new": len(new[study_id])}
        first = connection.execute(_COUNT_ANSWERS, counted).scalar_one() - len(new[study_id]) + 1
        for number, exchange in enumerate(new[study_id], start=first):
            numbered[id(exchange)] = replace(exchange, answer=replace(exchange.answer, number=number))
    values = []
    for exchange in numbered.values():
        assert exchange.leasing.answered is not None
        values.append(answer_values(exchange.leasing.study_id, exchange.answer, exchange.leasing.answered))
    if values:
        connection.execute(_ADD_ANSWER, values)
    return [numbered.get(id(exchange), exchange) for exchange in exchanges]


def insert_items(connection: Connection, study_id: int, kept: Sequence[Item], attached: Sequence[ItemFile]) -> None:
    values = [{"study_id": study_id, "position": i, **item.to_json()} for i, item in enumerate(kept)]
    if values:
        connection.execute(sa.insert(items), values)
    for file in attached:
        connection.execute(
            sa.insert(files).values(study_id=study_id, path=file.path, content_type=file.content_type, data=file.data)
        )


def insert_questions(connection: Connection, packed: list[dict[str, Any]]) -> None:
    """Hundreds of rows a second come this way, and on SQLite everybody waits for them: straight to the driver."""
    if packed:
        text, names = _insert_text(connection.dialect, tuple(packed[0]))
        connection.exec_driver_sql(text, packed if names is None else [tuple(row[n] for n in names) for row in packed])


@lru_cache
def _insert_text(dialect: sa.Dialect, columns: tuple[str, ...]) -> tuple[str, list[str] | None]:
    """The statement in the database's own words, and the order of its values where they go by place.

    Two scripts that know the same answers choose the same questions under the same ids: each is kept once.
    """
    insert: Any = sqlite.insert(questions) if dialect.name == "sqlite" else postgresql.insert(questions)
    compiled = insert.on_conflict_do_nothing().compile(dialect=dialect, column_keys=list(columns))
    return str(compiled), compiled.positiontup if dialect.positional else None


def withdraw_open(connection: Connection, study_id: int, last: int) -> None:
    """Take train questions up to number `last` off the queue; those handed out before stay: a late answer may come."""
    where = (questions.c.study_id == study_id) & (questions.c.state == "open") & (questions.c.purpose == "train")
    where &= questions.c.copy_of.is_(None) & (questions.c.number <= last)
    asked = questions.c.asked_at.is_not(None)
    connection.execute(sa.update(questions).where(where & asked).values(state="withdrawn"))
    connection.execute(sa.delete(questions).where(where & ~asked))


def answer_values(study_id: int, answer: Answer, question: Question) -> dict[str, Any]:
    key = question_key(question.query, question.kind)
    return {**answer.to_json(), "study_id": study_id, "purpose": question.purpose, "query_key": key}


def answered_where(connection: Connection, study: str, where: sa.ColumnElement[bool]) -> list[Answered]:
    labelled = [column.label(f"answer_{column.name}") for column in answers.c]
    both = answers.join(
        questions, (answers.c.study_id == questions.c.study_id) & (answers.c.question_id == questions.c.id)
    )
    found = sa.select(*questions.c, *labelled).select_from(both).where(where).order_by(answers.c.number)
    return [Answered(rows.question(row, study), rows.answer(row, "answer_")) for row in connection.execute(found)]


def count_change(connection: Connection, study_id: int) -> None:
    connection.execute(sa.update(studies).where(studies.c.id == study_id).values(n_changes=studies.c.n_changes + 1))
