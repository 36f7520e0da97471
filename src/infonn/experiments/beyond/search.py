"""Whether questions that are searched for save answers against the best of a drawn pool, all else the same.

Only where a pool of 20,000 is a small part of what could be asked: elsewhere there is nothing to search for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numpy.random import default_rng

from infonn.contracts.loop import Measure, Oracle, Strategy
from infonn.datasets.eggs import alien_eggs
from infonn.datasets.synthetic import gaussian_points
from infonn.experiments.beyond import comparison as c
from infonn.experiments.figures import lines
from infonn.experiments.simulation import TripletAccuracy
from infonn.experiments.statistics import (
    answers_ratio,
    mean_level,
    paired_curves,
    paired_difference,
    pick,
    quartiles,
    series,
)
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.oracles.distances import DistanceOracle
from infonn.oracles.eggs import EggOracle
from infonn.oracles.noise import Corrupted
from infonn.plots.curves import draw_curves
from infonn.queries import Answers, draw_queries, split_into_triplets
from infonn.selection.joint import info_nn_gaussian
from infonn.selection.strategies import info_nn, random
from infonn.tasks.similarity import SimilarityTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURE = "triplet_accuracy"
POOL, SEARCH = "Pool", "Search"
JOINT_POOL, JOINT_SEARCH = "Log-determinant, pool", "Log-determinant, search"
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    POOL: info_nn,
    SEARCH: lambda: info_nn(search=True),
    JOINT_POOL: info_nn_gaussian,
    JOINT_SEARCH: lambda: info_nn_gaussian(search=True),
    c.RANDOM: random,
}
PAIRS = {SEARCH: POOL, JOINT_SEARCH: JOINT_POOL}
ONE, MANY = (POOL, SEARCH, c.RANDOM), (POOL, SEARCH, JOINT_POOL, JOINT_SEARCH, c.RANDOM)
FIRST, N_TEST, CORRUPT = 20, 10_000, 0.1

# items, dimensions of the points (0: the eggs), candidates, questions in a batch, methods, targets of the accuracy
DATA: dict[str, tuple[int, int, int, int, tuple[str, ...], tuple[float, ...]]] = {
    "60 points, one at a time": (60, 2, 3, 1, ONE, (0.75, 0.85)),
    "40 points, 5 candidates, one at a time": (40, 2, 5, 1, ONE, (0.75, 0.85)),
    "30 eggs, 3 candidates, batches of 20": (30, 0, 3, 20, MANY, (0.82, 0.83)),
    "30 eggs, 5 candidates, batches of 20": (30, 0, 5, 20, MANY, (0.82, 0.83)),
    "60 points, batches of 10": (60, 2, 3, 10, MANY, (0.75, 0.85)),
    "200 points, batches of 30": (200, 3, 3, 30, MANY, (0.7, 0.8)),
}

ROUNDS = {  # the published comparison: the two ways to choose alone
    "40 points, 5 candidates, one at a time": 40,
    "30 eggs, 3 candidates, batches of 20": 8,
    "60 points, batches of 10": 12,
    "200 points, batches of 30": 8,
}


def build(plan: Plan, trial: int) -> list[Setup]:
    """Every method on every data set, with the default learner."""
    setups = []
    for name, rounds in plan.settings["rounds"].items():
        n_items, n_dims, candidates, size, methods, _ = DATA[name]
        methods = tuple(method for method in methods if method in plan.settings.get("methods", methods))
        seed = plan.seed_of(trial)
        oracle, measure = _eggs() if n_dims == 0 else _points(n_items, n_dims, candidates, seed)
        opening = draw_queries(FIRST, n_items, candidates, default_rng([seed, 8]))
        first = Answers(opening, oracle.answer(opening, default_rng([seed, 6])))
        setups += [
            Setup(
                method,
                "posterior",
                {"data": name},
                trial,
                seed,
                learner=c.default_learner(n_items),
                task=SimilarityTask([str(item) for item in range(n_items)], candidates),
                strategy=STRATEGIES[method](),
                oracle=oracle,
                measures={MEASURE: measure},
                first=first,
                size=size,
                rounds=rounds,
            )
            for method in methods
        ]
    return setups


def _eggs() -> tuple[Oracle, Measure]:
    """Simulated people, and recorded people's answers as the test."""
    eggs = alien_eggs()
    return EggOracle(eggs.smoothness), TripletAccuracy(split_into_triplets(eggs.chosen_by("Test")))


