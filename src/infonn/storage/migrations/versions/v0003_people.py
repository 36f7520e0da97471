"""Studies that pause, conditions, what people say about themselves, questions asked again, wrong catch answers."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_NEW: list[tuple[str, str, type, str]] = [
    ("studies", "paused", sa.Boolean, "false"),
    ("questions", "condition", sa.Text, "''"),
    ("respondents", "n_repeats", sa.Integer, "0"),
    ("respondents", "n_wrong", sa.Integer, "0"),
    ("respondents", "condition", sa.Text, "''"),
    ("respondents", "about", sa.JSON, "'{}'"),
]


def upgrade() -> None:
    for table, name, kind, default in _NEW:
        op.add_column(table, sa.Column(name, kind(), nullable=False, server_default=sa.text(default)))


def downgrade() -> None:
    for table, name, _, _ in _NEW:
        op.drop_column(table, name)
