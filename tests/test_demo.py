"""The demo in miniature, and a study run from a file, through the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from infonn.cli.main import app
from infonn.experiments.demo import first_reached


def test_the_demo_writes_its_files_and_goes_on_from_them(tmp_path) -> None:
    arguments = ["demo", "--out", str(tmp_path), "--answers", "60", "--trials", "1"]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert {"results.jsonl", "curves.svg", "curves.png", "map.svg", "report.html"} <= {
        p.name for p in tmp_path.iterdir()
    }
    page = (tmp_path / "report.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    results = (tmp_path / "results.jsonl").read_bytes()
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0, again.output
    assert (tmp_path / "results.jsonl").read_bytes() == results


def test_the_card_counts_what_the_curve_shows() -> None:
    counts = np.array([30.0, 60.0, 90.0, 120.0])
    assert first_reached(counts, np.array([0.5, 0.7, 0.6, 0.8]), 0.65) == pytest.approx(52.5)  # where it first crosses
    assert first_reached(counts, np.array([0.7, 0.7, 0.7, 0.8]), 0.65) == 30
    assert first_reached(counts, np.array([0.5, 0.5, 0.6, 0.6]), 0.65) == np.inf


def test_a_study_runs_from_toml(tmp_path) -> None:
    spec = tmp_path / "study.toml"
    spec.write_text(
        '[study]\nname = "points"\n[items]\ndataset = "gaussian"\nn_items = 10\n[learner]\nname = "mds"\n'
        "[queries]\nfirst = 8\n[budget]\nanswers = 16\nbatch = 4\n[oracle]\ncorrupt = 0.1\n"
    )
    done = CliRunner().invoke(app, ["run", str(spec), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    events = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert sum(event["event"] == "answer" for event in events) == 16
    assert set(events[-1]["measures"]) == {"triplet_accuracy", "kendall_tau"}
    assert (tmp_path / "out" / "embedding.csv").read_text().startswith("item,x0,x1\n0,")
