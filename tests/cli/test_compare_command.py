"""`infonn compare`: from a study.toml to a table, a file and a figure."""

import pandas as pd
from typer.testing import CliRunner

from infonn.cli.main import app

STUDY = """
[study]
name = "points"
[items]
dataset = "gaussian"
n_items = 8
[queries]
first = 5
[learner]
name = "mds"
steps = 20
[budget]
answers = 15
batch = 5
"""


def test_strategies_are_compared_and_the_table_is_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    command = ["compare", "study.toml", "--strategies", "entropy, random", "--trials", "2", "--target", "0.6"]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "to 0.600" in shown.output
    table = pd.read_csv("runs/points-compared/comparison.csv")
    assert table["strategy"].tolist() == ["entropy", "random"]
    assert table["learner"].tolist() == ["mds", "mds"]
    assert {"triplet_accuracy at 15", "answers to target", "difference", "low", "high"} <= set(table.columns)
    again = CliRunner().invoke(app, command)
    assert "holds 4 finished curves" in again.output.replace("\n", " ")
