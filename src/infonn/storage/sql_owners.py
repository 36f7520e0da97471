"""What owners do in a database: tokens, the audit log, deletion for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from infonn.errors import UnknownNameError
from infonn.records import Act, Token
from infonn.storage import rows
from infonn.storage.leasing import PERSONAL
from infonn.storage.plain import check_json, check_text
from infonn.storage.schema import (
    acts,
    answers,
    deletions,
    leases,
    models,
    questions,
    respondent_details,
    respondents,
    studies,
    tokens,
)

_TOKENS: sa.Select[Any] = sa.select(*tokens.c, studies.c.name.label("study")).select_from(tokens.outerjoin(studies))


# --- tokens ----------------------------------------------------------------------------------------


def insert_token(connection: Connection, token: Token, sha256: str, study_id: int | None) -> bool:
    """Whether the token is new; one whose id is taken is left as it is."""
    check_text(token.person, "A token's person")
    insert: Any = sqlite.insert(tokens) if connection.dialect.name == "sqlite" else postgresql.insert(tokens)
    values = {name: getattr(token, name) for name in ("id", "person", "role", "made_at", "revoked_at")}
    added = insert.values(**values, sha256=sha256, study_id=study_id).on_conflict_do_nothing()
    return connection.execute(added.returning(tokens.c.id)).first() is not None


def token_where(connection: Connection, where: sa.ColumnElement[bool]) -> Token | None:
    row = connection.execute(_TOKENS.where(where)).first()
    return None if row is None else rows.token(row)


def all_tokens(connection: Connection) -> list[Token]:
    return [rows.token(row) for row in connection.execute(_TOKENS.order_by(tokens.c.made_at, tokens.c.id))]


def revoke(connection: Connection, token_id: str, now: float) -> Token:
    in_force = (tokens.c.id == token_id) & tokens.c.revoked_at.is_(None)
    connection.execute(sa.update(tokens).where(in_force).values(revoked_at=now))
    token = token_where(connection, tokens.c.id == token_id)
    if token is None:
        raise UnknownNameError(f'There is no token "{token_id}".')
    return token


# --- the audit log ---------------------------------------------------------------------------------


def insert_act(
    connection: Connection, at: float, who: str, what: str, study: str | None, details: Mapping[str, Any]
) -> None:
    check_json([who, what, study or "", details], "An act")
    connection.execute(sa.insert(acts).values(at=at, who=who, what=what, study=study, details=dict(details)))


def acts_after(connection: Connection, study: str | None, after: int, limit: int) -> list[Act]:
    where = acts.c.number > after
    if study is not None:
        where &= acts.c.study == study
    found = sa.select(acts).where(where).order_by(acts.c.number).limit(limit)
    return [rows.act(row) for row in connection.execute(found)]


# --- deletion --------------------------------------------------------------------------------------


def delete_respondent(connection: Connection, study: str, study_id: int, respondent: str, now: float) -> int:
    """Delete a person and everything that came of them; the number of answers."""
    person = (respondents.c.study_id == study_id) & (respondents.c.name == respondent)
    if connection.execute(sa.select(respondents).where(person).with_for_update()).first() is None:
        raise UnknownNameError(f'"{respondent}" has not taken part in study "{study}".')
    n_answers = connection.execute(
        sa.delete(answers).where((answers.c.study_id == study_id) & (answers.c.respondent == respondent))
    ).rowcount
    _disown(connection, study_id, respondent)
    for table, name in (
        (leases, leases.c.respondent),
        (respondent_details, respondent_details.c.respondent),
        (respondents, respondents.c.name),
    ):
        connection.execute(sa.delete(table).where((table.c.study_id == study_id) & (name == respondent)))
    connection.execute(sa.delete(models).where(models.c.study_id == study_id))
    connection.execute(sa.insert(deletions).values(study_id=study_id, at=now, answers=n_answers))
    return n_answers


def _disown(connection: Connection, study_id: int, respondent: str) -> None:
    """Questions of a person who is deleted: their own go as well, those they held are free, others stay on record."""
    theirs = (questions.c.study_id == study_id) & (questions.c.respondent == respondent)
    connection.execute(sa.delete(questions).where(theirs & questions.c.purpose.in_(PERSONAL)))
    answered = sa.exists().where((answers.c.study_id == study_id) & (answers.c.question_id == questions.c.id))
    state = sa.case(
        (questions.c.state == "leased", "open"),
        ((questions.c.state == "answered") & ~answered, "withdrawn"),
        else_=questions.c.state,
    )
    connection.execute(sa.update(questions).where(theirs).values(respondent="", state=state))
