"""Bring a database to the tables this version uses."""

from __future__ import annotations

from pathlib import Path

from infonn.errors import StorageError
from infonn.storage import schema
from infonn.storage.database import Database, shown_url

_MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(url: str) -> tuple[str | None, str]:
    """Run the migrations that are missing; the versions before and after."""
    database = Database(url, check_version=False)
    try:
        before = database.version()
        if before is None:
            database.create()
            return None, schema.HEAD
        if before > schema.HEAD:
            raise StorageError(
                f"{shown_url(database.url)} was written by a newer infonn (schema {before}; this one knows "
                f"{schema.HEAD}). Install that version to open it."
            )
        migrate(database)
        return before, schema.HEAD
    finally:
        database.close()


def migrate(database: Database) -> None:
    """Run Alembic on a database we hold open, in one transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    with database.write_as_is() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
