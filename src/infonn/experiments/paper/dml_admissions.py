"""Deep metric learning of a ranking of applicants, a quarter of the training answers corrupted (10 trials).

The paper's applicants are private. Two stand-ins, told apart by the setting `data`: simulated ones with the same
shape, and 133 people of a public table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from infonn.arrays import IntArray
from infonn.beliefs import Belief
from infonn.contracts.loop import Measure
from infonn.datasets.ranked_admissions import RankedApplicants, public_applicants, simulated_applicants
from infonn.experiments.paper.deep_metric import (
    ACCURACY,
    BATCH_METHODS,
    FEATURES_NOTE,
    METHODS,
    RANDOM_NN,
    RANDOM_TRIPLETS,
    TRAINING_NOTE,
    UNITS,
    VALIDATION_NOTE,
    WHERE,
    Materials,
    accuracy_claims,
    better_than,
    by_budget,
    claim_id,
    setups,
)
from infonn.experiments.statistics import pick
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.maths.accuracy import recall_at, top_fraction_at, triplet_accuracy
from infonn.oracles.noise import Corrupted
from infonn.oracles.replay import Recorded, ReplayOracle
from infonn.queries import Answers, draw_from_triplets, split_into_triplets
from infonn.selection.strategies import info_nn_distances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECALLS, TOPS = (1, 2, 3), (21, 25, 30)
APPLICANTS: dict[str, Callable[[Generator], RankedApplicants]] = {
    "simulated": simulated_applicants,
    "public": public_applicants,
}

PAPER = {
    "trials": 10,
    "methods": METHODS,
    "data": ("simulated", "public"),
    "n_train": 20_000,
    "n_test": 20_000,
    "rounds": 30,
    "size": 30,
    "n_best": 5,
    "layers": (16, 12, 10),
    "learning_rate": 1e-4,
    "epochs": 100,
    "sigma": 10**0.5,
    "mu": 1e-5,
    "n_draws": 1330,
    "corrupted": 0.25,
}


def materials(plan: Plan, trial: int, data: str) -> Materials:
    """Applicants, pool and test set of a trial."""
    settings = plan.settings
    seed = plan.seed_of(trial)
    rng = np.random.default_rng([seed, 0])
    applicants = APPLICANTS[data](rng)
    drawn = draw_from_triplets(applicants.triplets, settings["n_train"] + settings["n_test"], 3, rng)
    train, test = drawn.take(slice(settings["n_train"])), drawn.take(slice(settings["n_train"], None))
    corrupted = Corrupted(ReplayOracle(Recorded(train)), settings["corrupted"], seed)
    answers = Answers(train.queries, corrupted.answer(train.queries, rng))
    return Materials(applicants.features, answers, measures_of(applicants, split_into_triplets(test)))


def measures_of(applicants: RankedApplicants, triplets: IntArray) -> dict[str, Measure]:
    """Triplet accuracy, Recall@K of the seven classes, TopFraction@K of the admitted."""

    def accuracy(belief: Belief) -> float:
        return triplet_accuracy(belief.embedding, triplets)

    def recall(k: int, belief: Belief) -> float:
        return recall_at(belief.embedding, applicants.classes, k)

    def top_fraction(k: int, belief: Belief) -> float:
        return top_fraction_at(belief.embedding, applicants.admitted, k)

    recalls: dict[str, Measure] = {f"recall_at_{k}": partial(recall, k) for k in RECALLS}
    tops: dict[str, Measure] = {f"top_fraction_at_{k}": partial(top_fraction, k) for k in TOPS}
    return {ACCURACY: accuracy, **recalls, **tops}


def build(plan: Plan, trial: int) -> list[Setup]:
    settings = plan.settings
    built = []
    for data in settings["data"]:
        for setup in setups(plan, trial, materials(plan, trial, data), info_nn_distances, settings["methods"]):
            built.append(replace(setup, settings={"data": data}))
    return built


def figures(curves: Sequence[Curve]) -> Mapping[str, Figure]:
    titles = {ACCURACY: "triplet accuracy"}
    titles |= {f"recall_at_{k}": f"Recall@{k}" for k in RECALLS}
    titles |= {f"top_fraction_at_{k}": f"TopFraction@{k}" for k in TOPS}
    drawn = {}
    for data in dict.fromkeys(curve.settings["data"] for curve in curves):
        for measure, title in titles.items():
            drawn[f"{data}_{measure}"] = by_budget(pick(curves, data=data), measure, f"{title} ({data})")
    return drawn


def claims(curves: Sequence[Curve]) -> list[Claim]:
    found = []
    for data in dict.fromkeys(curve.settings["data"] for curve in curves):
        own = pick(curves, data=data)
        name = f"Admissions ({data})"
        found += accuracy_claims(own, name)
        others = (*BATCH_METHODS, RANDOM_NN, RANDOM_TRIPLETS)
        for measure in [f"recall_at_{k}" for k in RECALLS] + [f"top_fraction_at_{k}" for k in TOPS]:
            title = measure.replace("recall_at_", "Recall@").replace("top_fraction_at_", "TopFraction@")
            for axis, unit in UNITS.items():
                found.append(
                    Claim(
                        claim_id(name, f"info_nn_best_{measure}_per_{unit}"),
                        f"{name}: Info-NN has the best {title} per {unit}.",
                        WHERE if measure in ("recall_at_1", "top_fraction_at_21") else "Appendix, additional results",
                        *better_than(own, others, measure, axis),
                    )
                )
    return found


EXPERIMENT = Experiment(
    name="dml-admissions",
    title="Deep metric learning, ranked applicants with corrupted answers",
    where="Deep metric learning, Graduate Admissions",
    minutes={"smoke": 1, "paper": 40},
    presets={
        "paper": PAPER,
        "smoke": PAPER
        | {
            "trials": 1,
            "n_train": 4000,
            "n_test": 4000,
            "rounds": 4,
            "epochs": 30,
            "n_draws": 128,
        },
    },
    build=build,
    claims=claims,
    figures=figures,
    together=10,
    notes=(
        TRAINING_NOTE,
        VALIDATION_NOTE,
        FEATURES_NOTE,
        "The paper's applicants are private: `simulated` has their shape, `public` is 133 people of a public table, "
        "with 7 features. Absolute numbers cannot be compared with the paper's; orderings can.",
        "Corrupted: a wrong option drawn uniformly, fixed per query, in training only; test answers are clean.",
        "Info-NN-distances, variance 10: the best query of every reference, the 5 best of those, and 25 at random.",
    ),
)
