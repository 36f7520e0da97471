"""`infonn study`: what came of a study, in the shell."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from infonn.cli.main import app
from infonn.errors import InfonnError
from infonn.live.studies import LiveStudies
from infonn.records import Answer
from infonn.specs.build import open_live_storage


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFONN_STORAGE", "sqlite:///study.db")
    Path("items.csv").write_text("name\n" + "\n".join("abcdefghij"))
    Path("study.toml").write_text('[learner]\nname = "mds"\n[people]\noverlap = 2\n')

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["study", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    run("create", "items.csv", "--settings", "study.toml", "--name", "s")
    return run


def answers_of_people(people: int, each: int) -> list[str]:
    storage, rng = open_live_storage("sqlite:///study.db"), np.random.default_rng(0)
    study = LiveStudies(storage).by_key(storage.study("s").key)
    names = [storage.join("s", f"person {number}").name for number in range(people)]
    for _ in range(each):
        for number, name in enumerate(names):
            [question] = storage.serve("s", name, 1, study.serving)
            nearest = int(np.argmin([abs((option.item or 0) - question.query[0]) for option in question.options]))
            context = {"condition": "old" if number % 2 else "new"}
            given = Answer(
                f"{rng.integers(1 << 60):x}", question.id, name, nearest, response_time_s=2.0, context=context
            )
            storage.exchange("s", given, 1, study.serving)
    return names


def test_status_prints_dates(shell) -> None:
    told = dict(line.split(": ", 1) for line in shell("status", "s").splitlines())
    assert told["created_at"].startswith("20")
    assert told["created_at"].endswith("Z")
    assert told["model_at"] == "never"


def test_people_are_exported_and_left_out_with_a_reason(shell) -> None:
    names = answers_of_people(2, 3)
    assert "left out" in shell("exclude", "s", names[0], "--why", "bot")
    rows = {row["respondent"]: row for row in csv.DictReader(io.StringIO(shell("export", "s", "--format", "people")))}
    assert (rows[names[0]]["excluded"], rows[names[0]]["excluded_why"]) == ("true", "bot")
    assert rows[names[1]]["outside_id"] == "person 1"
    shell("exclude", "s", names[0], "--back")
    assert "true" not in shell("export", "s", "--format", "people")
    with pytest.raises(InfonnError, match="has not taken part"):
        shell("exclude", "s", "nobody")


def test_reliability_dimensions_maps_and_a_report(shell) -> None:
    answers_of_people(6, 16)
    told = shell("reliability", "s", "--splits", "1")
    assert "Agreement with others: Two people who were asked" in told
    assert json.loads(shell("export", "s", "--format", "reliability"))["split_half"]["value"] is not None
    assert "<- chosen" in shell("dims", "s", "--most", "2", "--folds", "2")
    rows = list(csv.DictReader(io.StringIO(shell("maps", "s", "--by", "condition"))))
    assert {row["condition"] for row in rows} == {"", "new", "old"}
    shell("report", "s", "--by", "condition", "--splits", "1", "--out", "r.html")
    page = Path("r.html").read_text()
    assert "<h2>Maps by group</h2>" in page
    assert "@media print" in page
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing is fetched from elsewhere
