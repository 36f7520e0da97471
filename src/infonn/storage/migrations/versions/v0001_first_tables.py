"""The tables of infonn 0.1."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "settings",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_settings")),
    )
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("archived", sa.Boolean(), nullable=False),
        sa.Column("n_answers", sa.Integer(), nullable=False),
        sa.Column("n_changes", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
        sa.UniqueConstraint("key", name=op.f("uq_studies_key")),
        sa.UniqueConstraint("name", name=op.f("uq_studies_name")),
    )
    op.create_table(
        "claims",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_claims_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", name=op.f("pk_claims")),
    )
    op.create_table(
        "files",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("content_type", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_files_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "path", name=op.f("pk_files")),
    )
    op.create_table(
        "items",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("audio", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_items_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "position", name=op.f("pk_items")),
    )
    op.create_table(
        "models",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_models_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "version", name=op.f("pk_models")),
    )
    op.create_table(
        "notes",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_notes_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "key", name=op.f("pk_notes")),
    )
    op.create_table(
        "questions",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("query", sa.JSON(), nullable=False),
        sa.Column("query_key", sa.Text(), nullable=False),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("expected", sa.Integer(), nullable=True),
        sa.Column("strategy_asked", sa.Text(), nullable=False),
        sa.Column("strategy_used", sa.Text(), nullable=False),
        sa.Column("model_version", sa.Integer(), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("unseen_answers", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("copy_of", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("respondent", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.Double(), nullable=True),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_questions_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_questions")),
        sa.UniqueConstraint("study_id", "id", name=op.f("uq_questions_study_id_id")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("questions", schema=None) as batch_op:
        batch_op.create_index("ix_questions_queue", ["study_id", "state", "purpose", "number"], unique=False)
        batch_op.create_index("ix_questions_respondent", ["study_id", "respondent", "state"], unique=False)

    op.create_table(
        "respondent_details",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("respondent", sa.Text(), nullable=False),
        sa.Column("outside_id", sa.Text(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["studies.id"], name=op.f("fk_respondent_details_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("study_id", "respondent", name=op.f("pk_respondent_details")),
        sa.UniqueConstraint("study_id", "outside_id", name=op.f("uq_respondent_details_study_id_outside_id")),
    )
    op.create_table(
        "respondents",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("joined_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("excluded", sa.Boolean(), nullable=False),
        sa.Column("n_done", sa.Integer(), nullable=False),
        sa.Column("n_practice", sa.Integer(), nullable=False),
        sa.Column("n_catch", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_respondents_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "name", name=op.f("pk_respondents")),
    )
    op.create_table(
        "rounds",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n_answers", sa.Integer(), nullable=False),
        sa.Column("measures", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_rounds_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "index", name=op.f("pk_rounds")),
    )
    op.create_table(
        "answers",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("question_id", sa.Text(), nullable=False),
        sa.Column("respondent", sa.Text(), nullable=False),
        sa.Column("response", sa.Integer(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("response_time_s", sa.Double(), nullable=True),
        sa.Column("received_at", sa.Double(), nullable=False),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.Column("undone", sa.Boolean(), nullable=False),
        sa.Column("context", sa.JSON(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("query_key", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id", "question_id"],
            ["questions.study_id", "questions.id"],
            name=op.f("fk_answers_study_id_question_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_answers_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "number", name=op.f("pk_answers")),
        sa.UniqueConstraint("study_id", "id", name=op.f("uq_answers_study_id_id")),
    )
    with op.batch_alter_table("answers", schema=None) as batch_op:
        batch_op.create_index(
            "ix_answers_once",
            ["study_id", "question_id", "respondent"],
            unique=True,
            sqlite_where=sa.text("NOT undone"),
            postgresql_where=sa.text("NOT undone"),
        )
        batch_op.create_index("ix_answers_question", ["study_id", "question_id"], unique=False)
        batch_op.create_index("ix_answers_respondent", ["study_id", "respondent", "query_key"], unique=False)

    op.create_table(
        "leases",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("question_id", sa.Text(), nullable=False),
        sa.Column("respondent", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id", "question_id"],
            ["questions.study_id", "questions.id"],
            name=op.f("fk_leases_study_id_question_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_leases_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "question_id", "respondent", name=op.f("pk_leases")),
    )
