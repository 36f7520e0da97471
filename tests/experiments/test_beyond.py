"""Experiments beyond the paper: fair setups, honest counting of answers, and a page that says what results say."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from infonn.experiments.beyond import ablation, ceilings, eggs, food73, mds, synthetic
from infonn.experiments.beyond import comparison as c
from infonn.experiments.beyond.page import selection_page
from infonn.experiments.report.write import selection_of
from infonn.experiments.sweep import Plan
from infonn.experiments.trial import Curve, run_setups
from infonn.learners.posterior.learner import posterior
from infonn.specs.registry import DEFAULT_LEARNERS, LEARNERS, load_part

ROOT = Path(__file__).parents[2]
EXPERIMENTS = [mds.EXPERIMENT, synthetic.EXPERIMENT, food73.EXPERIMENT, eggs.EXPERIMENT]


def curves(method: str, rates: list[float], **settings) -> list[Curve]:
    """One curve per trial that rises by `rate` a round of 10 answers, from 0.5."""
    queries = [20 + 10 * i for i in range(11)]
    return [
        Curve(
            method, "posterior", settings, trial, trial, queries, queries, {"tau": [0.5 + rate * i for i in range(11)]}
        )
        for trial, rate in enumerate(rates)
    ]


def test_the_default_learner_is_the_one_compared() -> None:
    for features in (False, True):
        assert load_part("Learner", LEARNERS, DEFAULT_LEARNERS["similarity", features]) is posterior


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_methods_of_a_trial_share_start_and_oracle(experiment) -> None:
    settings = {**experiment.settings("smoke"), "n_train": 500, "n_test": 500}
    setups = experiment.build(Plan(settings), 0)
    assert {setup.method for setup in setups} == set(c.COMPARED)
    by_settings: dict[str, list] = {}
    for setup in setups:
        by_settings.setdefault(str(setup.settings), []).append(setup)
    for group in by_settings.values():
        assert len({setup.first.queries.tobytes() for setup in group}) == 1
        assert len({setup.first.responses.tobytes() for setup in group}) == 1
        assert len({(setup.size, setup.rounds, setup.seed) for setup in group}) == 1
        assert len({setup.strategy for setup in group if setup.method == c.RANDOM}) == 1


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_two_rounds_of_every_method_run_and_are_drawn(experiment) -> None:
    settings = {**experiment.settings("smoke"), "n_train": 300, "n_test": 300, "epochs": 2}
    setups = [replace(setup, rounds=2) for setup in experiment.build(Plan(settings), 0)]
    made = run_setups(setups)
    assert all(len(curve.queries) == 3 for curve in made)
    assert all(np.isfinite(values).all() for curve in made for values in curve.measures.values())
    assert all(claim.holds is None for claim in experiment.claims(made))  # one trial tells nothing
    assert experiment.figures(made)


def test_levels_and_ratios_leave_out_the_start() -> None:
    both = curves(c.OURS, [0.04] * 6) + curves(c.RANDOM, [0.02] * 6)
    level = c.level_claim(both, "x", "tau", {50: 0.69, 100: 0.91})
    assert level.evidence["after 50"][c.OURS] == [0.7, 0.7, 0.7]
    assert level.evidence["after 50"][c.PUBLISHED] is None
    assert level.holds is False
    ratio = c.ratio_claim(both, "x", "tau", 0.6, 0.55)
    assert ratio.evidence["ratio of medians"] == pytest.approx(0.5)
    assert ratio.evidence[c.OURS]["median"] == pytest.approx(25)
    assert ratio.holds is True
    assert c.better_claim(both, "x", "tau", c.RANDOM).holds is True


def test_a_target_nobody_reaches_is_never() -> None:
    both = curves(c.OURS, [0.01] * 6) + curves(c.RANDOM, [0.01] * 6)
    claim = c.ratio_claim(both, "x", "tau", 0.9, 0.5)
    assert claim.holds is None
    assert claim.evidence[c.OURS] == {"median": None, "low": None, "high": None}


def test_the_true_places_of_the_eggs_are_the_ceiling() -> None:
    assert eggs.ceiling() == pytest.approx(0.842, abs=0.002)
    assert eggs.seconds_per_answer(2) == (1.74, 1.74)
    low, high = eggs.seconds_per_answer(5)
    assert 1.74 < low < high


def test_the_page_tells_levels_answers_and_what_is_missing() -> None:
    both = curves(c.OURS, [0.04] * 6) + curves(c.RANDOM, [0.02] * 6)
    claims = [
        vars(claim)
        for claim in (c.level_claim(both, "mds", "tau", {50: 0.69}), c.ratio_claim(both, "mds", "tau", 0.6, 0.55))
    ]
    text = selection_page({"beyond-mds": claims}, {"beyond-mds": ["images/x.svg"]})
    assert "| beyond-mds | 50 | 0.69 | 0.700 | 0.600 |  | ✓ |" in text
    assert "| beyond-mds | 0.6 | 25 (25 to 25) | 50 (50 to 50) | never | 0.50 | ✓ |" in text
    assert "![beyond-mds](images/x.svg)" in text
    assert "infonn reproduce beyond-eggs" in text
    assert "$(d^2+\\mu)^{-s}$" in text


# --- the ablation -----------------------------------------------------------------------------------------


def test_every_method_of_the_ablation_changes_one_part_of_the_default() -> None:
    settings = {"rounds": {"synthetic": 3}, "materials": "smoke"}
    setups = {setup.method: setup for setup in ablation.build(Plan(settings), 0)}
    assert set(setups) == set(ablation.METHODS["synthetic"])
    default = setups.pop(ablation.DEFAULT)
    assert default.strategy == c.strategy_of(c.OURS)
    for method, setup in setups.items():
        changed = [setup.learner is not default.learner, setup.strategy != default.strategy]
        assert changed == [method in ablation.LEARNERS, method not in ablation.LEARNERS]
        assert (setup.first is default.first, setup.size, setup.rounds) == (True, 10, 3)


def test_an_ablation_says_who_is_better_on_which_data() -> None:
    default = curves(ablation.DEFAULT, [0.03, 0.031, 0.032, 0.029, 0.03], data="mds")
    entropy = curves(ablation.ENTROPY, [0.02] * 5, data="mds")
    targets = curves(ablation.TARGETS, [0.04] * 5, data="mds")
    claims = {claim.id: claim for claim in ablation.claims(default + entropy + targets)}
    criterion = claims["ablation-criterion"]
    assert criterion.holds is False  # one is better wherever it was run
    assert criterion.evidence["mds: Entropy"]["high"] < 0 < criterion.evidence["mds: Information about triplets"]["low"]
    assert claims["ablation-learner"].holds is None
    assert ablation.figures(default + entropy).keys() == {"ablation-criterion"}
    text = selection_page({"beyond-ablation": [vars(claim) for claim in claims.values()]}, {})
    assert "| criterion | Entropy | -0.0" in text
    assert "over 5 paired trials" in text


# --- the ceilings -----------------------------------------------------------------------------------------


def test_ceilings_are_told_by_the_noise_or_by_all_answers() -> None:
    settings = {"rounds": {"corrupted": 3, "clean": 3}, "materials": "smoke", "chains": 4}
    setups = {(setup.settings["data"], setup.method): setup for setup in ceilings.build(Plan(settings), 0)}
    known, everything = setups["corrupted", ceilings.KNOWN], setups["corrupted", ceilings.ALL]
    assert known.learner.lapse == 0.375
    assert (setups["clean", ceilings.KNOWN_RANDOM].learner.lapse, known.strategy) == (0.0, c.strategy_of(c.OURS))
    assert (everything.first, everything.rounds) == (4000, 0)
    assert known.oracle is not setups["clean", ceilings.KNOWN].oracle


def test_a_ceiling_stands_beside_the_target_that_was_missed() -> None:
    best = curves(ceilings.KNOWN, [0.05] * 5, data="mds") + curves(ceilings.KNOWN_RANDOM, [0.025] * 5, data="mds")
    (claim,) = ceilings.claims(best)
    assert claim.holds is True
    assert claim.evidence["reached"] == pytest.approx(0.5)

    def page(share: float) -> str:
        default = {"id": "mds-answers", "holds": False, "evidence": {"target": 0.75, "ratio of medians": share}}
        default["evidence"] |= {method: {"low": 1, "median": 1, "high": 1} for method in c.COMPARED}
        return selection_page({"beyond-mds": [default], "beyond-ceilings": [vars(claim)]}, {})

    row = "| beyond-mds, mds | share of random's answers to 0.75 | noise known | 0.550 | 0.580 | 0.500 |"
    assert row in page(0.58)
    assert row not in page(0.54)  # reached: no need to excuse it


def test_the_published_page_says_what_the_results_say() -> None:
    """When this fails: run `infonn report` and commit docs/selection.md."""
    assert (ROOT / "docs" / "selection.md").read_text() == selection_of(ROOT / "results", ROOT / "docs")
