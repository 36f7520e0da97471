"""`infonn reproduce` as a person types it."""

import subprocess
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

from infonn.cli.main import app
from infonn.cli.reproduce import _run_all
from infonn.errors import DataError
from infonn.experiments.table import EXPERIMENTS


def test_the_list_names_every_experiment() -> None:
    shown = CliRunner().invoke(app, ["reproduce", "--list"])
    assert shown.exit_code == 0
    for name in EXPERIMENTS:
        assert name in shown.output


def test_the_list_says_which_experiments_have_no_results(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "Without results" not in CliRunner().invoke(app, ["reproduce", "--list"]).output  # installed: no such folder
    (tmp_path / "results" / "timing").mkdir(parents=True)
    (tmp_path / "results" / "timing" / "results.json").write_text('{"curves": [{"trial": 0}, {"trial": 1}]}')
    shown = CliRunner().invoke(app, ["reproduce", "--list"]).output
    assert "2 trials" in shown
    missing = " ".join(shown.split("Without results in results/:")[1].split())
    assert "mnist" in missing
    assert "timing" not in missing


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["timming"], 'Did you mean "timing"?'),
        (["timing", "--preset", "smokey"], 'Did you mean "smoke"?'),
        (["timing", "--device", "tpu"], 'Device "tpu" is unknown'),
    ],
)
def test_mistakes_get_one_sentence(arguments, sentence, tmp_path) -> None:
    command = [sys.executable, "-m", "infonn", "reproduce", *arguments, "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_all_goes_on_past_an_experiment_that_cannot_run(capsys) -> None:
    ran = []

    def run(name, place):
        if name == "second":
            raise DataError("There is no data.")
        ran.append((name, place))

    failures = _run_all(["first", "second", "third"], run, Console())
    assert failures == ["second"]
    assert ran == [("first", "1 of 3: first. "), ("third", "3 of 3: third. ")]
    assert "There is no data." in capsys.readouterr().out
