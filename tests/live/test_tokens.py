"""Tokens are shown once, found by their text, and end when they are revoked."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from infonn.live.tokens import find_token, first_owner_token, make_token, reset_owner_token, token_hash
from infonn.records import Item, StudyRecord
from infonn.storage.memory import MemoryStorage
from infonn.storage.sql import SqlStorage


def test_a_token_is_found_by_its_text_until_it_is_revoked() -> None:
    storage = MemoryStorage()
    storage.create_study(StudyRecord("s", {}), [Item("a")])
    text, token = make_token(storage, "anna", "reader", "s")
    found = find_token(storage, text)
    assert (found.id, found.person, found.role, found.study) == (token.id, "anna", "reader", "s")
    assert find_token(storage, text + "x") is None
    assert find_token(storage, "ä\ud800") is None
    storage.revoke_token(token.id)
    assert find_token(storage, text) is None


def test_only_the_hash_of_a_token_is_kept(tmp_path) -> None:
    storage = SqlStorage(f"sqlite:///{tmp_path}/study.db")
    text, _ = make_token(storage, "anna")
    storage.close()
    assert text.encode() not in (tmp_path / "study.db").read_bytes()
    assert token_hash(text).encode() in (tmp_path / "study.db").read_bytes()


def test_point_11_of_servers_that_start_at_once_one_shows_a_token_and_it_works(database_url) -> None:
    storages = [SqlStorage(database_url) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        shown = [text for text in pool.map(first_owner_token, storages) if text is not None]
    assert len(shown) == 1
    assert find_token(storages[0], shown[0]).role == "owner"


def test_the_token_of_an_earlier_version_goes_on_working_until_it_is_reset() -> None:
    storage = MemoryStorage()
    storage.setting("owner_token_sha256", token_hash("old"))
    assert first_owner_token(storage) is None
    assert find_token(storage, "old").role == "owner"
    assert storage.setting("owner_token_sha256") is None
    new = reset_owner_token(storage)
    assert find_token(storage, "old") is None
    assert find_token(storage, new) is not None


@pytest.mark.parametrize("turns", [2])
def test_a_reset_ends_the_owners_and_leaves_the_readers(turns) -> None:
    storage = MemoryStorage()
    reader, _ = make_token(storage, "rita", "reader")
    texts = [reset_owner_token(storage) for _ in range(turns)]
    assert [find_token(storage, text) is not None for text in (*texts, reader)] == [False, True, True]
