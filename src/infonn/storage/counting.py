"""Where a study stands, counted in the database."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from infonn.records import Counts, Purpose
from infonn.storage.leasing import AT_WORK_S, RECENT
from infonn.storage.schema import answers, questions, respondents
from infonn.storage.sql_leasing import is_leased, is_open


def counts_of(connection: Connection, study_id: int, now: float) -> Counts:
    """The study's numbers, in a handful of aggregates."""
    of_answers, of_questions = answers.c.study_id == study_id, questions.c.study_id == study_id
    by_outcome = {
        (row.purpose, row.outcome): row.n
        for row in connection.execute(
            sa.select(answers.c.purpose, answers.c.outcome, sa.func.count().label("n"))
            .where(of_answers & in_force(study_id))
            .group_by(answers.c.purpose, answers.c.outcome)
        )
    }
    purposes = get_args(Purpose)
    queue = of_questions & (questions.c.purpose == "train") & questions.c.copy_of.is_(None)
    handed_out = of_questions & (questions.c.purpose == "train") & questions.c.asked_at.is_not(None)
    fell_back = questions.c.strategy_used != questions.c.strategy_asked
    unseen = list(
        connection.scalars(
            sa.select(questions.c.unseen_answers)
            .where(handed_out & ~fell_back & (questions.c.model_version > 0))
            .order_by(questions.c.asked_at.desc())
            .limit(RECENT)
        )
    )
    of_people = respondents.c.study_id == study_id
    return Counts(
        answered={purpose: by_outcome.get((purpose, "answered"), 0) for purpose in purposes},
        skipped=sum(by_outcome.get((purpose, "skipped"), 0) for purpose in purposes),
        cannot_tell=sum(by_outcome.get((purpose, "cannot_tell"), 0) for purpose in purposes),
        late=_count(connection, answers, of_answers & answers.c.late & in_force(study_id)),
        undone=_count(connection, answers, of_answers & answers.c.undone),
        people=_count(connection, respondents, of_people),
        people_at_work=_count(connection, respondents, of_people & (respondents.c.seen_at > now - AT_WORK_S)),
        answers_last_minute=_count(connection, answers, of_answers & (answers.c.received_at > now - 60)),
        queue=_count(connection, questions, queue & is_open(now)),
        leased=_count(connection, questions, queue & is_leased(now)),
        asked=_count(connection, questions, handed_out),
        fallback=_count(connection, questions, handed_out & fell_back),
        unseen_median=float(np.median(unseen)) if unseen else 0.0,
        unseen_p95=float(np.percentile(unseen, 95)) if unseen else 0.0,
    )


def in_force(study_id: int) -> sa.ColumnElement[bool]:
    """Answers that were not undone, of people who are not left out."""
    of_study = respondents.c.study_id == study_id
    return ~answers.c.undone & answers.c.respondent.not_in(
        sa.select(respondents.c.name).where(of_study & respondents.c.excluded)
    )


def _count(connection: Connection, table: sa.Table, where: sa.ColumnElement[Any]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(table).where(where)) or 0
