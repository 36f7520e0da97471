"""Processes on one GPU: CUDA MPS is started where it can be, said, and stopped by whoever started it."""

import os
from pathlib import Path

import pytest

from infonn.experiments.gpu_sharing import CONTROL, gpu_shared


@pytest.fixture
def control(tmp_path, monkeypatch):
    """A stand-in for the driver's program, which writes down how it was called; `refuse` makes it a second daemon."""

    def put(refuse: bool = False) -> Path:
        log, program = tmp_path / "calls", tmp_path / CONTROL
        start = f'if [ "$1" = -d ]; then echo start >> {log}; exit {int(refuse)}; fi'
        program.write_text(f"#!/bin/sh\n{start}\ncat >> {log}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return log

    return put


def test_it_is_started_for_the_while_and_said(control):
    log, said = control(), []
    with gpu_shared("cuda", said.append):
        assert log.read_text() == "start\n"
    assert log.read_text() == "start\nquit\n"
    assert said == ["CUDA MPS is started: the processes share the GPU."]


def test_one_that_runs_already_is_left_running(control):
    log, said = control(refuse=True), []
    with gpu_shared("cuda:0", said.append):
        pass
    assert log.read_text() == "start\n"
    assert "runs already" in said[0]


def test_it_is_stopped_when_the_run_fails(control):
    log = control()
    with pytest.raises(KeyboardInterrupt), gpu_shared("cuda", lambda _: None):
        raise KeyboardInterrupt
    assert log.read_text().endswith("quit\n")


def test_a_processor_needs_none(control):
    log, said = control(), []
    with gpu_shared("cpu", said.append):
        pass
    assert not log.exists()
    assert not said


def test_without_the_program_it_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = []
    with gpu_shared("cuda", said.append):
        pass
    assert CONTROL in said[0]
