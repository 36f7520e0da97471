"""A results file keeps what it acknowledged, also where the machine or the disk fails."""

import errno
import os

import pytest

from infonn.errors import StorageError
from infonn.records import Answer, Item, Option, Question, StudyRecord
from infonn.storage.jsonl import JsonlStorage


def question(number: int) -> Question:
    return Question(f"q{number}", "s", (0, 1, 2), ("a", "b", "c"), (Option("b", 1), Option("c", 2)), (0, 1))


@pytest.fixture
def storage(tmp_path) -> JsonlStorage:
    kept = JsonlStorage(tmp_path / "results.jsonl")
    kept.create_study(StudyRecord("s", {}), [Item(name) for name in "abc"])
    kept.add_questions("s", [question(n) for n in range(20)])
    return kept


def test_every_acknowledged_answer_is_synced(storage, monkeypatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(storage.path.read_bytes().count(b'"answer"')))
    for number in range(20):
        storage.add_answer("s", Answer(f"a{number}", f"q{number}", "anna", 0))
        assert synced[-1] == number + 1  # the line was in the file when it was synced


def test_what_could_not_be_written_is_not_there(storage, monkeypatch) -> None:
    storage.add_answer("s", Answer("a0", "q0", "anna", 0))
    whole = storage.path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left on device.*nothing was stored"):
            storage.add_answer("s", Answer("a1", "q1", "anna", 0))
    assert storage.path.read_bytes() == whole
    assert [pair.answer.id for pair in storage.answers("s")] == ["a0"]
    storage.add_answer("s", Answer("a1", "q1", "anna", 1))
    again = JsonlStorage(storage.path)
    assert [(pair.answer.id, pair.answer.response) for pair in again.answers("s")] == [("a0", 0), ("a1", 1)]


def test_a_file_of_an_earlier_version_is_read(storage) -> None:
    """Its questions have a round, which was never set."""
    text = storage.path.read_text().replace('"unseen_answers": 0', '"unseen_answers": 0, "round": 0')
    assert '"round": 0' in text
    storage.path.write_text(text)
    assert len(JsonlStorage(storage.path).questions("s")) == 20
