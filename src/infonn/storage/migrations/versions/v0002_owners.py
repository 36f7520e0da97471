"""Tokens by person, an audit log, consent, deletions and retention; a column of questions that was never set goes."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    # Plain ALTERs: to write a table anew, SQLite would drop the old one, and with it whatever refers to its rows.
    op.drop_column("questions", "round")
    op.add_column("studies", sa.Column("retention_days", sa.Double(), nullable=False, server_default=sa.text("0")))
    op.add_column("respondents", sa.Column("consent_version", sa.Integer(), nullable=True))
    op.add_column("respondents", sa.Column("consented_at", sa.Double(), nullable=True))
    op.create_table(
        "consents",
        sa.Column("study_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_consents_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "version", name=op.f("pk_consents")),
    )
    op.create_table(
        "deletions",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_deletions_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_deletions")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=True),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_tokens_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("sha256", name=op.f("uq_tokens_sha256")),
    )
    op.create_table(
        "acts",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("study", sa.Text(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_acts")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    for table in ("acts", "tokens", "deletions", "consents"):
        op.drop_table(table)
    op.drop_column("respondents", "consented_at")
    op.drop_column("respondents", "consent_version")
    op.drop_column("studies", "retention_days")
    op.add_column("questions", sa.Column("round", sa.Integer(), nullable=False, server_default=sa.text("0")))
