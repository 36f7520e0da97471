"""The demo in miniature, and a study run from a file, through the command line."""

import json

from typer.testing import CliRunner

from infonn.cli.main import app


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
