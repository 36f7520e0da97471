"""How far the default is from what nobody could beat: the noise known, ideal answers, or all answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from infonn.experiments.beyond import comparison as c
from infonn.experiments.beyond import food73, mds, synthetic
from infonn.experiments.figures import lines
from infonn.experiments.statistics import answers_ratio, pick
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.learners.posterior.learner import posterior
from infonn.plots.curves import draw_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KNOWN, KNOWN_RANDOM, ALL = "Info-NN, noise known", "Random, noise known", "All answers"
DATA = {"mds": mds, "corrupted": synthetic, "clean": synthetic, "food73": food73}
SHARES = {"corrupted": synthetic.CORRUPTED, "clean": synthetic.CLEAN}
LAPSES = {"mds": 0.0, "corrupted": 1.5 * synthetic.CORRUPTED, "clean": 0.0}  # a lapse hits the right one of 3 as well
METHODS = {
    "mds": (KNOWN, KNOWN_RANDOM),
    "corrupted": (KNOWN, ALL),
    "clean": (KNOWN, KNOWN_RANDOM),
    "food73": (ALL,),
}
MEASURES = {"mds": mds.MEASURE, "corrupted": synthetic.MEASURE, "clean": synthetic.MEASURE, "food73": food73.MEASURE}


def build(plan: Plan, trial: int) -> list[Setup]:
    """What each data set's ceiling is told by; items, start, pool and oracle are those of the experiment itself."""
    setups = []
    for name, rounds in plan.settings["rounds"].items():
        own = DATA[name].EXPERIMENT.settings(plan.settings["materials"])
        settings = {**own, "methods": (c.OURS, c.RANDOM), "rounds": rounds, "shares": (SHARES.get(name),)}
        ours, at_random = DATA[name].build(replace(plan, settings=settings), trial)
        bases = {KNOWN: ours, KNOWN_RANDOM: at_random, ALL: ours}
        for method in METHODS[name]:
            setup = replace(bases[method], method=method, settings={"data": name})
            setups.append(
                _with_all_answers(setup, own["n_train"], plan.settings["chains"])
                if method == ALL
                else _with_known_noise(setup, name)
            )
    return setups


def _with_known_noise(setup: Setup, name: str) -> Setup:
    """The learner is told the lapse rate."""
    n_items, features, dims = c.items_of(setup.learner)
    return replace(setup, learner=posterior(n_items, features, dims, lapse=LAPSES[name]))


def _with_all_answers(setup: Setup, n_answers: int, n_chains: int) -> Setup:
    """One fit of the default learner to every answer of the pool; few chains will do."""
    n_items, features, dims = c.items_of(setup.learner)
    return replace(setup, learner=posterior(n_items, features, dims, n_chains=n_chains), first=n_answers, rounds=0)


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """Whether each missed target would be reached at the ceiling. `missed` names the claim that it belongs to."""
    found = [
        _ratio(curves, "mds", "beyond-mds", 0.75, 0.55),
        _level(curves, "corrupted", KNOWN, "beyond-synthetic", 100, 0.88),
        _level(curves, "clean", KNOWN, "beyond-synthetic", 100, 0.88, "corrupted", "ideal answers, noise known"),
        _level(curves, "corrupted", ALL, "beyond-synthetic", 100, 0.88),
        _ratio(curves, "clean", "beyond-synthetic", 0.95, 0.45),
        *(_level(curves, "food73", ALL, "beyond-food73", n, level) for n, level in food73.LEVELS.items()),
    ]
    return [claim for claim in found if claim is not None]


def _ratio(curves: Sequence[Curve], name: str, experiment: str, target: float, most: float) -> Claim | None:
    """Info-NN's share of random's answers where both know the noise."""
    own = pick(curves, data=name)
    if not own:
        return None
    ratio = answers_ratio(pick(own, KNOWN), pick(own, KNOWN_RANDOM), MEASURES[name], target)
    answers = {method: c.answers_needed(pick(own, method), MEASURES[name], target) for method in (KNOWN, KNOWN_RANDOM)}
    enough = len(pick(own, KNOWN)) >= c.ENOUGH_TRIALS and ratio == ratio
    evidence: dict[str, Any] = {"experiment": experiment, "missed": f"{name}-answers", "wanted": most, "at most": True}
    evidence |= {
        "what": f"share of random's answers to {target:g}",
        "ceiling": "noise known",
        "reached": round(ratio, 4),
    }
    text = f"{name}: where the noise is known, Info-NN needs at most {most:g} of random's answers to {target:g}."
    return Claim(f"ceiling-{name}-answers", text, c.WHERE, ratio <= most if enough else None, evidence | answers)


def _level(
    curves: Sequence[Curve],
    name: str,
    method: str,
    experiment: str,
    after: int,
    target: float,
    missed: str = "",
    ceiling: str = "",
) -> Claim | None:
    """The level at the ceiling, where the default missed its target after so many answers."""
    own = pick(curves, method, data=name)
    if not own:
        return None
    levels = c.levels_at(own, MEASURES[name], 0 if method == ALL else after)
    enough = levels is not None and len(own) >= c.ENOUGH_TRIALS
    ceiling = ceiling or (f"all {own[0].queries[0]:,} answers" if method == ALL else "noise known")
    evidence: dict[str, Any] = {"experiment": experiment, "missed": f"{missed or name}-level", "wanted": target}
    evidence |= {"what": f"after {after}", "ceiling": ceiling, "quartiles": levels, "at most": False}
    evidence["reached"] = None if levels is None else levels[1]
    text = (
        f"{missed or name}: with {ceiling} a median accuracy of {target:g} is reached (wanted after {after} answers)."
    )
    holds = levels[1] >= target if levels is not None and enough else None
    return Claim(f"ceiling-{name}-{after}-{'all' if method == ALL else 'known'}", text, c.WHERE, holds, evidence)


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    """Curves where the noise is known; what all answers give is a single number, and stands in the claims."""
    known = [curve for curve in curves if curve.method != ALL]
    panels = {name: lines(own, MEASURES[name]) for name in DATA if (own := pick(known, data=name))}
    label = "accuracy, or tau"
    return {"ceilings": draw_curves(panels, "queries answered", label, width=4.4, height=3.8)} if panels else {}


EXPERIMENT = Experiment(
    name="beyond-ceilings",
    title="Beyond: how far the ceilings are",
    where=c.WHERE,
    minutes={"smoke": 0.3, "paper": 10},
    presets={
        "smoke": {
            "trials": 1,
            "rounds": {"mds": 5, "corrupted": 2, "clean": 2, "food73": 0},
            "materials": "smoke",
            "chains": 4,
        },
        "paper": {
            "trials": 10,
            "rounds": {"mds": 100, "corrupted": 12, "clean": 26, "food73": 0},
            "materials": "paper",
            "chains": 8,
        },
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=(
        "Noise known: the learner is told the lapse rate (0; .375 where a quarter of the answers is corrupted). "
        "Sharpness, scale and all else stay learned.",
        "Ideal answers: the same items with no answer corrupted.",
        "All answers: the default learner, 8 chains, fitted once to all 20,000 answers of the pool.",
        "The true metric itself has accuracy 1 on the clean test answers of the synthetic data, and tau 1.",
    ),
)
