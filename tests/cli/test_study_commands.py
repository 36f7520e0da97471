"""`infonn study` and `infonn serve`: what people meet in the shell."""

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infonn.cli.main import app
from infonn.errors import InfonnError


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFONN_STORAGE", "sqlite:///study.db")
    Path("items.csv").write_text("name\na\nb\nc\nd\n")

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["study", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    return run


def test_the_settings_name_the_study_unless_the_command_does(shell) -> None:
    Path("study.toml").write_text('[study]\nname = "dishes"\n[people]\nhold_out = 0.5\n')
    assert shell("create", "items.csv").startswith('Study "study" of 4 items.')
    assert shell("create", "items.csv", "--settings", "study.toml").startswith('Study "dishes" of 4 items.')
    assert shell("create", "items.csv", "--settings", "study.toml", "--name", "mine").startswith('Study "mine"')
    assert [line.split("\t")[:3] for line in shell("list").splitlines()] == [
        [name, "open", "0 answers"] for name in ("study", "dishes", "mine")
    ]


def test_an_ended_study_moves_as_one_file_and_is_opened_again(shell) -> None:
    shell("create", "items.csv", "--name", "s")
    shell("archive", "s")
    shell("export", "s", "--format", "bundle", "--out", "s.zip")
    assert shell("import", "s.zip", "--name", "copy").startswith('Study "copy" with 0 answers')
    shell("archive", "copy", "--reopen")
    assert [line.split("\t")[:2] for line in shell("list").splitlines()] == [["s", "ended"], ["copy", "open"]]


def test_a_port_that_is_taken_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("sys.setswitchinterval", lambda _: None)  # the server's, not this process's
    with socket.create_server(("127.0.0.1", 0)) as other:
        words = ["serve", "--port", str(other.getsockname()[1]), "--storage", f"sqlite:///{tmp_path}/x.db"]
        with pytest.raises(InfonnError, match="Address already in use. --port 0 takes a free one"):
            CliRunner().invoke(app, words, catch_exceptions=False)
