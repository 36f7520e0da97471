"""Kernels compiled in the background: once, where none are, and waited for before a question is chosen."""

import logging
import os
import time
from typing import ClassVar

import pytest

import infonn.maths.kernels.chains  # noqa: F401 -- numba reads its settings before a test changes them
from infonn import create_study
from infonn.specs import compiling


class Fake:
    """A process that was started, and is waited for."""

    made: ClassVar[list["Fake"]] = []

    def __init__(self, command, **options):
        self.command, self.environment, self.waited = command, options["env"], 0
        Fake.made.append(self)

    def wait(self, seconds):
        self.waited += 1

    def poll(self):
        return None


@pytest.fixture
def nothing_compiled(monkeypatch):
    monkeypatch.setattr(compiling, "is_compiled", lambda: False)
    monkeypatch.setattr(compiling, "_started", [])
    monkeypatch.setattr(compiling.subprocess, "Popen", Fake)
    monkeypatch.setattr(compiling.atexit, "register", lambda function: None)
    monkeypatch.setattr(Fake, "made", [])
    monkeypatch.delenv(compiling.CHILD, raising=False)


def test_a_study_starts_it_once_says_so_and_waits_before_it_chooses(nothing_compiled, caplog):
    with caplog.at_level(logging.WARNING):
        study = create_study(list("abcdef"), learner={"name": "posterior", "n_chains": 2, "moves": 1}, first=2)
        create_study(list("abcdef"))
    assert [process.command[-1] for process in Fake.made] == ["fit", "choose"]
    assert [record.message for record in caplog.records if record.name == compiling.log.name] == [
        "Kernels are being compiled in the background, once per installation; it takes about half a minute."
    ]
    for question in study.ask(2):
        study.tell(question, 0)
    assert not any(process.waited for process in Fake.made)  # random questions wait for nothing
    study.ask(1)
    assert all(process.waited for process in Fake.made)


def test_the_processes_start_no_others(nothing_compiled, monkeypatch):
    compiling.compile_in_background()
    monkeypatch.setattr(compiling, "_started", [])
    monkeypatch.setenv(compiling.CHILD, Fake.made[0].environment[compiling.CHILD])
    compiling.compile_in_background()
    assert len(Fake.made) == 2


def test_nothing_is_started_for_other_learners_or_where_all_is_compiled(nothing_compiled, monkeypatch):
    create_study(list("abcdef"), learner="mds")
    assert not Fake.made
    monkeypatch.setattr(compiling, "is_compiled", lambda: True)
    create_study(list("abcdef"))
    assert not Fake.made


def test_what_is_compiled_is_found_in_numbas_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # numba itself has read it long ago
    assert not compiling.is_compiled()
    kept = tmp_path / "kernels_1" / "chains.move-1.py311.nbi"
    kept.parent.mkdir()
    kept.touch()
    assert compiling.is_compiled()
    os.utime(kept, (time.time() - 1e9, time.time() - 1e9))  # older than the source
    assert not compiling.is_compiled()


@pytest.mark.parametrize("part", compiling.PARTS)
def test_each_part_does_its_work(part):
    compiling.compile_part(part)