def _points(n_items: int, n_dims: int, candidates: int, seed: int) -> tuple[Oracle, Measure]:
    """People of whose answers a tenth is random, and triplets of the true places as the test."""
    exact = DistanceOracle(gaussian_points(n_items, n_dims, default_rng([seed, 9])))
    held_out = draw_queries(N_TEST, n_items, 2, default_rng([seed, 7]))
    triplets = split_into_triplets(Answers(held_out, exact.answer(held_out, default_rng(0))))
    return Corrupted(exact, CORRUPT * (1 - 1 / candidates), seed), TripletAccuracy(triplets)


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """For each data set and batch rule, whether the search is better than the pool alone."""
    found = []
    for name in dict.fromkeys(curve.settings["data"] for curve in curves):
        own = pick(curves, data=name)
        found += [_claim(own, name, search, pool) for search, pool in PAIRS.items() if pick(own, search)]
    return found


def _claim(curves: Sequence[Curve], name: str, search: str, pool: str) -> Claim:
    ours, theirs = paired_curves(pick(curves, search), pick(curves, pool))
    text = f"{name}: {search} is better than {pool} over all rounds (mean accuracy, paired by trial)."
    words = "".join(letter if letter.isalnum() else " " for letter in f"search {name} {search}".lower()).split()
    identity = "-".join(words)
    if len(ours) < c.ENOUGH_TRIALS:
        return Claim(identity, text, c.WHERE, None, {"trials": len(ours)})
    levels = [[mean_level(curve, MEASURE) for curve in side] for side in (ours, theirs)]
    difference = paired_difference(levels[0], levels[1])
    evidence: dict[str, Any] = {
        key: round(float(getattr(difference, key)), 4) for key in ("mean", "low", "high", "wins")
    }
    for target in DATA[name][-1]:
        evidence[f"answers to {target:g}, of the pool's"] = round(answers_ratio(ours, theirs, MEASURE, target), 3)
    for side, own in ((search, ours), (pool, theirs)):
        evidence[f"last, {side}"] = round(float(quartiles(series(own, MEASURE))[1][-1]), 4)
    return Claim(identity, text, c.WHERE, difference.above, {**evidence, "trials": difference.n})


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    names = dict.fromkeys(curve.settings["data"] for curve in curves)
    panels = {name: lines(pick(curves, data=name), MEASURE) for name in names}
    return {"beyond-search": draw_curves(panels, "queries answered", "triplet accuracy", columns=2, bands=False)}


EXPERIMENT = Experiment(
    name="beyond-search",
    title="Beyond: questions searched for, beside the best of a pool",
    where=c.WHERE,
    minutes={"smoke": 1, "paper": 10, "all": 90},
    presets={
        "smoke": {"trials": 1, "rounds": dict.fromkeys(DATA, 2)},
        "paper": {"trials": 20, "methods": [POOL, SEARCH], "rounds": ROUNDS},
        "all": {"trials": 20, "rounds": dict(zip(DATA, (180, 120, 40, 30, 36, 40)))},
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=(
        "Methods of a trial share items, start and oracle; all learn by the default learner and draw the same pools.",
        "Points: a tenth of the answers is random. Eggs: simulated people answer, recorded people's answers test.",
        "beyond-mds and beyond-food73 ask from all queries or from a given pool, where nothing is searched for.",
    ),
)
