"""What the experiments beyond the paper share: who is compared, with what defaults, and how targets are judged.

The defaults are one setting for all: the learner that a study gets whose owner sets nothing. Counts of answers leave
out the start that all methods of a trial share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infonn.arrays import FloatArray
from infonn.contracts.loop import Learner, Strategy
from infonn.experiments import judging
from infonn.experiments.judging import above, compare, enough
from infonn.experiments.statistics import (
    answers_ratio,
    answers_to_target,
    median_answers,
    paired_curves,
    pick,
    quartiles,
    value_at,
)
from infonn.experiments.sweep import Claim
from infonn.experiments.trial import Curve
from infonn.learners.posterior.learner import posterior
from infonn.selection.strategies import info_nn, random

OURS, RANDOM, PUBLISHED = "Info-NN", "Random", "Info-NN as published"
COMPARED = (OURS, RANDOM, PUBLISHED)
WHERE = "Beyond the paper"
ENOUGH_TRIALS = judging.ENOUGH_TRIALS

NOTES = (
    "Info-NN and Random use the default learner (a posterior, all settings learned from the answers); Info-NN is the "
    "default strategy. One setting for all experiments.",
    "Methods of a trial share items, start and oracle. Answers to a target leave out the shared start.",
)


def strategy_of(method: str) -> Strategy:
    """How a method that learns by the default learner chooses its queries."""
    return {OURS: info_nn, RANDOM: random}[method]()


def default_learner(n_items: int, features: FloatArray | None = None, dims: int | None = None) -> Learner:
    """What a user gets who sets nothing; `dims` where the experiment gives them to every method."""
    return posterior(n_items, features=features, dims=dims)


def items_of(learner: Any) -> tuple[int, FloatArray | None, int | None]:
    """What a default learner was made of: so many items, their features, the dimensions it was given."""
    return learner.n_items, learner.features, learner.dims


# --- judging -----------------------------------------------------------------------------------------------


def levels_at(curves: Sequence[Curve], measure: str, after: int) -> list[float] | None:
    """Lower quartile, median, upper quartile of a measure after so many answers beyond the start."""
    values = [value_at(curve, measure, curve.queries[0] + after) for curve in curves]
    if not values or np.isnan(values).any():
        return None
    return [round(float(value), 4) for value in quartiles(np.array(values))]


def level_claim(
    curves: Sequence[Curve], name: str, measure: str, targets: dict[int, float], reference: str = WHERE
) -> Claim:
    """Whether the median of Info-NN reaches each target after so many answers; random and published stand beside."""
    evidence: dict[str, Any] = {}
    reached = []
    for after, target in targets.items():
        levels = {method: levels_at(pick(curves, method), measure, after) for method in COMPARED}
        evidence[f"after {after}"] = {"target": target, **levels}
        ours = levels[OURS]
        reached.append(None if ours is None else ours[1] >= target)
    wanted = ", ".join(f"{target:g} after {after}" for after, target in targets.items())
    holds = None if not enough(curves) or None in reached else all(reached)
    return Claim(
        f"{name}-level", f"Info-NN reaches a median {measure} of {wanted} answers.", reference, holds, evidence
    )


def ratio_claim(curves: Sequence[Curve], name: str, measure: str, target: float, most: float) -> Claim:
    """Whether Info-NN needs at most this share of random's answers to the target, under the same learner."""
    ours, theirs = paired_curves(pick(curves, OURS), pick(curves, RANDOM))
    ratio = answers_ratio(ours, theirs, measure, target)
    evidence = {
        "target": target,
        "ratio of medians": _finite(ratio),
        **{method: answers_needed(pick(curves, method), measure, target) for method in COMPARED},
    }
    holds = None if not enough(curves) or np.isnan(ratio) else bool(ratio <= most)
    text = f"Info-NN needs at most {most:g} of random's answers to a {measure} of {target:g}, under the same learner."
    return Claim(f"{name}-answers", text, WHERE, holds, evidence)


def better_claim(curves: Sequence[Curve], name: str, measure: str, other: str) -> Claim:
    """Whether Info-NN lies above another method over all rounds, trial by trial."""
    text = f"Info-NN is better than {other} over all rounds (mean {measure}, paired by trial)."
    judged = above({"": compare(pick(curves, OURS), pick(curves, other), measure)})
    return Claim(f"{name}-beats-{_slug(other)}", text, WHERE, *judged)


def answers_needed(curves: Sequence[Curve], measure: str, target: float) -> dict[str, Any]:
    """Quartiles over trials of the answers to a target; None stands for never, within these rounds."""
    if not curves:
        return {"median": None, "low": None, "high": None}
    counts = np.array([answers_to_target(curve, measure, target) for curve in curves])
    low, high = np.quantile(counts, [0.25, 0.75], method="nearest")
    return {"median": _finite(median_answers(curves, measure, target)), "low": _finite(low), "high": _finite(high)}


def _finite(value: float) -> float | None:
    return round(float(value), 3) if np.isfinite(value) else None


def _slug(text: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())
