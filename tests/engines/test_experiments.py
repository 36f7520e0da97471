"""Experiments, comparisons and plans give the same to the last digit on every engine; failures name their seed."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from infonn import compare
from infonn.errors import TrialError
from infonn.experiments.planning import Wanted, open_studies, run_plan
from infonn.experiments.sweep import Experiment, run_experiment
from infonn.experiments.trial import Probe

SPEC = {
    "study": {"name": "points"},
    "items": {"dataset": "gaussian", "n_items": 9},
    "queries": {"first": 6},
    "budget": {"answers": 18, "batch": 6},
}
BOTH = {"strategies": ["info_nn", "random"], "learners": ["mds"], "trials": 3, "say": lambda text: None}
WANTED = Wanted(8, target=0.7)


def build(plan, trial):
    def run(method: str):
        mark = Path(plan.settings["folder"]) / f"{trial}{method}"
        if plan.settings["kill"] and trial == 1 and method == "b" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if plan.settings["fail"] and trial == 2:
            raise ValueError("no such luck")
        rng = np.random.default_rng([plan.seed_of(trial), method == "b"])
        return [10, 20], [20, 40], {"accuracy": rng.random(2).tolist()}

    return [Probe(m, "none", {}, trial, plan.seed_of(trial), lambda m=m: run(m)) for m in "abc"]


def nothing(curves):
    return {}


TINY = Experiment(
    name="tiny",
    title="A tiny experiment",
    where="nowhere",
    minutes={},
    presets={"smoke": {"trials": 4, "kill": False, "fail": False}},
    build=build,
    claims=lambda curves: [],
    figures=nothing,
)


def tiny(folder, engine, **settings):
    presets = {"smoke": {**TINY.presets["smoke"], **settings, "folder": str(folder)}}
    told = []
    results = run_experiment(
        replace(TINY, presets=presets),
        "smoke",
        seed=7,
        folder=folder / f"{type(engine).__name__}",
        engine=engine,
        progress=lambda *done: told.append(done),
        say=lambda text: None,
    )
    return results["curves"], told


@pytest.fixture(scope="module")
def planned():
    """Three studies, simulated one after the other by the default learner."""
    return run_plan(WANTED, 3)


def test_a_comparison_is_the_same_everywhere(engine) -> None:
    assert compare(SPEC, **BOTH, engine=engine).curves == compare(SPEC, **BOTH).curves


def test_curves_come_as_they_finish(engine, tmp_path) -> None:
    curves, told = tiny(tmp_path, engine)
    assert [(curve["trial"], curve["method"]) for curve in curves] == [(t, m) for t in range(4) for m in "abc"]
    assert [done for done, *_ in told] == list(range(1, 13))
    assert told[-1][:2] == (12, 12)


def test_a_worker_killed_in_the_middle_changes_no_curve(elsewhere, tmp_path) -> None:
    whole, _ = tiny(tmp_path, elsewhere)
    (tmp_path / "again").mkdir()
    killed, _ = tiny(tmp_path / "again", elsewhere, kill=True)
    assert killed == whole
    assert (tmp_path / "again" / "1b").exists()


def test_a_failing_trial_is_named_with_its_seed_and_the_rest_goes_on_from_there(engine, tmp_path) -> None:
    with pytest.raises(
        TrialError, match=r"^Trial 2 \(seed 7002\) failed: . with none: ValueError: no such luck\. What"
    ):
        tiny(tmp_path, engine, fail=True)
    kept = (tmp_path / type(engine).__name__ / "curves.jsonl").read_text().splitlines()
    assert 1 <= len(kept) < 13
    assert all("curve" in json.loads(line) for line in kept[1:])


def test_a_plan_is_the_same_everywhere_and_goes_on_where_it_stopped(engine, planned, tmp_path) -> None:
    told: list[tuple[int, int, int]] = []
    said: list[str] = []
    assert run_plan(WANTED, 2, 1e9, None, engine, open_studies(tmp_path, WANTED)) == planned[:4]
    studies = open_studies(tmp_path, WANTED, said.append)
    assert run_plan(WANTED, 3, 1e9, lambda *done: told.append(done), engine, studies) == planned
    assert "holds 4 finished curves" in said[0]
    assert told[-1][:2] == (3, 3)
    assert run_plan(WANTED, 3, 0.0, None, engine, open_studies(tmp_path, WANTED, said.append)) == planned


def test_a_plan_without_time_runs_one_study_for_each_worker(engine) -> None:
    assert {curve.trial for curve in run_plan(WANTED, 9, 0.0, engine=engine)} == set(range(engine.n_workers))


def test_the_commands_take_a_cluster(scheduler, tmp_path) -> None:
    from infonn.cli.main import app

    study = tmp_path / "study.toml"
    study.write_text('[items]\ndataset = "gaussian"\nn_items = 9\n[queries]\nfirst = 6\n[learner]\nname = "mds"\n')
    words = ["compare", str(study), "--trials", "2", "--answers", "18", "--batch", "6", "--strategies", "random"]
    tables = []
    for name, options in (("here", []), ("dask", ["--engine", "dask", "--scheduler", scheduler])):
        done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / name), *options])
        assert done.exit_code == 0, done.output
        tables.append((tmp_path / name / "comparison.csv").read_text())
    assert tables[0] == tables[1]
