"""The deep metric learning experiments in miniature: paired, fair by triplets, and honest about few trials."""

import json

import numpy as np
import pytest

from infonn.experiments.paper import deep_metric, dml_admissions, dml_food73, dml_maps, dml_synthetic, dml_variants
from infonn.experiments.sweep import Plan, run_experiment
from infonn.experiments.trial import Curve, run_setups, stacks
from infonn.queries import Answers, split_into_triplets

TINY = {"n_train": 300, "n_test": 200, "rounds": 2, "size": 4, "epochs": 2, "n_best": 2, "n_draws": 16}


def plan_of(module, **changes):
    settings = {**module.EXPERIMENT.presets["smoke"], **TINY, **changes}
    settings.pop("trials")
    return Plan(settings)


@pytest.mark.parametrize("module", [dml_synthetic, dml_food73, dml_admissions])
def test_methods_share_start_and_triplets_and_train_as_one_stack(module):
    plan = plan_of(module)
    setups = [setup for trial in (0, 1) for setup in module.build(plan, trial)]
    same_shape = {setup.learner.features.shape for setup in setups}
    assert len(stacks([setup.learner for setup in setups])) == len(same_shape)
    curves = run_setups([setup for setup in setups if setup.settings in ({}, {"data": "simulated"})])
    for trial in (0, 1):
        own = [curve for curve in curves if curve.trial == trial]
        assert [curve.method for curve in own] == list(deep_metric.METHODS)
        assert len({curve.measures["triplet_accuracy"][0] for curve in own}) == 1
        assert {tuple(curve.triplets) for curve in own} == {(20, 28, 36)}
        assert {tuple(curve.queries) for curve in own} == {(20, 24, 28), (20, 28, 36)}


def test_a_quarter_of_the_training_answers_is_wrong_and_no_test_answer():
    plan = plan_of(dml_synthetic, n_train=4000)
    corrupted = dml_synthetic.materials(plan, 0).train
    clean = dml_synthetic.materials(Plan({**plan.settings, "corrupted": 0.0}), 0).train
    np.testing.assert_array_equal(corrupted.queries, clean.queries)
    assert np.mean(corrupted.responses != clean.responses) == pytest.approx(0.25, abs=0.03)  # 4 standard errors


def test_triplets_of_a_pool_ask_in_ascending_order_and_answer_as_the_queries_did(rng):
    answers = Answers(np.array([[0, 3, 2, 1]], np.int32), np.array([1], np.int32))
    apart = deep_metric.as_triplets(answers)
    assert apart.queries.tolist() == [[0, 2, 3], [0, 1, 2]]
    assert {tuple(row) for row in split_into_triplets(apart)} == {(0, 2, 3), (0, 2, 1)}


@pytest.mark.parametrize("experiment", [dml_variants.SYNTHETIC, dml_variants.FOOD])
def test_variants_change_what_they_say_and_nothing_else(experiment):
    settings = {**experiment.presets["smoke"], **TINY, "n_validation": 200}
    settings.pop("trials")
    built = {
        name: [setup for setup in experiment.build(Plan(settings), 3) if setup.settings == {"variant": name}]
        for name in settings["variants"]
    }
    for name, setups in built.items():
        assert [setup.method for setup in setups] == list(deep_metric.METHODS)
        learner = setups[0].learner
        assert learner.standardise == ("raw" not in name)
        assert (learner.validation is not None) == ("validation" in name)
        np.testing.assert_array_equal(setups[0].task.pool, built["raw features"][0].task.pool)  # the same questions
    validation = built["published validation"][0].learner.validation
    assert 390 <= len(validation) <= 400  # two triplets a query; a query of the pool or the test is left out


def test_contradictions_count_once_each_however_many_said_so():
    said = Answers(np.array([[0, 1, 2]] * 3, np.int32), np.array([0, 0, 1], np.int32))
    assert deep_metric.as_triplets(said).responses.tolist() == [0, 0, 1]
    assert sorted(deep_metric.as_triplets(said, each_once=True).responses.tolist()) == [0, 1]


def test_unseen_triplets_are_in_no_training_query():
    plan = plan_of(dml_food73)
    made = dml_food73.materials(plan, 0)
    seen = {(r, *sorted(pair)) for r, *pair in split_into_triplets(made.train).tolist()}
    unseen = dml_food73.unseen_triplets(made.train).tolist()
    assert len(unseen) > 70_000
    assert not any((r, *sorted(pair)) in seen for r, *pair in unseen)
    assert set(made.measures) == {"triplet_accuracy", "unseen_triplet_accuracy", "sweet_savory_purity"}


def test_methods_are_compared_at_equal_triplets_and_at_equal_queries():
    def curve(method, per_query, slope):
        counts = [20 + 10 * i for i in range(4)]
        triplets = [20 + (n - 20) * per_query for n in counts]
        return Curve(method, "network", {}, 0, 0, counts, triplets, {"m": [slope * t for t in triplets]})

    curves = [curve(deep_metric.INFO_NN, 2, 1.0), curve(deep_metric.RANDOM_TRIPLETS, 1, 1.0)]
    assert deep_metric.compare(curves, *(c.method for c in curves), "m", "triplets").mean == pytest.approx(0)
    assert deep_metric.compare(curves, *(c.method for c in curves), "m", "queries").mean == pytest.approx(20)


def test_an_experiment_writes_curves_claims_and_figures(tmp_path):
    results = run_experiment(dml_food73.EXPERIMENT, "smoke", trials=1, folder=tmp_path, say=lambda _: None)
    assert {claim["holds"] for claim in results["claims"]} == {None}
    assert len({claim["id"] for claim in results["claims"]}) == len(results["claims"])
    assert {path.name for path in tmp_path.glob("*.png")} == {"accuracy.png", "unseen_accuracy.png"}
    assert json.loads((tmp_path / "results.json").read_text())["curves"]


@pytest.mark.parametrize("experiment", [dml_maps.FOOD, dml_maps.ADMISSIONS])
def test_maps_place_every_item_after_the_same_number_of_triplets(experiment):
    settings = {**experiment.presets["smoke"], **TINY}
    settings.pop("trials")
    curves = []
    for probe in experiment.build(Plan(settings), 0):
        queries, triplets, measures = probe.run()
        curves.append(Curve(probe.method, "network", {}, 0, 0, queries, triplets, measures))
    assert {curve.triplets[0] for curve in curves} == {36}
    assert len({len(curve.measures["x"]) for curve in curves}) == 1
    assert list(experiment.figures(curves)) == ["map"]
    assert [claim.holds for claim in experiment.claims(curves)] == [None]
