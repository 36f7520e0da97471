"""Points without features, one question at a time: 20 items in 2 dimensions, an oracle that never errs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from infonn.experiments.beyond import comparison as c
from infonn.experiments.figures import lines
from infonn.experiments.paper.mds_setup import ITEMS, mds_setup
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.plots.curves import draw_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURE, DIMS, CANDIDATES = "tau", 2, 3
LEVELS = {60: 0.78, 100: 0.84}


def build(plan: Plan, trial: int) -> list[Setup]:
    """The paper's own setup, and the same with the default learner."""
    setups = []
    for method in plan.settings["methods"]:
        chosen = mds_setup(plan, trial, active=method != c.RANDOM, candidates=CANDIDATES, n_dims=DIMS, method=method)
        if method != c.PUBLISHED:
            learner, strategy = c.default_learner(ITEMS, dims=DIMS), c.strategy_of(method)
            chosen = replace(chosen, learner=learner, learner_name="posterior", strategy=strategy)
        setups.append(chosen)
    return setups


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """The targets, and who is better."""
    return [
        c.level_claim(curves, "mds", MEASURE, LEVELS),
        c.ratio_claim(curves, "mds", MEASURE, 0.75, 0.55),
        c.better_claim(curves, "mds", MEASURE, c.RANDOM),
        c.better_claim(curves, "mds", MEASURE, c.PUBLISHED),
    ]


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    panels = {"20 points in 2 dimensions, 3 candidates": lines(curves, MEASURE)}
    return {"beyond-mds": draw_curves(panels, "queries answered", "aggregate Kendall's tau", width=5.6, height=4.0)}


EXPERIMENT = Experiment(
    name="beyond-mds",
    title="Beyond: points without features",
    where=c.WHERE,
    minutes={"smoke": 0.3, "paper": 3},
    presets={
        "smoke": {"trials": 2, "rounds": 15, "draws": 128, "methods": c.COMPARED},
        "paper": {"trials": 20, "rounds": 100, "draws": 128, "methods": c.COMPARED},
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=(*c.NOTES, "All methods know that there are 2 dimensions, as in the paper."),
)
