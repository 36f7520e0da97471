"""The first minute with the command: it says what can be done, completes itself, and runs as a module."""

import json
import os
import subprocess
import sys
from pathlib import Path

from infonn.cli.main import app


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "infonn", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_without_arguments_it_says_what_can_be_done() -> None:
    shown = run().stdout
    for command in ("demo", "run", "plan", "label", "serve", "reproduce"):
        assert command in shown


def test_the_shell_can_complete_its_commands() -> None:
    offered = run(_INFONN_COMPLETE="complete_bash", COMP_WORDS="infonn re", COMP_CWORD="1").stdout
    assert {"reproduce", "report"} <= set(offered.split())


def test_every_command_says_what_it_is_for_in_a_line() -> None:
    import typer

    for name, command in typer.main.get_command(app).commands.items():
        assert (command.help or "").strip(), name


def test_strategies_name_the_default_and_say_why() -> None:
    shown = " ".join(run("strategies").stdout.split())
    assert "(default)" in shown
    assert "Why info_nn: with the default learner it needed half to three quarters of the answers" in shown
    published = Path(__file__).parents[2] / "results"
    ratios = [
        claim["evidence"]["ratio of medians"]
        for name in ("mds", "synthetic", "food73", "eggs")
        for claim in json.loads((published / f"beyond-{name}" / "results.json").read_text())["claims"]
        if "ratio of medians" in (claim["evidence"] or {})
    ]
    assert len(ratios) == 7
    assert 0.45 < min(ratios) < max(ratios) < 0.76


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path) -> None:
    (tmp_path / "study.toml").write_text('[items]\ndataset = "gaussian"\n[learner]\nname = "mds"\n')
    refused = run("run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "study.toml"))
    assert refused.returncode == 2
    assert refused.stderr.strip() == f"{tmp_path / 'study.toml'}: File exists."


def test_an_oracle_with_odd_settings_is_refused_in_a_sentence(tmp_path) -> None:
    study = '[items]\ndataset = "gaussian"\n[learner]\nname = "mds"\n[oracle]\n'
    for setting, sentence in {
        "corrupt = 2.0": "share is 2.0; it is the share of corrupted answers, 0 to 1.",
        "lapse = 1.5": "lapse is 1.5; it is a share of answers, at least 0 and below 1.",
    }.items():
        (tmp_path / "study.toml").write_text(study + setting)
        refused = run("run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out"))
        assert (refused.returncode, refused.stderr.strip()) == (2, sentence)


def test_recorded_answers_are_no_rankings(tmp_path) -> None:
    (tmp_path / "study.toml").write_text('[items]\ndataset = "food73"\n[queries]\nkind = "ranking"\n')
    refused = run("run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out"))
    assert refused.returncode == 2
    assert '[queries] kind is "ranking", and the answers on record are to "nearest" questions' in refused.stderr


def test_without_torch_every_command_says_how_to_get_it(tmp_path) -> None:
    (tmp_path / "torch.py").write_text('raise ModuleNotFoundError("No module named torch", name="torch")')
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    advice = 'needs torch: pip install "infonn[deep]".'
    refused = run("reproduce", "dml-food73", "--preset", "smoke", "--out", str(tmp_path), PYTHONPATH=path)
    assert (refused.returncode, refused.stderr.strip()) == (2, f"This {advice}")
    assert advice in " ".join(run("learners", PYTHONPATH=path).stdout.split())
