"""What each part of the default brings: another criterion, batch rule or learner in its place, all else the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from infonn.contracts.loop import Learner, Strategy
from infonn.experiments.beyond import comparison as c
from infonn.experiments.beyond import food73, mds, synthetic
from infonn.experiments.beyond.earlier import probes_of
from infonn.experiments.figures import lines
from infonn.experiments.statistics import mean_level, paired_curves, paired_difference, pick
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Probe, Setup
from infonn.learners.posterior.learner import posterior
from infonn.plots.curves import draw_curves
from infonn.selection.joint import info_nn_gaussian, info_nn_joint, info_nn_pairwise, info_nn_targets
from infonn.selection.strategies import BATCH_POWER, entropy, info_nn, random

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT = c.OURS
RANDOM, ENTROPY, TARGETS = "Random", "Entropy", "Information about triplets"
BEST, JOINT, PAIRWISE, GAUSSIAN = "Best only", "Joint", "Pairwise", "Log-determinant"
FREE, GIVEN = "Features ignored", "Noise given"
EARLIER = ("Default, 0.1.0", "Linear metric, 0.1.0", "Hybrid, 0.1.0")  # kept as they were run
CRITERIA, RULES, LEARNERS = (RANDOM, ENTROPY, TARGETS), (BEST, JOINT, PAIRWISE, GAUSSIAN), (FREE, GIVEN)
PUBLISHED = ("Linear metric", "Hybrid")  # what results of 0.1.0 itself call them, beside the default of then
KINDS = {"criterion": CRITERIA, "batch rule": RULES, "learner": (*LEARNERS, *PUBLISHED, *EARLIER)}
N_TARGETS = 32  # triplets that stand for all: a quarter of the strategy's own number, and of its time

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    RANDOM: random,
    ENTROPY: lambda: entropy(power=BATCH_POWER),
    TARGETS: lambda: info_nn_targets(N_TARGETS, power=BATCH_POWER),
    BEST: lambda: info_nn(power=None),
    JOINT: info_nn_joint,
    PAIRWISE: info_nn_pairwise,
    GAUSSIAN: info_nn_gaussian,
}
SINGLE: dict[str, Callable[[], Strategy]] = {ENTROPY: entropy, TARGETS: lambda: info_nn_targets(N_TARGETS)}

DATA = {"mds": mds, "synthetic": synthetic, "food73": food73}
MEASURES = {"mds": mds.MEASURE, "synthetic": synthetic.MEASURE, "food73": food73.MEASURE}
METHODS = {  # one question at a time needs no batch rule; joint batches of 30 cost minutes
    "mds": (DEFAULT, *CRITERIA, GIVEN),
    "synthetic": (DEFAULT, *CRITERIA, *RULES, *LEARNERS),
    "food73": (DEFAULT, *CRITERIA, BEST, PAIRWISE, GAUSSIAN, *LEARNERS),
}


def build(plan: Plan, trial: int) -> list[Setup | Probe]:
    """Every method on every data set: the default of that experiment with one part changed."""
    setups: list[Setup | Probe] = []
    for name, rounds in plan.settings["rounds"].items():
        own = DATA[name].EXPERIMENT.settings(plan.settings["materials"])
        settings = {**own, "methods": (DEFAULT, c.RANDOM), "shares": (synthetic.CORRUPTED,), "rounds": rounds}
        default, at_random = DATA[name].build(replace(plan, settings=settings), trial)
        for method in METHODS[name]:
            base = at_random if method == RANDOM else default
            setups.append(replace(_changed(base, method), method=method, settings={"data": name}))
        if plan.settings["materials"] == "paper":
            setups += probes_of("ablation", name, trial, plan.seed_of(trial))
    return setups


def _changed(setup: Setup, method: str) -> Setup:
    if method in LEARNERS:
        return replace(setup, learner=_learner(setup, method))
    strategies = {**STRATEGIES, **SINGLE} if setup.size == 1 else STRATEGIES
    return replace(setup, strategy=strategies[method]()) if method in strategies else setup


def _learner(setup: Setup, method: str) -> Learner:
    """The default learner, its embedder or its response model chosen by hand."""
    n_items, features, dims = c.items_of(setup.learner)
    if method == GIVEN:  # as in the paper: no lapses, sharpness 1
        return posterior(n_items, features, dims, sharpness=1.0, lapse=0.0)
    return posterior(n_items, dims=dims)


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """For every part, whether no other choice is better on all data sets."""
    return [_claim(curves, kind, others) for kind, others in KINDS.items()]


def _claim(curves: Sequence[Curve], kind: str, others: Sequence[str]) -> Claim:
    evidence: dict[str, Any] = {}
    for name, measure in MEASURES.items():
        for method in others:
            evidence |= _difference(pick(curves, data=name), name, method, measure)
    better = [
        method
        for method in others
        if (own := [entry for key, entry in evidence.items() if key.endswith(f": {method}")])
        and all(entry["low"] > 0 for entry in own)
    ]
    text = f"No other {kind} is better than the default on all data sets (mean over all rounds, paired by trial)."
    return Claim(f"ablation-{kind.replace(' ', '-')}", text, c.WHERE, not better if evidence else None, evidence)


def _difference(curves: Sequence[Curve], name: str, method: str, measure: str) -> dict[str, Any]:
    """The method's mean level less the default's, its quartiles over trials, and the median last values of both."""
    theirs, ours = paired_curves(pick(curves, method), pick(curves, DEFAULT))
    if len(ours) < c.ENOUGH_TRIALS:
        return {}
    levels = [[mean_level(curve, measure) for curve in side] for side in (theirs, ours)]
    difference = paired_difference(levels[0], levels[1])
    entry = {key: round(float(getattr(difference, key)), 4) for key in ("mean", "low", "high", "wins")}
    after = theirs[0].queries[-1] - theirs[0].queries[0]
    last = {side: c.levels_at(own, measure, after) for side, own in (("last", theirs), ("last of the default", ours))}
    return {f"{name}: {method}": {**entry, "trials": difference.n, "after": after, **last}}


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    """One figure per part of the default, one panel per data set."""
    drawn = {}
    for kind, others in KINDS.items():
        shown = [curve for curve in curves if curve.method in (DEFAULT, *others)]
        panels = {
            name: lines(pick(shown, data=name), measure)
            for name, measure in MEASURES.items()
            if {curve.method for curve in pick(shown, data=name)} - {DEFAULT}
        }
        if panels:
            title = f"ablation-{kind.replace(' ', '-')}"
            drawn[title] = draw_curves(
                panels, "queries answered", "accuracy, or tau", width=4.4, height=3.8, bands=False
            )
    return drawn


EXPERIMENT = Experiment(
    name="beyond-ablation",
    title="Beyond: what each part of the default brings",
    where=c.WHERE,
    minutes={"smoke": 0.3, "paper": 10},
    presets={
        "smoke": {"trials": 1, "rounds": {"mds": 2, "synthetic": 1, "food73": 1}, "materials": "smoke"},
        "paper": {"trials": 10, "rounds": {"mds": 40, "synthetic": 12, "food73": 10}, "materials": "paper"},
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=(
        "Every method is the default with one part changed: the criterion, the batch rule, or the learner.",
        "synthetic: 25 % of the answers corrupted, batches of 10; food73: batches of 30; mds: one question at a time.",
        "Noise given: sharpness 1 and no lapses, as in the paper, instead of learned. Information about triplets uses "
        f"{N_TARGETS} of them.",
        "Learners of version 0.1.0 (a choice between two models, and a linear metric or a hybrid in its place) are "
        "kept as they were run then.",
        "Joint batches are left out for food73: 30 questions at a time take it minutes.",
    ),
)
