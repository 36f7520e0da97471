"""An experiment is kept as it runs, gone on with after an interruption, and refused under other settings."""

import json
from dataclasses import replace

import numpy as np
import pytest

from infonn.errors import InfonnError, ResultsFileError, UnknownNameError
from infonn.experiments import table
from infonn.experiments.curve_file import Journal
from infonn.experiments.sweep import Claim, Experiment, run_experiment
from infonn.experiments.trial import Curve, Probe
from infonn.plots.look import new_figure

BUILT: list[tuple[int, str]] = []
FAIL_AT: list[int] = []


def silent(text: str) -> None:
    pass


def build(plan, trial):
    def probe(method):
        def run():
            if trial in FAIL_AT:
                raise KeyboardInterrupt
            BUILT.append((trial, method))
            rng = np.random.default_rng([plan.seed_of(trial), method == "b"])
            return [10, 20], [20, 40], {"accuracy": [float(rng.random()), plan.settings["level"]]}

        return Probe(method, "none", {}, trial, plan.seed_of(trial), run)

    return [probe("a"), probe("b")]


def claims(curves):
    return [Claim("sane", "There are curves.", "nowhere", bool(curves), {"n": len(curves), "never": float("inf")})]


def figures(curves):
    return {"curves": new_figure(1, 1)}


EXPERIMENT = Experiment(
    name="tiny",
    title="A tiny experiment",
    where="nowhere",
    minutes={"smoke": 0.1},
    presets={"smoke": {"trials": 3, "level": 0.5}, "paper": {"trials": 4, "level": 0.9}},
    build=build,
    claims=claims,
    figures=figures,
)


@pytest.fixture(autouse=True)
def _forget():
    BUILT.clear()
    FAIL_AT.clear()


def test_results_have_the_shared_form(tmp_path) -> None:
    results = run_experiment(EXPERIMENT, "smoke", folder=tmp_path, seed=2)
    written = json.loads((tmp_path / "results.json").read_text())
    expected = {"experiment", "preset", "version", "spec", "seeds", "seconds", "machine", "curves", "claims"}
    assert set(written) >= expected
    assert written["seeds"] == [2000, 2001, 2002]
    columns = ["method", "learner", "settings", "trial", "seed", "queries", "triplets", "measures"]
    assert list(written["curves"][0]) == columns
    assert written["claims"][0]["evidence"] == {"n": 6, "never": None}
    assert len(results["curves"]) == 6
    assert (tmp_path / "curves.svg").exists()
    assert (tmp_path / "curves.png").exists()


def test_an_interrupted_run_goes_on_to_the_same_end(tmp_path) -> None:
    whole = run_experiment(EXPERIMENT, "smoke", folder=tmp_path / "whole")
    BUILT.clear()
    FAIL_AT.append(1)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(EXPERIMENT, "smoke", folder=tmp_path / "cut")
    assert BUILT == [(0, "a"), (0, "b")]
    FAIL_AT.clear()
    rest = run_experiment(EXPERIMENT, "smoke", folder=tmp_path / "cut", say=silent)
    assert sorted(BUILT) == [(trial, method) for trial in range(3) for method in "ab"]
    assert rest["curves"] == whole["curves"]


def test_the_seconds_of_a_killed_run_are_kept(tmp_path, monkeypatch) -> None:
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("infonn.experiments.curve_file.time.perf_counter", lambda: float(next(clock)))
    FAIL_AT.append(2)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(EXPERIMENT, "smoke", folder=tmp_path)  # four curves of ten seconds each
    FAIL_AT.clear()
    rest = run_experiment(EXPERIMENT, "smoke", folder=tmp_path, say=silent)  # two more, and ten seconds to write up
    assert rest["seconds"] == 70
    assert run_experiment(EXPERIMENT, "smoke", folder=tmp_path, say=silent)["seconds"] == 80


def test_a_curve_file_without_seconds_beside_its_curves_is_gone_on_with(tmp_path) -> None:
    run_experiment(EXPERIMENT, "smoke", folder=tmp_path)
    path = tmp_path / "curves.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    older = [{key: value for key, value in line.items() if key != "seconds"} for line in lines[:-1]]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*older, {"seconds": 600.0}]))
    BUILT.clear()
    assert run_experiment(EXPERIMENT, "smoke", folder=tmp_path, say=silent)["seconds"] == pytest.approx(600, abs=5)
    assert not BUILT


