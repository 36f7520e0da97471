"""`infonn plan` as a person types it."""

import json

from typer.testing import CliRunner

from infonn.cli.main import app


def test_a_plan_says_how_many_answers_and_draws_it(tmp_path) -> None:
    small = ["--items", "8", "--dims", "1", "--candidates", "2", "--noise", "0", "--target", "0.7", "--trials", "2"]
    done = CliRunner().invoke(app, ["plan", *small, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "info_nn" in done.output
    assert "random" in done.output
    kept = json.loads((tmp_path / "plan.json").read_text())
    assert set(kept["answers_to_target"]) == {"info_nn", "random"}
    assert len(kept["curves"]) == 4
    assert "100 more answers are expected to add" in " ".join(done.output.split())
    assert kept["gain_of_100_more"]["low"] <= kept["gain_of_100_more"]["expected"]
    assert "in a minute" in " ".join(done.output.split())
    assert [row["candidates"] for row in kept["lengths"]] == [2, 3, 4, 5, 6]
    assert (tmp_path / "plan.png").stat().st_size > 10_000
    assert "<svg" in (tmp_path / "plan.svg").read_text()
