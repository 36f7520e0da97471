"""Items with features and a hidden Mahalanobis metric, a quarter of the answers corrupted or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from infonn.experiments.beyond import comparison as c
from infonn.experiments.figures import lines
from infonn.experiments.paper import deep_metric, dml_synthetic
from infonn.experiments.statistics import pick
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.plots.curves import draw_curves
from infonn.selection.strategies import info_nn_embedding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURE = deep_metric.ACCURACY
CORRUPTED, CLEAN = 0.25, 0.0
PAPER = {**dml_synthetic.PAPER, "methods": c.COMPARED, "shares": (CORRUPTED, CLEAN)}


def build(plan: Plan, trial: int) -> list[Setup]:
    """The paper's own setup, and the same with the default learner."""
    setups = []
    for share in plan.settings["shares"]:
        here = replace(plan, settings={**plan.settings, "corrupted": share})
        settings = here.settings
        materials = dml_synthetic.materials(here, trial)
        (published,) = deep_metric.setups(here, trial, materials, info_nn_embedding, [deep_metric.INFO_NN])
        published = replace(published, method=c.PUBLISHED, settings={"corrupted": share})
        learner = c.default_learner(len(materials.features), materials.features)
        for method in settings["methods"]:
            if method == c.PUBLISHED:
                setups.append(published)
                continue
            strategy = c.strategy_of(method)
            setups.append(
                replace(published, method=method, learner=learner, learner_name="posterior", strategy=strategy)
            )
    return setups


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """The targets, and who is better, with and without corruption."""
    found = []
    for share, name, levels, (target, most) in (
        (CORRUPTED, "corrupted", {50: 0.83, 100: 0.88, 300: 0.94}, (0.89, 0.65)),
        (CLEAN, "clean", {150: 0.96}, (0.95, 0.45)),
    ):
        if own := pick(curves, corrupted=share):
            found += [
                c.level_claim(own, name, MEASURE, levels),
                c.ratio_claim(own, name, MEASURE, target, most),
                c.better_claim(own, name, MEASURE, c.RANDOM),
                c.better_claim(own, name, MEASURE, c.PUBLISHED),
            ]
    return found


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    shares = sorted({curve.settings["corrupted"] for curve in curves})
    panels = {
        f"{share:.0%} of the answers corrupted": lines(pick(curves, corrupted=share), MEASURE) for share in shares
    }
    return {"beyond-synthetic": draw_curves(panels, "queries answered", "triplet accuracy", width=5.2, height=4.0)}


EXPERIMENT = Experiment(
    name="beyond-synthetic",
    title="Beyond: a hidden metric of the features",
    where=c.WHERE,
    minutes={"smoke": 0.3, "paper": 15},
    presets={
        "smoke": PAPER
        | {"trials": 1, "n_train": 4000, "n_test": 4000, "rounds": 5, "epochs": 20, "shares": (CORRUPTED,)},
        "paper": PAPER,
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=(*c.NOTES, *dml_synthetic.EXPERIMENT.notes),
)
