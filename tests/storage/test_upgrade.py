"""Database files of every released schema open after an upgrade; others are explained."""

import json
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from infonn.errors import StorageError, StudyError
from infonn.records import Item, StudyRecord
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


def test_a_landed_database_goes_there_and_back_with_every_answer(database_url, tmp_path) -> None:
    """The tables of schema 0001 with its rows, on each kind of database: up, down, and up again."""
    kept = sqlite3.connect(FILES / "schema_0001.sqlite")
    kept.row_factory = sqlite3.Row
    database = Database(database_url, check_version=False)
    with database.write_as_is() as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    migrate(database, "0001")
    with database.write_as_is() as connection:
        old = sa.MetaData()
        old.reflect(connection)
        for table in old.sorted_tables:
            if table.name != "alembic_version":
                found = [typed(table, row) for row in kept.execute(f'SELECT * FROM "{table.name}"')]
                if found:
                    connection.execute(sa.insert(table), found)
    kept.close()
    counts = []
    for version in ("0002", schema.HEAD, "0002", "0001", schema.HEAD):
        migrate(database, version)
        assert database.version() == version
        with database.write_as_is() as connection:
            counted = {name: f'SELECT count(*) FROM "{name}"' for name in ("answers", "questions", "leases", "studies")}
            counts.append({name: connection.scalar(sa.text(command)) for name, command in counted.items()})
    assert all(counted == counts[0] for counted in counts)
    assert counts[0]["answers"] == 13
    assert differences(database) == []
    database.close()
    assert len(open_storage(database_url).answers("dishes", None)) == 12


def typed(table: sa.Table, row: sqlite3.Row) -> dict:
    """A row of SQLite as the columns of another database take it."""
    values = {}
    for column in table.columns:
        value = row[column.name]
        if isinstance(column.type, sa.JSON) and value is not None:
            value = json.loads(value)
        elif isinstance(column.type, sa.Boolean):
            value = bool(value)
        values[column.name] = value
    return values


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


@pytest.mark.parametrize(
    "made_by",
    [
        "CREATE TABLE photos (name); CREATE TABLE alembic_version (version_num)",
        "CREATE VIEW photos AS SELECT 1",
        "PRAGMA application_id = 252006673",
    ],
)
def test_low_a_database_of_another_program_never_gets_our_tables(tmp_path, made_by) -> None:
    path = tmp_path / "photos.db"
    foreign = sqlite3.connect(path)
    foreign.executescript(made_by)
    foreign.commit()
    foreign.close()
    path.chmod(0o644)
    before = path.read_bytes()
    for call in (open_storage, upgrade):
        with pytest.raises(StorageError, match=r"photos\.db is a database of another program"):
            call(f"sqlite:///{path}")
    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_low_reading_a_storage_that_is_not_there_makes_no_file(tmp_path) -> None:
    storage = open_storage(f"sqlite:///{tmp_path}/mistyped/folder/study.db")
    assert storage.studies() == []
    with pytest.raises(StudyError, match='There is no study "s". Known studies: none.'):
        storage.answers("s")
    assert list(tmp_path.iterdir()) == []
    storage.create_study(StudyRecord("s", {}), [Item("a"), Item("b")])
    assert [record.name for record in storage.studies()] == ["s"]
