"""Thirty alien eggs on a line: simulated people answer, and recorded people's answers are the test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import default_rng

from infonn.arrays import IntArray
from infonn.beliefs import Belief
from infonn.datasets.eggs import alien_eggs
from infonn.experiments.beyond import comparison as c
from infonn.experiments.figures import lines
from infonn.experiments.statistics import pick
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.learners.mds import MDS
from infonn.maths.accuracy import triplet_accuracy
from infonn.oracles.eggs import EggOracle
from infonn.plots.curves import Line, draw_curves
from infonn.queries import Answers, all_queries, split_into_triplets
from infonn.selection.strategies import info_nn_distances
from infonn.tasks.similarity import SimilarityTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURE = "human_accuracy"
FIRST = 20
LEVEL = 0.835  # Salmon's accuracy after about 1,100 answers with its active sampler, 2,600 with random ones
TARGETS = {2: 600, 3: 400}  # candidates: answers that should suffice
SECONDS_AT_TWO = 1.74  # median answer time of people with two candidates
MORE_SECONDS = (0.25, 1.0)  # a further candidate costs between these parts of that time: nobody has measured it


def build(plan: Plan, trial: int) -> list[Setup]:
    """Every length of query, chosen and random; the published recipe at two candidates, Salmon's kind of query."""
    eggs = alien_eggs()
    n_items = len(eggs.names)
    seed = plan.seed_of(trial)
    oracle = EggOracle(eggs.smoothness)
    triplets = split_into_triplets(eggs.chosen_by("Test"))

    def accuracy(belief: Belief) -> float:
        return triplet_accuracy(belief.embedding, triplets)

    setups = []
    for candidates, rounds in plan.settings["rounds"].items():
        pool = _pool(n_items, int(candidates))
        rng = default_rng([seed, 8, int(candidates)])
        opening = pool[rng.choice(len(pool), FIRST, replace=False)]
        first = Answers(opening, oracle.answer(opening, rng))
        for method in plan.settings["methods"]:
            published = method == c.PUBLISHED
            if published and int(candidates) != 2:
                continue
            setups.append(
                Setup(
                    method,
                    "mds" if published else "posterior",
                    {"candidates": int(candidates)},
                    trial,
                    seed,
                    learner=MDS(n_items, 2) if published else c.default_learner(n_items),
                    task=SimilarityTask(eggs.names, int(candidates), pool=pool),
                    strategy=info_nn_distances() if published else c.strategy_of(method),
                    oracle=oracle,
                    measures={MEASURE: accuracy},
                    first=first,
                    size=plan.settings["size"],
                    rounds=rounds,
                )
            )
    return setups


@lru_cache
def _pool(n_items: int, candidates: int) -> IntArray:
    """All queries, or 20,000 of them where there are more."""
    pool = all_queries(n_items, candidates)
    if len(pool) > 20_000:
        pool = pool[np.sort(default_rng(candidates).choice(len(pool), 20_000, replace=False))]
    pool.setflags(write=False)
    return pool


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """The target of each length, and who is better."""
    found = []
    for candidates in sorted({curve.settings["candidates"] for curve in curves}):
        own, name = pick(curves, candidates=candidates), f"eggs-{candidates}"
        if candidates in TARGETS:
            found.append(c.level_claim(own, name, MEASURE, {TARGETS[candidates]: LEVEL}))
        found.append(c.ratio_claim(own, name, MEASURE, LEVEL - 0.015, 0.7))
        found.append(c.better_claim(own, name, MEASURE, c.RANDOM))
        if candidates == 2:
            found.append(c.better_claim(own, name, MEASURE, c.PUBLISHED))
    return found


def ceiling() -> float:
    """The share of people's test answers that the true places explain."""
    eggs = alien_eggs()
    return triplet_accuracy(eggs.smoothness[:, None], split_into_triplets(eggs.chosen_by("Test")))


def seconds_per_answer(candidates: int) -> tuple[float, float]:
    """What an answer costs a person: known for two candidates, a band for more."""
    low, high = (SECONDS_AT_TWO * (1 + part * (candidates - 2)) for part in MORE_SECONDS)
    return low, high


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    """Accuracy per answer, per triplet, and per second at both ends of the band."""
    lengths = sorted({curve.settings["candidates"] for curve in curves})
    panels = {f"{n} candidates": lines(pick(curves, candidates=n), MEASURE) for n in lengths}
    chosen = pick(curves, c.OURS)

    def name(curve: Curve) -> str:
        return f"{curve.settings['candidates']} candidates"

    def in_seconds(end: int) -> list[Line]:
        made = lines(chosen, MEASURE, name=name)
        costs = [seconds_per_answer(n)[end] for n in lengths]
        return [Line(line.name, np.asarray(line.x) * cost / 60, line.values) for line, cost in zip(made, costs)]

    costs = {
        "Per answer": lines(chosen, MEASURE, name=name),
        "Per triplet": lines(chosen, MEASURE, "triplets", name),
        "Per minute, more candidates cheap": in_seconds(0),
        "Per minute, more candidates dear": in_seconds(1),
    }
    label = "accuracy on people's answers"
    return {
        "beyond-eggs": draw_curves(panels, "queries answered", label, width=4.6, height=3.8),
        "beyond-eggs-cost": draw_curves(costs, "", label, columns=2, width=4.8, height=3.4, bands=False),
    }


EXPERIMENT = Experiment(
    name="beyond-eggs",
    title="Beyond: alien eggs, people's answers as the test",
    where=c.WHERE,
    minutes={"smoke": 0.3, "paper": 15},
    presets={
        "smoke": {"trials": 1, "rounds": {"2": 6, "3": 4}, "size": 20, "methods": c.COMPARED},
        "paper": {"trials": 20, "rounds": {"2": 55, "3": 30, "5": 20}, "size": 20, "methods": c.COMPARED},
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=(
        *c.NOTES,
        "Answers are simulated by the noise model that Salmon's authors fitted to people; with more than two "
        "candidates an answer is a knockout of such comparisons in random order.",
        "Accuracy is on the 4,014 recorded Test answers of people; the true places reach 0.842 of them.",
        "Seconds: 1.74 for two candidates, as people took; a further candidate is taken to cost between a quarter "
        "and the whole of that.",
    ),
)
