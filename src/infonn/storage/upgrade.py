"""Bring a database to the tables this version uses, and copy one while it is in use."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
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


def backup(url: str, target: Path) -> None:
    """A copy of the database as it stands, taken while people go on answering."""
    if target.exists():
        raise StorageError(f"{target} is there already. Choose another name; a backup never overwrites.")
    if not target.parent.is_dir():
        raise StorageError(f"There is no folder {target.parent} for the backup.")
    database = Database(url, check_version=False)
    try:
        if database.is_sqlite:
            _copy_sqlite(str(database.url.database), target)
        else:
            _dump_postgres(database, target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        database.close()


def _copy_sqlite(path: str, target: Path) -> None:
    if not Path(path).is_file():
        raise StorageError(f"There is no database {path} to back up.")
    source, copy = sqlite3.connect(path), sqlite3.connect(target)
    try:
        source.backup(copy)
        if copy.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise StorageError(f"The copy of {path} is damaged, and was removed. Check the disk.")
    finally:
        source.close()
        copy.close()


def _dump_postgres(database: Database, target: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise StorageError("pg_dump was not found. Install PostgreSQL's client programs, or run pg_dump elsewhere.")
    # A command's words can be seen in the list of processes, its environment cannot.
    bare = database.url.set(drivername="postgresql")._replace(password=None)
    password = {} if database.url.password is None else {"PGPASSWORD": database.url.password}
    done = subprocess.run(
        [program, "--format=custom", f"--file={target}", f"--dbname={bare.render_as_string()}"],
        env={**os.environ, **password},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StorageError(f"pg_dump failed: {done.stderr.strip().splitlines()[-1]}")
