"""MNIST: a map of the pool in the learned embedding, and which items three methods would ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infonn.beliefs import Belief
from infonn.experiments.paper.labelling import balanced, bare_queries, strategy_named
from infonn.experiments.paper.mnist import NOTES, SETTINGS, SMALL, data, learner
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Probe
from infonn.plots.look import new_figure, style
from infonn.plots.maps import project
from infonn.queries import Answers
from infonn.study import choose
from infonn.tasks.labels import LabelTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("MaxEntropy", "Info-NN-3", "K-Center")


def build(plan: Plan, trial: int) -> list[Probe]:
    """One probe per method: where items lie on the map, their classes, and what was chosen."""
    found: dict[str, Any] = {}  # the network and the map are made once, by the first probe

    def shared() -> dict[str, Any]:
        if not found:
            found.update(_trained(plan, trial))
        return found

    def probe(method: str) -> Probe:
        def run() -> tuple[list[int], list[int], dict[str, list[float]]]:
            return _chosen(plan, trial, method, **shared())

        recipe = plan.settings["recipes"][0]
        return Probe(method, recipe, {"labels": plan.settings["first"]}, trial, plan.seed_of(trial), run)

    return [probe(method) for method in METHODS]


def _trained(plan: Plan, trial: int) -> dict[str, Any]:
    s = plan.settings
    pictures, seed = data(s["pool"]), plan.seed_of(trial)
    network, _ = learner(s["recipes"][0], s["pool"], plan.device, plan.seed, s["steps"], s["draws"])
    start = balanced(pictures.labels, s["first"] // 10, np.random.default_rng([seed, 99]))
    answers = Answers(bare_queries(start), pictures.labels[start].astype(np.int32), "label")
    belief = network.fit(answers, np.random.default_rng([seed, 1]))
    drawn = np.random.default_rng([seed, 2]).permutation(len(pictures.labels))[: s["mapped"]]
    return {"answers": answers, "belief": belief, "drawn": drawn}


def _chosen(
    plan: Plan, trial: int, method: str, answers: Answers, belief: Belief, drawn: Any
) -> tuple[list[int], list[int], dict[str, list[float]]]:
    """The map is made of drawn items and the chosen ones together; chosen ones come last."""
    s, labels = plan.settings, data(plan.settings["pool"]).labels
    strategy, candidates = strategy_named(method, 10, 10)
    task = LabelTask(len(labels), data(s["pool"]).classes, candidates)
    rng = np.random.default_rng([plan.seed_of(trial), 3])
    queries, _ = choose(task, strategy, belief, answers, answers.queries, s["size"], rng, "label")
    chosen = queries[:, 0]
    items = np.concatenate([np.setdiff1d(drawn, chosen), chosen])
    plane = project(belief.embedding[items], s["projection"], plan.seed)
    measures = {
        "x": plane[:, 0].tolist(),
        "y": plane[:, 1].tolist(),
        "class": labels[items].astype(float).tolist(),
        "chosen": [0.0] * (len(items) - len(chosen)) + [1.0] * len(chosen),
    }
    return [len(answers)] * len(items), [0] * len(items), measures


def classes_chosen(curve: Curve) -> int:
    """How many classes the batch holds."""
    measures = curve.measures
    return len({c for c, chosen in zip(measures["class"], measures["chosen"]) if chosen})


def claims(curves: Sequence[Curve]) -> list[Claim]:
    found = {curve.method: classes_chosen(curve) for curve in curves if curve.trial == 0}
    holds = found["Info-NN-3"] >= max(found.values()) if len(found) == len(METHODS) else None
    text = "Info-NN-3 with clusters spreads its batch over at least as many classes as MaxEntropy and K-Center."
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
                own = (label == digit) & (chosen == 0)
                axes.scatter(x[own], y[own], s=4, color=f"C{digit}" if digit < 10 else None, alpha=0.5, linewidth=0)
                if own.any():
                    centre = np.median(x[own]), np.median(y[own])
                    axes.annotate(str(digit), centre, ha="center", va="center", fontsize=13, weight="bold")
            picked = chosen == 1
            axes.scatter(x[picked], y[picked], s=55, marker="x", color="black", linewidth=1.6, zorder=5)
            axes.set_title(f"{curve.method}: {classes_chosen(curve)} classes in {int(picked.sum())} labels")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.grid(visible=False)
    return {"selected": figure}


EXPERIMENT = Experiment(
    name="mnist-selected",
    title="MNIST: what three methods would ask for next",
    where="Appendix, Classification, Visualizations",
    minutes={"smoke": 2, "paper": 15},
    presets={
        "paper": SETTINGS | {"trials": 1, "first": 50, "mapped": 5000, "projection": "umap"},
        "smoke": SETTINGS | SMALL | {"trials": 1, "first": 30, "mapped": 800, "projection": "pca"},
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=(*NOTES, "The map shows 5,000 items drawn from the pool and the chosen ones, under the strong recipe."),
)
