"""Backups are whole, private and hold no secret; a restore leaves the old database or the new one."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from infonn.contracts.storage import Serving
from infonn.errors import StorageError
from infonn.records import Answer, Item, Option, Question, StudyRecord
from infonn.specs.build import open_storage
from infonn.storage.backups import backup, restore
from infonn.storage.database import Database

WRITER = """
import os, sys, time
from infonn.records import Item, StudyRecord
from infonn.storage.sql import SqlStorage
storage = SqlStorage(sys.argv[1])
for name in sys.argv[2:]:
    storage.create_study(StudyRecord(name, {}), [Item("a" * 3000 + str(i)) for i in range(50)])
print("ready", flush=True)
time.sleep(60)
"""


def make(url: str) -> None:
    database = Database(url)
    database.create()
    database.close()


def writer(url: str, *names: str) -> subprocess.Popen:
    """Another process that stores studies and goes on having the database open."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, url, *names], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def names(url: str) -> list[str]:
    storage = open_storage(url)
    found = [record.name for record in storage.studies()]
    storage.close()
    return found


def test_point_1_a_restore_after_a_crash_is_whole(tmp_path) -> None:
    """The journal that the crash left behind belongs to the database that is replaced."""
    url, copy = f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db"
    kill(writer(url, "one"))
    backup(url, copy)
    kill(writer(url, "two", "three"))
    assert (tmp_path / "study.db-wal").stat().st_size > 0
    replaced = restore(url, copy)
    assert not (tmp_path / "study.db-wal").exists()
    assert names(url) == ["one"]
    assert names(f"sqlite:///{replaced}") == ["one", "two", "three"]  # nothing is thrown away
    kill(writer(url, "four"))
    assert names(url) == ["one", "four"]


def test_point_1_a_journal_without_its_database_does_not_meet_the_copy(tmp_path) -> None:
    url, copy = f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db"
    kill(writer(url, "one"))
    backup(url, copy)
    kill(writer(url, "two"))
    os.remove(tmp_path / "study.db")
    assert restore(url, copy) is None
    assert names(url) == ["one"]


def test_point_1_a_database_in_use_is_not_replaced(tmp_path) -> None:
    url, copy = f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db"
    process = writer(url, "one")
    backup(url, copy)
    with pytest.raises(StorageError, match=r"study\.db is in use. Stop the server"):
        restore(url, copy)
    kill(process)
    restore(url, copy)
    assert names(url) == ["one"]


def test_point_1_a_server_that_starts_during_a_restore_keeps_its_database(tmp_path, monkeypatch) -> None:
    """What it acknowledges meanwhile must not go into a database that nobody opens again."""
    url, copy, processes, replace = f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db", [], os.replace
    kill(writer(url, "one"))
    backup(url, copy)
    kill(writer(url, "two"))

    def start_then_replace(*given) -> None:
        if not processes:
            processes.append(writer(url, "acknowledged"))
        replace(*given)

    monkeypatch.setattr(os, "replace", start_then_replace)
    with pytest.raises(StorageError, match=r"study\.db is in use. Stop the server"):
        restore(url, copy)
    assert names(url) == ["one", "two", "acknowledged"]
    kill(processes[0])
    assert names(url) == ["one", "two", "acknowledged"]
    assert not list(tmp_path.glob("*.replaced-*"))
    restore(url, copy)
    assert names(url) == ["one"]


def test_point_1_a_link_to_a_database_stays_one(tmp_path) -> None:
    """The journal lies beside the database, not beside the link."""
    (tmp_path / "disk").mkdir()
    link, copy = tmp_path / "study.db", tmp_path / "copy.db"
    link.symlink_to(tmp_path / "disk" / "study.db")
    url = f"sqlite:///{link}"
    kill(writer(url, "one"))
    backup(url, copy)
    kill(writer(url, "two"))
    restore(url, copy)
    assert link.is_symlink()
    assert names(url) == names(f"sqlite:///{tmp_path}/disk/study.db") == ["one"]