def test_a_line_that_was_cut_off_is_run_again_and_said(tmp_path) -> None:
    whole = run_experiment(EXPERIMENT, "smoke", folder=tmp_path)
    path = tmp_path / "curves.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:20])
    said: list[str] = []
    again = run_experiment(EXPERIMENT, "smoke", folder=tmp_path, say=said.append)
    assert any("cut off" in text for text in said)
    assert again["curves"] == whole["curves"]


def test_damage_inside_the_file_is_an_error_and_changes_nothing(tmp_path) -> None:
    run_experiment(EXPERIMENT, "smoke", folder=tmp_path)
    path = tmp_path / "curves.jsonl"
    damaged = path.read_bytes().replace(b'"curve"', b'"curve', 1)
    path.write_bytes(damaged)
    with pytest.raises(ResultsFileError, match="not a file of curves"):
        run_experiment(EXPERIMENT, "smoke", folder=tmp_path)
    assert path.read_bytes() == damaged


def test_other_settings_are_refused_or_begun_afresh(tmp_path) -> None:
    run_experiment(EXPERIMENT, "smoke", folder=tmp_path)
    with pytest.raises(ResultsFileError, match=r"preset was 'smoke', now 'paper'; level was 0.5, now 0.9.*--restart"):
        run_experiment(EXPERIMENT, "paper", folder=tmp_path)
    results = run_experiment(EXPERIMENT, "paper", folder=tmp_path, restart=True)
    assert len(results["curves"]) == 8


def test_more_trials_keep_those_already_run(tmp_path) -> None:
    run_experiment(EXPERIMENT, "smoke", folder=tmp_path, trials=1)
    BUILT.clear()
    results = run_experiment(EXPERIMENT, "smoke", folder=tmp_path, trials=2, say=silent)
    assert BUILT == [(1, "a"), (1, "b")]
    assert len(results["curves"]) == 4
    assert len(run_experiment(EXPERIMENT, "smoke", folder=tmp_path, trials=1, say=silent)["curves"]) == 2


def test_processes_change_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(table.EXPERIMENTS, "tiny", (f"{__name__}:EXPERIMENT", ""))
    alone = run_experiment(EXPERIMENT, "smoke", folder=tmp_path / "one")
    told: list[tuple[int, ...]] = []
    shared = run_experiment(
        EXPERIMENT, "smoke", folder=tmp_path / "two", processes=2, progress=lambda *done: told.append(done)
    )
    assert shared["curves"] == alone["curves"]
    assert told[-1][:2] == (6, 6)


def test_two_curves_of_one_name_are_refused(tmp_path) -> None:
    double = replace(EXPERIMENT, build=lambda plan, trial: build(plan, trial)[:1] * 2)
    with pytest.raises(ResultsFileError, match="tell the curves of a trial apart"):
        run_experiment(double, "smoke", folder=tmp_path)


def test_unknown_presets_and_experiments_name_the_near_miss(tmp_path) -> None:
    with pytest.raises(UnknownNameError, match='Did you mean "smoke"'):
        run_experiment(EXPERIMENT, "smok", folder=tmp_path)
    with pytest.raises(UnknownNameError, match='Did you mean "mds-random"'):
        table.experiment_named("mds_random")
    with pytest.raises(InfonnError, match="at least 1"):
        run_experiment(EXPERIMENT, "smoke", folder=tmp_path, trials=0)
    with pytest.raises(InfonnError, match='Device "tpu" is unknown'):
        run_experiment(EXPERIMENT, "smoke", folder=tmp_path, device="tpu")


def test_numbers_that_are_not_finite_become_null(tmp_path) -> None:
    journal = Journal.open(tmp_path / "c.jsonl", {}, restart=False)
    journal.add(Curve("a", "b", {}, 0, 0, [1], [2], {"x": [float("nan")]}))
    assert json.loads((tmp_path / "c.jsonl").read_text().splitlines()[1])["curve"]["measures"] == {"x": [None]}
