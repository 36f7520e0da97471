"""Database files of every released schema open after an upgrade; others are explained."""

import shutil
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from infonn.errors import StorageError
from infonn.specs.build import open_storage
from infonn.storage import schema
from infonn.storage.database import Database
from infonn.storage.upgrade import migrate, upgrade

FILES = Path(__file__).parent / "files"


def differences(database: Database) -> list:
    with database.read() as connection:
        return compare_metadata(MigrationContext.configure(connection), schema.metadata)


def make(url: str) -> None:
    database = Database(url)
    database.create()
    database.close()


def test_a_new_database_has_the_tables_of_the_schema(database_url) -> None:
    database = Database(database_url)
    database.create()
    assert database.version() == schema.HEAD
    assert differences(database) == []
    database.close()


def test_the_migrations_lead_to_the_tables_of_the_schema(database_url) -> None:
    database = Database(database_url, check_version=False)
    with database.write_as_is() as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    migrate(database)
    assert database.version() == schema.HEAD
    assert differences(database) == []
    database.close()


@pytest.mark.parametrize("kept", sorted(FILES.glob("*.sqlite")), ids=lambda path: path.stem)
def test_a_kept_file_of_each_released_schema_is_upgraded(kept, tmp_path) -> None:
    path = tmp_path / "old.db"
    shutil.copy(kept, path)
    before, after = upgrade(f"sqlite:///{path}")
    assert (before, after) == (kept.stem.removeprefix("schema_"), schema.HEAD)
    storage = open_storage(f"sqlite:///{path}")
    assert differences(storage.database) == []
    assert [record.name for record in storage.studies()] == ["dishes"]
    answered = storage.answers("dishes", None)
    assert len(answered) == 12
    assert {pair.answer.outcome for pair in answered} == {"answered", "skipped"}
    assert storage.counts("dishes").undone == 1
    assert len(storage.items("dishes")) == 8
    storage.take("dishes", "somebody new", 1, 60)


def test_there_is_a_kept_file_of_the_present_schema() -> None:
    assert (FILES / f"schema_{schema.HEAD}.sqlite").exists()


def set_version(path: Path, version: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = ?", (version,))
    connection.commit()
    connection.close()


def test_an_older_database_names_the_command_that_upgrades_it(tmp_path) -> None:
    url = f"sqlite:///{tmp_path}/old.db"
    make(url)
    set_version(tmp_path / "old.db", "0000")
    with pytest.raises(StorageError, match=r"Make a backup, then run: infonn storage upgrade sqlite:///.*old\.db"):
        open_storage(url)


def test_a_newer_database_is_left_alone(tmp_path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    make(url)
    set_version(tmp_path / "new.db", "9999")
    for call in (open_storage, upgrade):
        with pytest.raises(StorageError, match="written by a newer infonn"):
            call(url)


def test_upgrading_an_empty_database_makes_the_tables(database_url) -> None:
    assert upgrade(database_url) == (None, schema.HEAD)
    assert open_storage(database_url).studies() == []


def test_a_file_that_is_no_database_is_explained(tmp_path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("these are my notes, and no database at all" * 100)
    with pytest.raises(StorageError, match="is damaged or no database"):
        open_storage(f"sqlite:///{path}")
