"""MNIST: a map of the pool in the learned embedding, and which items three methods would ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infonn.arrays import FloatArray
from infonn.experiments.paper.labelling import balanced, bare_queries, strategy_named
from infonn.experiments.paper.mnist import NOTES, SETTINGS, SMALL, data, learner
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Probe
from infonn.loop import Loop
from infonn.plots.look import new_figure, style
from infonn.plots.maps import project
from infonn.queries import Answers
from infonn.tasks.labels import LabelTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("MaxEntropy", "Info-NN-3", "K-Center")


def build(plan: Plan, trial: int) -> list[Probe]:
    """One probe per method: where items lie on the map, their classes, and what the method chose."""
    made: dict[str, dict[str, list[float]]] = {}  # the network and the map are made once, by the first probe

    def probe(method: str) -> Probe:
        def run() -> tuple[list[int], list[int], dict[str, list[float]]]:
            if not made:
                made.update(_mapped(plan, trial))
            n = len(made[method]["x"])
            return [plan.settings["first"]] * n, [0] * n, made[method]

        recipe = plan.settings["recipes"][0]
        return Probe(method, recipe, {"labels": plan.settings["first"]}, trial, plan.seed_of(trial), run)

    return [probe(method) for method in METHODS]


def _mapped(plan: Plan, trial: int) -> dict[str, dict[str, list[float]]]:
    """Train, let every method choose, and draw one map of all that was chosen and some of the rest."""
    s = plan.settings
    pictures, seed = data(s["pool"]), plan.seed_of(trial)
    network, _ = learner(s["recipes"][0], s["pool"], plan.device, plan.seed, s["steps"], s["draws"])
    start = balanced(pictures.labels, s["first"] // 10, np.random.default_rng([seed, 99]))
    answers = Answers(bare_queries(start), pictures.labels[start].astype(np.int32), "label")
    belief = network.fit(answers, np.random.default_rng([seed, 1]))
    chosen = {}
    for method in METHODS:
        strategy, candidates = strategy_named(method, 10, 10)
        task = LabelTask(len(pictures.labels), pictures.classes, candidates)
        rng = np.random.default_rng([seed, 3])
        queries, _ = Loop(task, network, strategy, "label").choose(belief, answers, answers.queries, s["size"], rng)
        chosen[method] = queries[:, 0]
    drawn = np.random.default_rng([seed, 2]).permutation(len(pictures.labels))[: s["mapped"]]
    items = np.unique(np.concatenate([drawn, *chosen.values()]))
    plane = np.round(project(belief.embedding[items], s["projection"], plan.seed), 3)
    return {
        method: {
            "x": plane[:, 0].tolist(),
            "y": plane[:, 1].tolist(),
            "class": pictures.labels[items].tolist(),
            "chosen": np.isin(items, picked).astype(int).tolist(),
        }
        for method, picked in chosen.items()
    }


def classes_chosen(curve: Curve) -> int:
    """How many classes the batch holds."""
    measures = curve.measures
    return len({c for c, chosen in zip(measures["class"], measures["chosen"]) if chosen})


def spread(curve: Curve) -> float:
    """Mean distance between chosen items on the map, over that between all items."""
    places = np.stack([curve.measures["x"], curve.measures["y"]], axis=1)
    picked = places[np.array(curve.measures["chosen"]) == 1]
    return float(_mean_distance(picked) / _mean_distance(places[:: 1 + len(places) // 1000]))


def _mean_distance(places: FloatArray) -> float:
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    return float(distances[np.triu_indices(len(places), 1)].mean())


def claims(curves: Sequence[Curve]) -> list[Claim]:
    found = {c.method: {"spread": spread(c), "classes": classes_chosen(c)} for c in curves if c.trial == 0}
    known = len(found) == len(METHODS)
    holds = found["Info-NN-3"]["spread"] > found["MaxEntropy"]["spread"] if known else None
    text = "Info-NN-3 with clusters spreads its batch over the map, where MaxEntropy picks from one spot."
    return [Claim("mnist-selected-spread", text, "what the figure shows", holds, found)]


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    """One panel per method: the pool coloured by class, chosen items as black crosses."""
    shown = [curve for curve in curves if curve.trial == 0]
    with style():
        figure = new_figure(4.6 * len(shown), 4.9)
        grid: Any = figure.subplots(1, len(shown), squeeze=False)[0]
        for axes, curve in zip(grid, shown):
            x, y, label, chosen = (np.array(curve.measures[key]) for key in ("x", "y", "class", "chosen"))
            for digit in range(10):
                own = label == digit
                axes.scatter(x[own], y[own], s=4, color=f"C{digit}", alpha=0.5, linewidth=0, rasterized=True)
                if own.any():
                    centre = np.median(x[own]), np.median(y[own])
                    axes.annotate(str(digit), centre, ha="center", va="center", fontsize=13, weight="bold")
            picked = chosen == 1
            axes.scatter(x[picked], y[picked], s=55, marker="x", color="black", linewidth=1.6, zorder=5)
            axes.set_title(f"{curve.method}: {classes_chosen(curve)} classes in {int(picked.sum())} labels")
            axes.set(xticks=[], yticks=[])
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
    return {"selected": figure}


EXPERIMENT = Experiment(
    name="mnist-selected",
    title="MNIST: what three methods would ask for next",
    where="Appendix, Classification, Visualizations",
    minutes={"smoke": 2, "paper": 15},
    presets={
        "paper": SETTINGS | {"trials": 1, "first": 50, "mapped": 3000, "projection": "umap"},
        "smoke": SETTINGS | SMALL | {"trials": 1, "first": 30, "mapped": 800, "projection": "pca"},
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=(*NOTES, "The map shows 3,000 items drawn from the pool and the chosen ones, under the strong recipe."),
)
