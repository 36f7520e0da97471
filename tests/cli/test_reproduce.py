"""`infonn reproduce` as a person types it."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from infonn.cli.main import app
from infonn.experiments.table import EXPERIMENTS


def test_the_list_names_every_experiment() -> None:
    shown = CliRunner().invoke(app, ["reproduce", "--list"])
    assert shown.exit_code == 0
    for name in EXPERIMENTS:
        assert name in shown.output


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
