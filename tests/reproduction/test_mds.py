"""The paper's MDS figures in miniature: orderings over paired seeds."""

import pytest

from infonn.experiments.paper.mds_setup import mds_setup
from infonn.experiments.statistics import mean_level, paired_difference
from infonn.experiments.sweep import Plan
from infonn.experiments.trial import run_setups


def levels(plan, trials, **settings):
    setups = [mds_setup(plan, trial, n_dims=2, method="m", **settings) for trial in range(trials)]
    return [mean_level(curve, "tau") for curve in run_setups(setups)]


@pytest.mark.slow
def test_chosen_queries_of_three_teach_more_than_random_ones_at_first() -> None:
    plan = Plan({"rounds": 40, "draws": 128})
    chosen, at_random = (levels(plan, 10, active=active, candidates=3) for active in (True, False))
    assert paired_difference(chosen, at_random).mean > 0


def test_random_rankings_teach_more_than_random_nearest_answers() -> None:
    plan = Plan({"rounds": 30, "draws": 128})
    rankings, nearest = (levels(plan, 10, active=False, candidates=3, kind=kind) for kind in ("ranking", "nearest"))
    assert paired_difference(rankings, nearest).mean > 0
