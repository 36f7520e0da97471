"""Database files of every released schema open after an upgrade; others are explained."""

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from infonn.contracts.storage import Serving
from infonn.errors import StorageError
from infonn.records import Answer, Item, Option, Question, StudyRecord
from infonn.specs.build import open_storage
from infonn.storage import schema
from infonn.storage.database import Database
from infonn.storage.upgrade import backup, migrate, upgrade

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


def test_a_backup_is_a_whole_copy_and_overwrites_nothing(tmp_path) -> None:
    storage = open_storage(f"sqlite:///{tmp_path}/study.db")
    storage.create_study(StudyRecord("s", {}), [Item("a"), Item("b")])
    backup(f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db")
    assert [item.name for item in open_storage(f"sqlite:///{tmp_path}/copy.db").items("s")] == ["a", "b"]
    with pytest.raises(StorageError, match="is there already"):
        backup(f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db")


def test_a_backup_needs_a_database_and_a_folder(tmp_path) -> None:
    with pytest.raises(StorageError, match=r"There is no database .*study\.db to back up"):
        backup(f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db")
    make(f"sqlite:///{tmp_path}/study.db")
    with pytest.raises(StorageError, match="There is no folder"):
        backup(f"sqlite:///{tmp_path}/study.db", tmp_path / "none" / "copy.db")
    assert [file.name for file in tmp_path.iterdir()] == ["study.db"]


def test_a_backup_of_postgresql_is_restored_elsewhere(postgres_server, tmp_path, monkeypatch) -> None:

    url = postgres_server.new_database()
    storage = open_storage(url)
    storage.create_study(StudyRecord("s", {"a": [1, "ü"]}, key="k"), [Item("a"), Item("b")], np.eye(2))
    storage.add_questions("s", [Question("q", "s", (0, 1), ("a", "b"), (Option("b", 1),), (0,))])
    storage.serve("s", "anna", 1, Serving())
    storage.add_answer("s", Answer("x", "q", "anna", 0))
    schema_name = url.rpartition("%3D")[2]
    monkeypatch.setenv("PATH", os.path.dirname(postgres_server.program("pg_dump")), prepend=os.pathsep)
    dump = tmp_path / "copy.dump"
    backup(url, dump)
    with pytest.raises(StorageError, match="is there already"):
        backup(url, dump)
    before = storage.answers("s")
    with storage.database.write() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {schema_name} CASCADE")
        connection.exec_driver_sql(f"CREATE SCHEMA {schema_name}")
    storage.close()
    libpq = postgres_server.url.replace("+psycopg", "")
    subprocess.run(["pg_restore", f"--schema={schema_name}", f"--dbname={libpq}", dump], check=True)
    restored = open_storage(url)
    assert restored.study("s").spec == {"a": [1, "ü"]}
    assert restored.answers("s") == before
    np.testing.assert_array_equal(restored.features("s"), np.eye(2))
    restored.add_questions("s", [Question("more", "s", (1, 0), ("b", "a"), (Option("a", 0),), (0,))])  # counters go on
    restored.close()


def test_a_password_is_not_among_the_words_of_a_command(tmp_path, monkeypatch) -> None:
    seen = {}

    def run(words, env, **_):
        seen.update(words=words, password=env["PGPASSWORD"])
        return subprocess.CompletedProcess(words, 1, "", "no such server")

    monkeypatch.setattr("infonn.storage.upgrade.subprocess.run", run)
    monkeypatch.setattr("infonn.storage.upgrade.shutil.which", lambda name: name)
    with pytest.raises(StorageError, match="pg_dump failed: no such server"):
        backup("postgresql+psycopg://anna:secret@localhost/x", tmp_path / "x.dump")
    assert seen["password"] == "secret"
    assert not any("secret" in word for word in seen["words"])


def test_a_file_that_is_no_database_is_explained(tmp_path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("these are my notes, and no database at all" * 100)
    with pytest.raises(StorageError, match="is damaged or no database"):
        open_storage(f"sqlite:///{path}")
