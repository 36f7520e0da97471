"""Bring a database to the tables this version uses."""

from __future__ import annotations

from pathlib import Path

from infonn.errors import StorageError
from infonn.storage import schema
from infonn.storage.database import Database, check_file, shown_url

_MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(url: str) -> tuple[str | None, str]:
    """Run the migrations that are missing; the versions before and after."""
    database = Database(url, check_version=False)
    if database.is_sqlite:
        check_file(Path(str(database.url.database)))
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


def migrate(database: Database, version: str = schema.HEAD) -> None:
    """Run Alembic on a database we hold open, up or down to a version, in one transaction."""
    from alembic import command
    from alembic.config import Config
    from alembic.migration import MigrationContext

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    with database.write_as_is() as connection:
        config.attributes["connection"] = connection
        present = MigrationContext.configure(connection).get_current_revision() or ""
        (command.upgrade if present < version else command.downgrade)(config, version)
