"""Whoever reads the database or a backup cannot sign a session; servers of one storage share one secret."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from infonn.errors import StorageError
from infonn.live.secrets import new_secret, secret_file, session_secret
from infonn.storage.memory import MemoryStorage
from infonn.storage.sql import SqlStorage

GIVEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def no_secret_given(monkeypatch) -> None:
    monkeypatch.delenv("INFONN_SECRET", raising=False)


@pytest.fixture
def url(tmp_path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def test_point_4_the_secret_is_in_a_file_that_others_cannot_read(url, tmp_path) -> None:
    storage = SqlStorage(url)
    secret = session_secret(url, storage)
    storage.close()
    file = tmp_path / "study.db.secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(secret) >= 32
    assert file.read_bytes().strip() == secret
    for kept in tmp_path.glob("study.db*"):
        assert kept == file or secret not in kept.read_bytes()


def test_a_database_in_a_new_folder_gets_its_secret_there(tmp_path) -> None:
    url = f"sqlite:///{tmp_path}/new/folder/study.db"
    session_secret(url, SqlStorage(url))
    assert (tmp_path / "new" / "folder" / "study.db.secret").exists()


def test_the_secret_is_the_same_after_a_restart(url) -> None:
    assert session_secret(url, SqlStorage(url)) == session_secret(url, SqlStorage(url))


def test_point_4_a_secret_of_an_earlier_version_leaves_the_database_and_sessions_stay(url, tmp_path) -> None:
    storage = SqlStorage(url)
    storage.setting("session_secret", GIVEN)
    assert session_secret(url, storage) == GIVEN.encode()
    assert storage.setting("session_secret") is None
    storage.close()
    assert GIVEN.encode() not in (tmp_path / "study.db").read_bytes()
    assert session_secret(url, SqlStorage(url)) == GIVEN.encode()


def test_point_11_servers_that_start_at_once_on_an_empty_storage_agree(url) -> None:
    storages = [SqlStorage(url) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda storage: session_secret(url, storage), storages))) == 1
    assert len(list(secret_file(url).parent.glob("*.secret*"))) == 1


def test_point_4_a_server_with_another_secret_is_refused(database_url, monkeypatch) -> None:
    monkeypatch.setenv("INFONN_SECRET", GIVEN)
    assert session_secret(database_url, SqlStorage(database_url)) == GIVEN.encode()
    monkeypatch.setenv("INFONN_SECRET", GIVEN[::-1])
    with pytest.raises(StorageError, match="INFONN_SECRET is not the one that sessions of this storage are signed"):
        session_secret(database_url, SqlStorage(database_url))


def test_a_secret_in_the_environment_needs_no_file(url, monkeypatch) -> None:
    monkeypatch.setenv("INFONN_SECRET", GIVEN)
    assert session_secret(url, SqlStorage(url)) == GIVEN.encode()
    assert not secret_file(url).exists()


def test_a_lost_secret_is_said_and_a_new_one_is_made_on_request(url) -> None:
    first = session_secret(url, SqlStorage(url))
    os.remove(secret_file(url))
    with pytest.raises(StorageError, match=r"is missing: put back .*study\.db\.secret"):
        session_secret(url, SqlStorage(url))
    new_secret(url, SqlStorage(url))
    assert session_secret(url, SqlStorage(url)) != first


def test_a_short_secret_is_refused(url, monkeypatch) -> None:
    monkeypatch.setenv("INFONN_SECRET", "short")
    with pytest.raises(StorageError, match="The secret has 5 characters"):
        session_secret(url, SqlStorage(url))


def test_postgresql_needs_a_secret_from_the_environment(postgres_server) -> None:
    url = postgres_server.new_database()
    with pytest.raises(StorageError, match="set INFONN_SECRET to 32 or more random characters"):
        session_secret(url, SqlStorage(url))


def test_memory_has_one_secret_for_as_long_as_it_lives() -> None:
    storage = MemoryStorage()
    assert session_secret("memory://", storage) == session_secret("memory://", storage)
    assert session_secret("memory://", storage) != session_secret("memory://", MemoryStorage())
