"""The paper's MDS experiments in miniature."""

import json
from dataclasses import replace

import numpy as np
import pytest

from infonn.experiments.paper import mds_random, mds_ranking, timing
from infonn.experiments.paper.mds_setup import READINGS, compare, mds_setup
from infonn.experiments.sweep import Plan, run_experiment
from infonn.experiments.trial import Curve, run_setups
from infonn.learners.mds import MDS
from infonn.queries import Answers, count_queries


def silent(text: str) -> None:
    pass


def small(experiment, **settings):
    """The experiment with a preset of a few seconds."""
    return replace(experiment, presets={"tiny": {**experiment.presets["smoke"], **settings}})


def test_chosen_and_random_queries_start_from_the_same_answers_and_embedding() -> None:
    plan = Plan({"rounds": 2, "draws": 16})
    chosen, at_random = (
        mds_setup(plan, 1, active=active, candidates=3, n_dims=2, method=str(active)) for active in (True, False)
    )
    curves = run_setups([chosen, at_random])
    assert curves[0].measures["tau"][0] == curves[1].measures["tau"][0]
    assert curves[0].queries == [20, 21, 22]
    assert curves[0].triplets == [40, 42, 44]


def test_every_query_is_in_the_pool() -> None:
    setup = mds_setup(Plan({"rounds": 1, "draws": 8}), 0, active=True, candidates=4, n_dims=2, method="a")
    assert len(setup.task.propose(None, None, None)) == count_queries(20, 4) == 77_520


def test_mds_random_writes_curves_claims_and_figures(tmp_path) -> None:
    experiment = small(mds_random.EXPERIMENT, trials=1, rounds=2, candidates=[2, 3], draws=16)
    results = run_experiment(experiment, "tiny", folder=tmp_path, say=silent)
    methods = {curve["method"] for curve in results["curves"]}
    assert methods == {"Info-NN-2", "Info-NN-3", "Random-NN-2", "Random-NN-3"}
    assert [claim["holds"] for claim in results["claims"]] == [None, None, None]  # one trial tells nothing
    for name in ("mds-random.svg", "mds-random.png", "mds-random-sizes.png", "results.json"):
        assert (tmp_path / name).exists()


def test_each_fit_starts_again_where_the_first_one_did() -> None:
    learner = READINGS["each fit starts again"](MDS(6, 2, steps=0))  # without a step, a fit is where it began
    answers = Answers(np.array([[0, 1, 2]], np.int32), np.zeros(1, np.int32))
    first = learner.fit(answers, np.random.default_rng(0))
    moved = replace(first, embedding=first.embedding + 1)
    np.testing.assert_array_equal(learner.fit(answers, np.random.default_rng(1), moved).embedding, first.embedding)
    taught = READINGS["each fit starts again"](MDS(6, 2)).fit(answers, np.random.default_rng(0))
    assert not np.allclose(taught.embedding, first.embedding)
    assert int(learner.fit(answers, np.random.default_rng(1), first).state["round"]) == 2  # mu goes on diminishing


def test_unit_variance_rescales_places_and_mu_alike() -> None:
    answers = Answers(np.array([[0, 1, 2], [3, 4, 5]], np.int32), np.zeros(2, np.int32))
    plain = MDS(6, 2).fit(answers, np.random.default_rng(0))
    unit = READINGS["unit variance"](MDS(6, 2)).fit(answers, np.random.default_rng(0))
    assert unit.embedding.std() == pytest.approx(1)
    ratio = plain.embedding.std()
    np.testing.assert_allclose(unit.embedding * ratio, plain.embedding)
    assert unit.response.mu * ratio == pytest.approx(plain.response.mu)


def test_readings_stand_beside_each_other_with_claims_of_their_own(tmp_path) -> None:
    experiment = small(mds_random.VARIANTS, trials=1, rounds=1, candidates=[3], draws=8)
    results = run_experiment(experiment, "tiny", folder=tmp_path, say=silent)
    assert [curve["settings"]["reading"] for curve in results["curves"]] == 2 * ["each fit starts again"] + 2 * [
        "unit variance"
    ]
    assert len({claim["id"] for claim in results["claims"]}) == 6
    assert (tmp_path / "unit-variance-mds-random.svg").exists()


def test_mds_ranking_writes_curves_claims_and_figures(tmp_path) -> None:
    experiment = small(mds_ranking.EXPERIMENT, trials=1, rounds=1, nearest=[3], rankings=[3], draws=8)
    results = run_experiment(experiment, "tiny", folder=tmp_path, say=silent)
    triplets = {curve["method"]: curve["triplets"] for curve in results["curves"]}
    assert triplets == {"Info-NN-3": [40, 42], "Info-Ranking-3": [60, 63], "Random-Ranking-3": [60, 63]}
    assert (tmp_path / "mds-ranking.svg").exists()


def test_timing_stands_beside_the_papers_numbers(tmp_path) -> None:
    experiment = small(timing.EXPERIMENT, rounds=1, candidates=[2, 3], draws=[8])
    run_experiment(experiment, "tiny", folder=tmp_path, say=silent)
    written = json.loads((tmp_path / "results.json").read_text())
    assert {(c["method"], c["settings"]["candidates"]) for c in written["curves"]} == {
        (name, c) for name in ("NN", "Ranking") for c in (2, 3)
    }
    assert all(seconds > 0 for curve in written["curves"] for seconds in curve["measures"]["seconds"])
    table = (tmp_path / "timing.md").read_text()
    assert "8.5394 ± 0.3400" in table
    assert (tmp_path / "timing.png").exists()


def curves_of(method, level, dims=2):
    noise = np.random.default_rng(0).normal(0, 0.01, (8, 5))
    return [
        Curve(
            method,
            "mds",
            {"dims": dims, "candidates": 3},
            trial,
            trial,
            list(range(20, 25)),
            list(range(40, 50, 2)),
            {"tau": list(row)},
        )
        for trial, row in enumerate(noise + level)
    ]


@pytest.mark.parametrize("gain, holds", [(0.1, True), (-0.1, False)])
def test_claims_follow_the_curves(gain, holds) -> None:
    curves = curves_of("Info-NN-3", 0.5 + gain) + curves_of("Random-NN-3", 0.5)
    entry = compare(curves, 2, "Info-NN-3", "Random-NN-3")
    assert entry.mean == pytest.approx(gain)
    assert mds_random.claims(curves)[0].holds is holds
