"""Maps of the embeddings that Info-NN, Batch-Centroid and Batch-Euclidean learn from equally many triplets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.datasets.food import TASTES, food73
from infonn.datasets.ranked_admissions import CLASS_NAMES, simulated_applicants
from infonn.experiments.judging import enough
from infonn.experiments.paper import dml_admissions, dml_food73
from infonn.experiments.paper.deep_metric import INFO_NN
from infonn.experiments.statistics import pick
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Probe, Setup, run_setups
from infonn.maths.accuracy import recall_at, top_fraction_at, triplet_accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAPPED = (INFO_NN, "Batch-Centroid", "Batch-Euclidean")
TASTE_COLOURS = ("#56b4e9", "#8c6d31", "#e6c229", "#222222", "#cc79a7", "#d55e00")  # in the order of TASTES
CLASS_COLOURS = ("#08306b", "#2171b5", "#6baed6", "#fdae6b", "#f16913", "#a63603", "#bdbdbd")
"""Admitted blue, rejected orange, the last tier grey."""

Numbers = Mapping[str, Callable[[FloatArray], float]]


class _Keep:
    """A measure that keeps the last belief it saw."""

    belief: Belief | None = None

    def __call__(self, belief: Belief) -> float:
        self.belief = belief
        return 0.0


def probes(plan: Plan, trial: int, setups: Callable[[], list[Setup]], numbers: Numbers) -> list[Probe]:
    """One curve per method, whose points are the items: `x` and `y` on the map, and numbers about the embedding.

    All methods train as one stack, when the first of them is asked for.
    """
    from infonn.plots.maps import project

    @lru_cache
    def learned() -> dict[str, tuple[Curve, FloatArray]]:
        kept = {setup.method: _Keep() for setup in setups()}
        built = [replace(setup, measures={"kept": kept[setup.method]}) for setup in setups()]
        embeddings = {}
        for curve in run_setups(built):
            belief = kept[curve.method].belief
            assert belief is not None
            embeddings[curve.method] = (curve, belief.embedding)
        return embeddings

    def run(method: str) -> tuple[list[int], list[int], dict[str, list[float]]]:
        curve, embedding = learned()[method]
        points = project(embedding, "tsne", plan.seed)
        measures = {"x": points[:, 0].tolist(), "y": points[:, 1].tolist()}
        measures |= {name: [number(embedding)] * len(points) for name, number in numbers.items()}
        return [curve.queries[-1]] * len(points), [curve.triplets[-1]] * len(points), measures

    return [
        Probe(method, "network", {}, trial, plan.seed_of(trial), lambda method=method: run(method))  # type: ignore[misc]
        for method in MAPPED
    ]


def maps(
    curves: Sequence[Curve], groups: IntArray, names: Sequence[str], colours: Sequence[str], labels: Any = None
) -> Figure:
    """The maps of the first trial, side by side."""
    from infonn.plots.maps import draw_maps

    panels = {}
    for method in MAPPED:
        curve = pick(curves, method)[0]
        points = np.column_stack([curve.measures["x"], curve.measures["y"]])
        panels[f"{method}, {curve.triplets[-1]} triplets"] = points
    return draw_maps(panels, groups, names, colours, labels)


def best_claims(curves: Sequence[Curve], wanted: Mapping[str, tuple[str, str]]) -> list[Claim]:
    """Whether Info-NN has the largest of each number. A map or two cannot tell; the numbers are there to look at."""
    found = []
    for measure, (text, where) in wanted.items():
        values = {method: [c.measures[measure][0] for c in pick(curves, method)] for method in MAPPED}
        means = {method: round(float(np.mean(numbers)), 4) for method, numbers in values.items()}
        others = max(mean for method, mean in means.items() if method != INFO_NN)
        found.append(Claim(f"map_{measure}", text, where, means[INFO_NN] > others if enough(curves) else None, means))
    return found


# --- food ----------------------------------------------------------------------------------------------


def food_build(plan: Plan, trial: int) -> list[Probe]:
    food = food73()
    wanted = replace(plan, settings={**plan.settings, "methods": MAPPED})
    numbers = {
        "sweet_savory_purity": dml_food73.sweet_savory_purity,
        "all_triplet_accuracy": lambda embedding: triplet_accuracy(embedding, food.triplets),
    }
    return probes(plan, trial, lambda: dml_food73.build(wanted, trial), numbers)


def food_figures(curves: Sequence[Curve]) -> Mapping[str, Figure]:
    food = food73()
    labels = [name if len(name) < 25 else name[:23].rstrip() + "…" for name in food.names]
    return {"map": maps(curves, food.tastes.argmax(axis=1), TASTES, TASTE_COLOURS, labels)}


def food_claims(curves: Sequence[Curve]) -> list[Claim]:
    return best_claims(
        curves,
        {
            "sweet_savory_purity": (
                "Info-NN separates savory from sweet dishes, better than Batch-Centroid and Batch-Euclidean do "
                "(share of the 5 nearest dishes on the same side).",
                "Figure of the food embedding",
            )
        },
    )


FOOD = Experiment(
    name="food73-map",
    title="Maps of the dishes",
    where="Figures of the food embeddings (main paper and appendix)",
    minutes={"smoke": 0.5, "paper": 3},
    presets={
        name: {key: value for key, value in preset.items() if key != "methods"} | {"trials": 1}
        for name, preset in dml_food73.EXPERIMENT.presets.items()
    },
    build=food_build,
    claims=food_claims,
    figures=food_figures,
    notes=("t-SNE of the embedding after the last round; dishes are coloured by their strongest taste.",),
)

# --- admissions ----------------------------------------------------------------------------------------


def admissions_build(plan: Plan, trial: int) -> list[Probe]:
    wanted = replace(plan, settings={**plan.settings, "methods": MAPPED, "data": ("simulated",)})
    applicants = simulated_applicants(np.random.default_rng([plan.seed_of(trial), 0]))
    numbers: Numbers = {
        "top_fraction_at_21": lambda embedding: top_fraction_at(embedding, applicants.admitted, 21),
        "recall_at_1": lambda embedding: recall_at(embedding, applicants.classes, 1),
    }
    return probes(plan, trial, lambda: dml_admissions.build(wanted, trial), numbers)


def admissions_figures(curves: Sequence[Curve]) -> Mapping[str, Figure]:
    classes = simulated_applicants(np.random.default_rng(0)).classes  # the same for any seed: rows stand by rank
    return {"map": maps(curves, classes, CLASS_NAMES, CLASS_COLOURS)}


def admissions_claims(curves: Sequence[Curve]) -> list[Claim]:
    return best_claims(
        curves,
        {
            "top_fraction_at_21": (
                "Info-NN groups highly rated applicants more closely than Batch-Centroid and Batch-Euclidean do "
                "(TopFraction@21).",
                "Figures of the admissions embeddings",
            )
        },
    )


ADMISSIONS = Experiment(
    name="admissions-map",
    title="Maps of the applicants",
    where="Figures of the admissions embeddings (main paper and appendix)",
    minutes={"smoke": 0.5, "paper": 3},
    presets={
        name: {key: value for key, value in preset.items() if key not in ("methods", "data")} | {"trials": 1}
        for name, preset in dml_admissions.EXPERIMENT.presets.items()
    },
    build=admissions_build,
    claims=admissions_claims,
    figures=admissions_figures,
    notes=("t-SNE of the embedding after the last round, simulated applicants, coloured by class.",),
)
