"""`infonn study` and `infonn serve`: what people meet in the shell."""

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infonn.cli.main import app
from infonn.errors import InfonnError
from infonn.records import Answer
from infonn.specs.build import open_live_storage


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


def infonn(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_mistyped_storage_is_said_and_not_made(shell) -> None:
    for words in (("list",), ("status", "s"), ("export", "s"), ("archive", "s"), ("delete", "s", "--yes")):
        with pytest.raises(InfonnError, match="There is no storage at sqlite:///study.db"):
            shell(*words)
    assert not Path("study.db").exists()


def test_a_storage_is_backed_up_and_restored(shell) -> None:
    shell("create", "items.csv", "--name", "one")
    infonn("storage", "backup", "copy.db")
    shell("create", "items.csv", "--name", "two")
    assert "What was there before is kept as" in infonn("storage", "restore", "copy.db")
    assert [line.split("\t")[0] for line in shell("list").splitlines()] == ["one"]


def test_owners_acts_at_the_shell_are_in_the_log(shell) -> None:
    shell("create", "items.csv", "--name", "s")
    storage = open_live_storage("sqlite:///study.db")
    question = storage.questions("s")[0]
    storage.add_answer("s", Answer("a", question.id, "anna", 0))
    assert "1 answers are deleted" in shell("forget", "s", "anna", "--yes")
    assert "Without 1 answers of 1 people" in shell("export", "s")
    assert "for 30 days" in shell("retention", "s", "--days", "30")
    infonn("token", "new", "rita", "--role", "reader", "--study", "s")
    [line] = infonn("token", "list").splitlines()
    assert line.split("\t")[1:4] == ["rita", "reader", "s"]
    infonn("token", "revoke", line.split("\t")[0])
    assert infonn("token", "list").strip().endswith("revoked")
    shell("delete", "s", "--yes")
    done = [line.split("\t")[2] for line in infonn("storage", "log", "--study", "s").splitlines()]
    assert done == [
        "deleted a person",
        "set the retention time",
        "made a token",
        "revoked a token",
        "deleted the study",
    ]


def test_the_secret_is_made_anew_on_request(shell) -> None:
    shell("create", "items.csv", "--name", "s")
    assert "study.db.secret" in infonn("storage", "secret")
    assert "The secret is new" in infonn("storage", "secret", "--new")
    assert Path("study.db.secret").stat().st_mode & 0o777 == 0o600


def test_links_begin_as_the_server_was_started_last(shell) -> None:
    assert "once `infonn serve` runs" in shell("create", "items.csv", "--name", "first")
    open_live_storage("sqlite:///study.db").setting("server_url", "http://10.0.0.7:8123")
    assert "Participants: http://10.0.0.7:8123/s/" in shell("create", "items.csv", "--name", "second")
    said = shell("create", "items.csv", "--name", "third", "--url", "https://study.example/")
    assert "Participants: https://study.example/s/" in said


def test_a_study_is_edited_paused_and_copied_from_the_shell(shell) -> None:
    Path("study.toml").write_text('[[people.conditions]]\nname = "a"\n[[people.conditions]]\nname = "b"\n')
    assert "Condition b: " in shell("create", "items.csv", "--name", "s", "--settings", "study.toml")
    Path("thanks.md").write_text("Thank *you*.\n")
    shell(
        "edit", "s", "per_person=40", "title=Four letters", "budget.answers=77", "thanks=@thanks.md", "ends=2999-01-01"
    )
    storage = open_live_storage("sqlite:///study.db")
    people = storage.study("s").spec["people"]
    assert (people["per_person"], people["title"], people["thanks"]) == (40, "Four letters", "Thank *you*.\n")
    assert (people["ends"], storage.study("s").spec["budget"]["answers"]) == ("2999-01-01", 77)
    shell("pause", "s")
    assert shell("list").split("\t")[1] == "paused"
    shell("resume", "s")
    shell("copy", "s", "t")
    assert open_live_storage("sqlite:///study.db").study("t").spec["people"] == people
    assert [act.what for act in storage.acts("s")] == [
        *("changed the study", "let the study pause", "let the study go on", "copied the study")
    ]


@pytest.mark.parametrize("word", ["per_person", "queries.candidates=2", "perperson=3", "per_person=-1"])
def test_a_change_that_makes_no_sense_is_refused(shell, word) -> None:
    shell("create", "items.csv", "--name", "s")
    with pytest.raises(InfonnError):
        CliRunner().invoke(app, ["study", "edit", "s", word], catch_exceptions=False)


def test_a_panel_gets_a_signed_link_each(shell) -> None:
    from infonn.live.secrets import session_secret
    from infonn.web.security import Credentials

    shell("create", "items.csv", "--name", "s")
    Path("panel.csv").write_text("participant,email\nanna,a@x\nbert,b@x\n")
    shell("links", "s", "panel.csv", "--out", "links.csv", "--url", "https://study.example")
    header, anna, bert = Path("links.csv").read_text().split()
    assert header == "participant,link"
    storage = open_live_storage("sqlite:///study.db")
    key = storage.study("s").key
    credentials = Credentials(storage, session_secret("sqlite:///study.db", storage))
    assert anna == f"anna,https://study.example/s/{key}?participant=anna&signature={credentials.sign_link(key, 'anna')}"
    assert bert.startswith("bert,")
