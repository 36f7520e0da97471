"""How 73 dishes taste, by people's inconsistent judgements, batches of 30."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from infonn.experiments.beyond import comparison as c
from infonn.experiments.figures import lines
from infonn.experiments.paper import deep_metric, dml_food73
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.plots.curves import draw_curves
from infonn.selection.strategies import info_nn_distances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURE, UNSEEN = deep_metric.ACCURACY, dml_food73.UNSEEN_ACCURACY
LEVELS = {150: 0.77, 450: 0.86, 900: 0.88}
PAPER = {**dml_food73.PAPER, "trials": 40, "methods": c.COMPARED}


def build(plan: Plan, trial: int) -> list[Setup]:
    """The paper's own setup, and the same with the default learner."""
    settings = plan.settings
    materials = dml_food73.materials(plan, trial)
    (published,) = deep_metric.setups(plan, trial, materials, info_nn_distances, [deep_metric.INFO_NN])
    setups = []
    for method in settings["methods"]:
        if method == c.PUBLISHED:
            setups.append(replace(published, method=method))
            continue
        learner = c.default_learner(len(materials.features), materials.features)
        strategy = c.strategy_of(method)
        setups.append(replace(published, method=method, learner=learner, learner_name="posterior", strategy=strategy))
    return setups


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """The targets on the paper's split, and on triplets nobody answered in training."""
    return [
        c.level_claim(curves, "food73", MEASURE, LEVELS),
        c.ratio_claim(curves, "food73", MEASURE, 0.86, 0.7),
        c.better_claim(curves, "food73", MEASURE, c.RANDOM),
        c.better_claim(curves, "food73", MEASURE, c.PUBLISHED),
        c.better_claim(curves, "food73-unseen", UNSEEN, c.RANDOM),
        c.better_claim(curves, "food73-unseen", UNSEEN, c.PUBLISHED),
    ]


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    panels = {"Paper's split": lines(curves, MEASURE), "Triplets not in the pool": lines(curves, UNSEEN)}
    return {"beyond-food73": draw_curves(panels, "queries answered", "triplet accuracy", width=5.2, height=4.0)}


EXPERIMENT = Experiment(
    name="beyond-food73",
    title="Beyond: how 73 dishes taste",
    where=c.WHERE,
    minutes={"smoke": 0.3, "paper": 16},
    presets={
        "smoke": PAPER | {"trials": 1, "n_train": 4000, "n_test": 4000, "rounds": 4, "epochs": 20, "n_draws": 128},
        "paper": PAPER,
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=(*c.NOTES, *dml_food73.EXPERIMENT.notes),
)
