"""Whether the accuracy that is told is true: simulated studies, the interval each states, and what it should hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import default_rng

from infonn.experiments.labels.sets import SETS, LabelSet
from infonn.experiments.statistics import pick
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Probe
from infonn.learners.classifiers.bayes_logistic import BayesLogistic
from infonn.live.label_fits import fit_sides
from infonn.maths.holdout import copy_groups, originals
from infonn.maths.intervals import wilson_interval
from infonn.plots.look import COLOURS, GREY, new_figure, style
from infonn.queries import Answers, no_answers
from infonn.selection.class_strategies import typical_margin
from infonn.storage.memory import MemoryStorage
from infonn.study import Study
from infonn.tasks.labels import LabelTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELD_OUT = (30, 300)
COVERED, WIDTH, WILSON = "covered", "width", "wilson_width"
ESTIMATE, TRUTH = "estimate", "truth"
LOW, HIGH, WIDEST = 0.90, 0.99, 1.2  # share of intervals that hold the truth; width beside Wilson's


def build(plan: Plan, trial: int) -> list[Probe]:
    """One simulated study for each set and size of the hold-out."""
    return [
        Probe(
            method="default",
            learner_name="bayes_logistic",
            settings={"set": name, "held_out": n},
            trial=trial,
            seed=plan.seed_of(trial),
            run=lambda name=name, n=n: _measured(name, n, plan.seed_of(trial), plan.settings["chosen"]),  # type: ignore[misc]
        )
        for n in HELD_OUT
        for name in plan.settings["sets"]
        if n == HELD_OUT[0] or name not in SMALL
        if n != HELD_OUT[0] or trial < plan.settings["trials_of_fewest"]
    ]


def _measured(
    name: str, n_held_out: int, seed: int, n_chosen: int
) -> tuple[list[int], list[int], dict[str, list[float]]]:
    values = simulated_study(SETS[name](default_rng([seed, 78])), n_held_out, n_chosen, seed)
    return [n_held_out + n_chosen], [0], {key: [float(value)] for key, value in values.items()}


def simulated_study(data: LabelSet, n_held_out: int, n_chosen: int, seed: int, batch: int = 20) -> dict[str, float]:
    """Labels of random items and of chosen ones; the interval stated then, and the accuracy on all other items."""
    features, labels = data.features[: data.n_pool], data.labels[: data.n_pool]
    task = LabelTask(data.n_pool, data.classes, original=originals(copy_groups(features)))
    study = Study(
        "simulated",
        MemoryStorage(),
        task,
        BayesLogistic(features, data.n_classes),
        typical_margin(),
        kind="label",
        seed=seed,
    )

    def told(queries: np.ndarray) -> Answers:
        return Answers(queries, labels[queries[:, 0]].astype(np.int32), "label")

    rng = default_rng([seed, 79])
    held_out, train = told(task.first_queries(n_held_out, rng)), no_answers(task.n_nearest, "label")
    while len(train) < n_chosen:
        belief = study.loop.fit(train, rng)
        asked = train.joined(held_out).queries
        queries, _ = study.loop.choose(belief, train, asked, min(batch, n_chosen - len(train)), rng)
        if not len(queries):
            break
        train = train.joined(told(queries))
    fitted = fit_sides(study, train, held_out)
    rest = np.setdiff1d(np.arange(data.n_pool), fitted.learned.queries[:, 0])
    truth = float((fitted.probs[rest].argmax(axis=1) == labels[rest]).mean())
    estimate = fitted.accuracy
    assert estimate.accuracy is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.n_right is not None
    low, high = wilson_interval(estimate.n_right, len(held_out))
    return {
        COVERED: float(estimate.low <= truth <= estimate.high),
        WIDTH: estimate.high - estimate.low,
        WILSON: high - low,
        ESTIMATE: estimate.accuracy,
        TRUTH: truth,
    }


def claims(curves: Sequence[Curve]) -> list[Claim]:
    made = []
    for n in HELD_OUT:
        own = pick(curves, held_out=n)
        if not own:
            continue
        covered, width, wilson = (np.array([c.measures[key][0] for c in own]) for key in (COVERED, WIDTH, WILSON))
        ratio = float(width.mean() / wilson.mean())
        evidence = {"studies": len(own), "covered": float(covered.mean()), "width_beside_wilson": ratio}
        text = (
            f"With {n} hold-out labels the 95 % interval holds the accuracy on the unlabelled items in 90 to 99 % of "
            "simulated studies, at most 1.2 times as wide as Wilson's."
        )
        holds = None if len(own) < 100 else bool(LOW <= covered.mean() <= HIGH and ratio <= WIDEST)
        made.append(Claim(f"label-accuracy-{n}", text, "ours", holds, evidence))
    return made


def tables(curves: Sequence[Curve]) -> dict[str, str]:
    rows = [
        "| set | hold-out | studies | intervals that hold | mean estimate | mean truth | width beside Wilson's |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    names = list(dict.fromkeys(curve.settings["set"] for curve in curves))
    for n in HELD_OUT:
        for name in (*names, None):
            own = pick(curves, held_out=n) if name is None else pick(curves, held_out=n, set=name)
            if own:
                means = {key: np.mean([c.measures[key][0] for c in own]) for key in own[0].measures}
                rows.append(
                    f"| {name or 'all'} | {n} | {len(own)} | {means[COVERED]:.1%} | {means[ESTIMATE]:.3f} | "
                    f"{means[TRUTH]:.3f} | {means[WIDTH] / means[WILSON]:.2f} |"
                )
    return {"coverage": "\n".join(rows) + "\n"}


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    """Every study: the accuracy it told against the true one, and whether its interval holds the truth."""
    shown = [n for n in HELD_OUT if pick(curves, held_out=n)]
    if not shown:
        return {}
    with style():
        figure = new_figure(4.4 * len(shown), 4.2)
        grid: Any = figure.subplots(1, len(shown), squeeze=False, sharex=True, sharey=True)
        for axes, n in zip(grid[0], shown):
            _draw_studies(axes, pick(curves, held_out=n))
            axes.set_title(f"{n} hold-out labels")
            axes.set_xlabel("accuracy on the unlabelled items")
        grid[0, 0].set_ylabel("accuracy that is told")
    return {"estimates": figure}


def _draw_studies(axes: Any, curves: Sequence[Curve]) -> None:
    truth, told, covered = (np.array([c.measures[key][0] for c in curves]) for key in (TRUTH, ESTIMATE, COVERED))
    least = min(truth.min(), told.min())
    axes.plot([least, 1], [least, 1], color=GREY, linewidth=1)
    for holds, colour, text in ((True, COLOURS[0], "interval holds the truth"), (False, COLOURS[1], "does not")):
        own = (covered == 1) == holds
        axes.plot(
            truth[own], told[own], "o", color=colour, ms=4, alpha=0.6, mew=0, label=f"{text} ({np.count_nonzero(own)})"
        )
    axes.legend(loc="upper left")


SMALL = ("rare classes", "breast cancer")  # with 300 held out little is left to be predicted
PANEL = (
    *("digits", "overlap", "MNIST pixels", "MNIST 0-4 to 5-9", "MNIST 5-9 to 0-4", "near copies"),
    *SMALL,
)

EXPERIMENT = Experiment(
    name="label-accuracy",
    title="Labels: whether the accuracy that is told is true",
    where="not in the paper: 200 simulated studies with 30 and with 300 hold-out labels",
    minutes={"smoke": 0.5, "paper": 8},
    presets={
        "paper": {"trials": 34, "trials_of_fewest": 25, "sets": PANEL, "chosen": 60},
        "smoke": {"trials": 4, "trials_of_fewest": 4, "sets": ("digits", "overlap"), "chosen": 40},
    },
    build=build,
    claims=claims,
    figures=figures,
    tables=tables,
    notes=(
        "Each study labels 30 or 300 random items and 60 that are chosen without knowing these, and learns from all; "
        "the hold-out tests fits that leave out a fifth of it. The truth is the accuracy on all other items.",
        "Sets whose pool is small have no studies with 300.",
    ),
)
