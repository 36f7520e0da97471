"""The tables. A change here needs a migration in `migrations/versions/` and a new `HEAD`."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

HEAD = "0003"  # the migration these tables stand for

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _study() -> Column[int]:
    key = ForeignKey("studies.id", ondelete="CASCADE")
    return Column("study_id", Integer, key, primary_key=True, autoincrement=False)


settings = Table(
    "settings",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("key", Text, nullable=False, unique=True),
    Column("spec", JSON, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("archived", Boolean, nullable=False, default=False),
    Column("n_answers", Integer, nullable=False, default=0),  # number of the last answer kept
    Column("n_changes", Integer, nullable=False, default=0),  # undone, excluded, imported, deleted
    Column("retention_days", Double, nullable=False, server_default=text("0")),
    Column("paused", Boolean, nullable=False, server_default=text("false")),
)

items = Table(
    "items",
    metadata,
    _study(),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("text", Text),
    Column("image", Text),
    Column("audio", Text),
)

files = Table(
    "files",
    metadata,
    _study(),
    Column("path", Text, primary_key=True),
    Column("content_type", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

questions = Table(
    "questions",
    metadata,
    Column("number", Integer, primary_key=True),  # place in the queue
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("id", Text, nullable=False),
    Column("query", JSON, nullable=False),
    Column("query_key", Text, nullable=False),  # equal where two questions ask the same
    Column("names", JSON, nullable=False),
    Column("options", JSON, nullable=False),
    Column("shown", JSON, nullable=False),
    Column("kind", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("expected", Integer),
    Column("strategy_asked", Text, nullable=False),
    Column("strategy_used", Text, nullable=False),
    Column("model_version", Integer, nullable=False),
    Column("score", Double),
    Column("unseen_answers", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("copy_of", Text),
    Column("condition", Text, nullable=False, server_default=text("''")),
    Column("state", Text, nullable=False),  # open, leased, answered, withdrawn
    Column("respondent", Text, nullable=False),  # who holds it, or held it last
    Column("asked_at", Double),
    Column("lease_until", Double),
    UniqueConstraint("study_id", "id"),
    Index("ix_questions_queue", "study_id", "state", "purpose", "number"),
    Index("ix_questions_respondent", "study_id", "respondent", "state"),
    sqlite_autoincrement=True,
)

leases = Table(
    "leases",  # every handing-out, so that a late answer can be told from a forged one
    metadata,
    _study(),
    Column("question_id", Text, primary_key=True),
    Column("respondent", Text, primary_key=True),
    Column("asked_at", Double, nullable=False),
    Column("until", Double, nullable=False),
    ForeignKeyConstraint(["study_id", "question_id"], ["questions.study_id", "questions.id"], ondelete="CASCADE"),
)

answers = Table(
    "answers",
    metadata,
    _study(),
    Column("number", Integer, primary_key=True, autoincrement=False),  # order of arrival within the study
    Column("id", Text, nullable=False),  # given by the client
    Column("question_id", Text, nullable=False),
    Column("respondent", Text, nullable=False),
    Column("response", Integer),
    Column("outcome", Text, nullable=False),
    Column("response_time_s", Double),
    Column("received_at", Double, nullable=False),
    Column("late", Boolean, nullable=False),
    Column("undone", Boolean, nullable=False),
    Column("context", JSON, nullable=False),
    Column("purpose", Text, nullable=False),  # of the question
    Column("query_key", Text, nullable=False),  # of the question
    ForeignKeyConstraint(["study_id", "question_id"], ["questions.study_id", "questions.id"], ondelete="CASCADE"),
    UniqueConstraint("study_id", "id"),
    Index("ix_answers_question", "study_id", "question_id"),  # dropping a question looks for its answers
    Index("ix_answers_respondent", "study_id", "respondent", "query_key"),
    Index(
        "ix_answers_once",  # nobody answers one question twice
        "study_id",
        "question_id",
        "respondent",
        unique=True,
        sqlite_where=text("NOT undone"),
        postgresql_where=text("NOT undone"),
    ),
)

respondents = Table(
    "respondents",
    metadata,
    _study(),
    Column("name", Text, primary_key=True),
    Column("joined_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("excluded", Boolean, nullable=False),
    Column("n_done", Integer, nullable=False),  # answers in force, practice aside
    Column("n_practice", Integer, nullable=False),  # practice questions handed out
    Column("n_catch", Integer, nullable=False),  # catch questions handed out
    Column("consent_version", Integer),
    Column("consented_at", Double),
    Column("n_repeats", Integer, nullable=False, server_default=text("0")),  # questions asked again, handed out
    Column("n_wrong", Integer, nullable=False, server_default=text("0")),  # catch questions answered wrong
    Column("condition", Text, nullable=False, server_default=text("''")),
    Column("about", JSON, nullable=False, server_default=text("'{}'")),  # what they said about themselves
)

consents = Table(
    "consents",  # texts that people agreed to
    metadata,
    _study(),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
)

deletions = Table(
    "deletions",  # that somebody's data were deleted, and not whose
    metadata,
    Column("number", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("at", Double, nullable=False),
    Column("answers", Integer, nullable=False),
)

respondent_details = Table(
    "respondent_details",  # who the people are: to be purged without touching an answer
    metadata,
    _study(),
    Column("respondent", Text, primary_key=True),
    Column("outside_id", Text),
    Column("details", JSON, nullable=False),
    UniqueConstraint("study_id", "outside_id"),
)

rounds = Table(
    "rounds",
    metadata,
    _study(),
    Column("index", Integer, primary_key=True, autoincrement=False),
    Column("n_answers", Integer, nullable=False),
    Column("measures", JSON, nullable=False),
    Column("seconds", Double, nullable=False),
)

models = Table(
    "models",
    metadata,
    _study(),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)

claims = Table(
    "claims",
    metadata,
    _study(),
    Column("worker", Text, nullable=False),
    Column("until", Double, nullable=False),
)

notes = Table(
    "notes",
    metadata,
    _study(),
    Column("key", Text, primary_key=True),
    Column("value", JSON, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("sha256", Text, nullable=False, unique=True),
    Column("person", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE")),  # none: good for the whole server
    Column("made_at", Double, nullable=False),
    Column("revoked_at", Double),
)

acts = Table(
    "acts",  # the audit log; it names studies, so that it outlives them
    metadata,
    Column("number", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("study", Text),
    Column("details", JSON, nullable=False),
    sqlite_autoincrement=True,
)
