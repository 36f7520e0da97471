"""What the labelling experiments share: methods by name, the balanced start, test accuracy, claims about labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.contracts.loop import Learner, Strategy
from infonn.datasets.images import Pictures
from infonn.experiments import judging
from infonn.experiments.figures import lines
from infonn.experiments.statistics import answers_to_target, pick
from infonn.experiments.sweep import Claim, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.maths.paired import PairedDifference
from infonn.oracles.labels import LabelOracle
from infonn.plots.curves import draw_curves
from infonn.queries import Answers
from infonn.selection import class_strategies as rules
from infonn.selection.strategies import random
from infonn.tasks.labels import LabelTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACCURACY = "test_accuracy"
STRONG, PUBLISHED = "strong recipe", "published recipe"

Predict = Callable[[Belief, IntArray], FloatArray]  # belief, pictures -> class log-probabilities


def strategy_named(method: str, n_classes: int, switch: int | None) -> tuple[Strategy, int]:
    """The strategy behind a method's name, and how many classes its queries compare.

    "Info-NN-5" compares 5 classes; "Info-NN-3, no clusters" takes the most informative wherever they lie.
    """
    fixed = {
        "Random": random,
        "MaxEntropy": rules.entropy,
        "Margin": rules.margin,
        "K-Center": rules.k_center,
        "BALD": rules.bald,
        "BatchBALD": rules.batch_bald,
        "PowerBALD": rules.power_bald,
        "BADGE": rules.badge,
    }
    if method in fixed:
        return fixed[method](), 2
    length, _, rest = method.removeprefix("Info-NN-").partition(",")
    return rules.info_nn(n_classes, clusters=not rest, switch=switch), int(length)


@dataclass(frozen=True)
class HeldOutAccuracy:
    """Share of the test pictures whose class is predicted."""

    predict: Predict
    images: IntArray
    labels: IntArray

    def __call__(self, belief: Belief) -> float:
        return float((self.predict(belief, self.images).argmax(axis=1) == self.labels).mean())


def balanced(labels: IntArray, per_class: int, rng: np.random.Generator, without: IntArray | None = None) -> IntArray:
    """Items drawn at random, equally many of each class, none of `without`."""
    allowed = np.ones(len(labels), bool)
    if without is not None:
        allowed[without] = False
    parts = [rng.choice(np.flatnonzero(allowed & (labels == c)), per_class, replace=False) for c in np.unique(labels)]
    return np.concatenate(parts)


def bare_queries(items: IntArray) -> IntArray:
    """Queries that ask for the class of `items` and compare them with nothing."""
    queries = np.full((len(items), 3), -1, np.int32)
    queries[:, 0] = items
    return queries


def setups(
    plan: Plan,
    trial: int,
    data: Pictures,
    learner: Learner,
    predict: Predict,
    methods: Sequence[str],
    *,
    learner_name: str,
    first: int,
    size: int,
    rounds: int,
    switch: int | None = 10,
    validation: IntArray | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Setup]:
    """One curve per method, all from the same balanced start; `validation` items are never asked for."""
    seed = plan.seed_of(trial)
    start = balanced(data.labels, first // len(data.classes), np.random.default_rng([seed, 99]), validation)
    answers = Answers(bare_queries(start), data.labels[start].astype(np.int32), "label")
    built = []
    for method in methods:
        strategy, candidates = strategy_named(method, len(data.classes), switch)
        built.append(
            Setup(
                method=method,
                learner_name=learner_name,
                settings=dict(settings or {}),
                trial=trial,
                seed=seed,
                learner=learner,
                task=LabelTask(len(data.labels), data.classes, candidates),
                strategy=strategy,
                oracle=LabelOracle(data.labels),
                measures={ACCURACY: HeldOutAccuracy(predict, data.test_images, data.test_labels)},
                first=answers,
                size=size,
                rounds=rounds,
                kind="label",
                warm=False,
                asked=None if validation is None else bare_queries(validation),
            )
        )
    return built


# --- figures -------------------------------------------------------------------------------------------


def accuracy_figure(curves: Sequence[Curve], note: str = "") -> Figure:
    """Median and quartiles of the test accuracy, one panel per learner."""
    panels = {name: lines(pick(curves, learner=name), ACCURACY) for name in dict.fromkeys(c.learner for c in curves)}
    return draw_curves(panels, "labels", "test accuracy", width=5.6, height=4.2, note=note)


def labels_table(curves: Sequence[Curve], targets: Sequence[float]) -> str:
    """Labels to each target as Markdown: median and quartiles over trials, the first ones counted."""
    rows = [
        "| learner | method | trials | " + " | ".join(f"labels to {target:.1%}" for target in targets) + " |",
        "| --- | --- | --- | " + " | ".join("---" for _ in targets) + " |",
    ]
    for learner in dict.fromkeys(curve.learner for curve in curves):
        for method in dict.fromkeys(curve.method for curve in pick(curves, learner=learner)):
            own = pick(curves, method, learner)
            cells = " | ".join(_quartile_text([labels_to(curve, target) for curve in own]) for target in targets)
            rows.append(f"| {learner} | {method} | {len(own)} | {cells} |")
    return "\n".join(rows) + "\n"


def _quartile_text(counts: Sequence[float]) -> str:
    low, middle, high = (_quantile(counts, q) for q in (0.25, 0.5, 0.75))
    if low == high:
        return _count_text(middle)
    return f"{_count_text(middle)} ({_count_text(low)} to {_count_text(high)})"


def _count_text(count: float) -> str:
    return "never" if np.isinf(count) else f"{count:.0f}"


def _quantile(counts: Sequence[float], q: float) -> float:
    """By the nearest rank below, so that infinity is never averaged."""
    ordered = np.sort(np.asarray(counts, float))
    return float(ordered[int(np.floor(q * (len(ordered) - 1)))])


# --- claims --------------------------------------------------------------------------------------------


def labels_to(curve: Curve, target: float) -> float:
    """Labels until the accuracy stays at or above `target`, the shared first ones counted."""
    return answers_to_target(curve, ACCURACY, target) + curve.queries[0]


def median_labels_to(curves: Sequence[Curve], target: float) -> float:
    return _quantile([labels_to(curve, target) for curve in curves], 0.5) if curves else float("nan")


def compare(
    curves: Sequence[Curve], learner: str, first: str, second: str, low: float = 0, high: float = np.inf
) -> PairedDifference | None:
    """First minus second, averaged over the rounds with `low` to `high` labels, trial by trial."""
    return judging.compare(pick(curves, first, learner), pick(curves, second, learner), ACCURACY, low=low, high=high)


def outperforms(
    curves: Sequence[Curve], learner: str, ours: str, others: Sequence[str], low: float = 0, high: float = np.inf
) -> judging.Judgement:
    """Whether one method is above each of the others, and the paired differences."""
    return judging.above({other: compare(curves, learner, ours, other, low, high) for other in others})


def not_below(curves: Sequence[Curve], learner: str, first: str, second: str, margin: float) -> judging.Judgement:
    """Whether the first method is at most `margin` below the second on average."""
    return judging.not_below({"": compare(curves, learner, first, second)}, margin)


def target_claim(
    curves: Sequence[Curve], learner: str, target: float, labels: float, identifier: str, text: str
) -> Claim:
    """A target of ours: the best method gets to an accuracy with so many labels."""
    own = pick(curves, learner=learner)
    found = {method: median_labels_to(pick(own, method), target) for method in dict.fromkeys(c.method for c in own)}
    best = min(found.values(), default=float("nan"))
    holds = bool(best <= labels) if judging.enough(own) else None
    return Claim(identifier, text, "a target of ours", holds, found)
