"""The search beside the pool alone: everything else is shared, and the claims say by how much they differ."""

import numpy as np

from infonn.experiments.beyond import search
from infonn.experiments.sweep import Plan
from infonn.experiments.trial import Curve, run_setups


def test_methods_differ_by_how_questions_are_chosen_alone() -> None:
    setups = search.EXPERIMENT.build(Plan(search.EXPERIMENT.settings("smoke")), 0)
    assert {setup.settings["data"] for setup in setups} == set(search.DATA)
    for name in search.DATA:
        own = [setup for setup in setups if setup.settings["data"] == name]
        assert len({setup.first.responses.tobytes() for setup in own}) == 1
        assert len({(setup.size, setup.rounds, setup.seed, setup.task.candidates) for setup in own}) == 1
        assert all(setup.task.searchable for setup in own)
        assert {setup.method for setup in own if setup.strategy.search is not None} <= set(search.PAIRS)


def test_two_rounds_run_and_one_trial_decides_nothing() -> None:
    settings = {"rounds": {"30 eggs, 5 candidates, batches of 20": 2}}
    made = run_setups(search.EXPERIMENT.build(Plan(settings), 0))
    assert all(len(curve.queries) == 3 for curve in made)
    assert [claim.holds for claim in search.claims(made)] == [None, None]
    assert set(search.figures(made)) == {"beyond-search"}


def test_a_claim_tells_the_share_of_answers_that_the_search_needs() -> None:
    name = "60 points, one at a time"
    queries = list(range(20, 121, 10))

    def curve(method: str, trial: int, rate: float) -> Curve:
        values = [min(0.9, 0.5 + rate * i) for i in range(len(queries))]
        return Curve(method, "posterior", {"data": name}, trial, trial, queries, queries, {search.MEASURE: values})

    made = [curve(search.POOL, trial, 0.05) for trial in range(6)]
    made += [curve(search.SEARCH, trial, 0.1 + 0.001 * trial) for trial in range(6)]
    (claim,) = search.claims(made)
    assert claim.holds
    assert claim.evidence["wins"] == 1
    assert claim.evidence["answers to 0.75, of the pool's"] < 1
    assert np.isfinite(claim.evidence["mean"])