def damage(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(5 * 4096)
        file.write(bytes(4 * 4096))


def test_point_1_a_damaged_database_is_refused_and_replaced(tmp_path) -> None:
    url, copy = f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db"
    kill(writer(url, "one", "two"))
    backup(url, copy)
    restore(url, copy)
    damage(tmp_path / "study.db")
    with pytest.raises(StorageError, match=r"is damaged .* infonn storage restore BACKUP"):
        open_storage(url)
    restore(url, copy)
    assert names(url) == ["one", "two"]


def test_point_1_what_is_no_whole_backup_changes_nothing(tmp_path) -> None:
    url, copy = f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db"
    kill(writer(url, "one"))
    backup(url, copy)
    damaged, foreign, newer, text = (tmp_path / name for name in ("damaged.db", "foreign.db", "newer.db", "notes.txt"))
    for file in (damaged, newer):
        shutil.copy(copy, file)
    damage(damaged)
    for file, command in ((foreign, "CREATE TABLE mine (x)"), (newer, "UPDATE alembic_version SET version_num = '9'")):
        connection = sqlite3.connect(file)
        connection.execute(command)
        connection.commit()
        connection.close()
    text.write_text("notes" * 1000)
    for file, reason in (
        (damaged, "is damaged"),
        (foreign, "another program"),
        (newer, "newer infonn"),
        (text, "no database"),
        (tmp_path / "none.db", "There is no backup"),
    ):
        with pytest.raises(StorageError, match=reason):
            restore(url, file)
    assert names(url) == ["one"]
    assert not list(tmp_path.glob("*.replaced-*"))


def test_point_4_databases_and_backups_are_private(tmp_path) -> None:
    old = os.umask(0o022)
    try:
        url = f"sqlite:///{tmp_path}/study.db"
        process = writer(url, "one")
        backup(url, tmp_path / "copy.db")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        kill(process)
        assert modes.keys() >= {"study.db", "study.db-wal", "study.db-shm", "copy.db"}
        assert set(modes.values()) == {0o600}
        (tmp_path / "study.db").chmod(0o644)  # as an earlier version left it
        open_storage(url).close()
        assert stat.S_IMODE((tmp_path / "study.db").stat().st_mode) == 0o600
    finally:
        os.umask(old)


def test_point_4_a_backup_holds_no_secret_and_hashed_tokens_survive(tmp_path) -> None:
    url, copy = f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db"
    storage = open_storage(url)
    storage.setting("session_secret", "this-is-the-secret-of-an-earlier-version")
    storage.setting("owner_token_sha256", "a hash")
    storage.close()
    backup(url, copy)
    assert b"this-is-the-secret" not in copy.read_bytes()
    restore(url, copy)
    assert open_storage(url).setting("owner_token_sha256") == "a hash"


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
    restore(url, dump)
    restored = open_storage(url)
    assert restored.study("s").spec == {"a": [1, "ü"]}
    assert restored.answers("s") == before
    np.testing.assert_array_equal(restored.features("s"), np.eye(2))
    restored.add_questions("s", [Question("more", "s", (1, 0), ("b", "a"), (Option("a", 0),), (0,))])  # counters go on
    restored.close()
    with pytest.raises(StorageError, match="holds studies already"):
        restore(url, dump)


def test_a_password_is_not_among_the_words_of_a_command(tmp_path, monkeypatch) -> None:
    seen = {}

    def run(words, env, **_):
        seen.update(words=words, password=env["PGPASSWORD"])
        return subprocess.CompletedProcess(words, 1, "", "no such server")

    monkeypatch.setattr("infonn.storage.backups.subprocess.run", run)
    monkeypatch.setattr("infonn.storage.backups.shutil.which", lambda name: name)
    with pytest.raises(StorageError, match="pg_dump failed: no such server"):
        backup("postgresql+psycopg://anna:secret@localhost/x", tmp_path / "x.dump")
    assert seen["password"] == "secret"
    assert not any("secret" in word for word in seen["words"])
