"""Deep metric learning of a random Mahalanobis metric, a quarter of the training answers corrupted (20 trials)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from infonn.beliefs import Belief
from infonn.datasets.synthetic import mahalanobis_items
from infonn.experiments.paper.deep_metric import (
    ACCURACY,
    FEATURES_NOTE,
    METHODS,
    TRAINING_NOTE,
    VALIDATION_NOTE,
    Materials,
    accuracy_claims,
    by_budget,
    distinct_queries,
    setups,
)
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.maths.accuracy import triplet_accuracy
from infonn.oracles.distances import mahalanobis_oracle
from infonn.oracles.noise import Corrupted
from infonn.queries import Answers, split_into_triplets
from infonn.selection.strategies import info_nn_embedding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = {
    "trials": 20,
    "methods": METHODS,
    "n_train": 20_000,
    "n_test": 20_000,
    "rounds": 30,
    "size": 10,
    "n_best": 10,
    "layers": (32, 48, 10),
    "learning_rate": 1e-4,
    "epochs": 100,
    "sigma": 1.0,
    "mu": 1e-5,
    "n_draws": 100,
    "corrupted": 0.25,
}


def materials(plan: Plan, trial: int) -> Materials:
    """Items, metric, pool and test set of a trial."""
    settings = plan.settings
    seed = plan.seed_of(trial)
    rng = np.random.default_rng([seed, 0])
    items = mahalanobis_items(rng, 100, 10)
    oracle = mahalanobis_oracle(items.features, items.metric)
    queries = distinct_queries(settings["n_train"] + settings["n_test"], 100, 3, rng)
    train, test = queries[: settings["n_train"]], queries[settings["n_train"] :]
    corrupted = Corrupted(oracle, settings["corrupted"], seed)
    triplets = split_into_triplets(Answers(test, oracle.answer(test, rng)))

    def accuracy(belief: Belief) -> float:
        return triplet_accuracy(belief.embedding, triplets)

    answers = Answers(train, corrupted.answer(train, rng))
    validation = None
    if settings.get("validate"):
        rng = np.random.default_rng([seed, 2])
        asked = distinct_queries(settings["n_validation"], 100, 3, rng)
        validation = split_into_triplets(Answers(asked, oracle.answer(asked, rng)))
    return Materials(items.features, answers, {ACCURACY: accuracy}, validation)


def build(plan: Plan, trial: int) -> list[Setup]:
    settings = plan.settings
    return setups(plan, trial, materials(plan, trial), info_nn_embedding, settings["methods"])


def figures(curves: Sequence[Curve]) -> Mapping[str, Figure]:
    return {"accuracy": by_budget(curves, ACCURACY, "triplet accuracy")}


def claims(curves: Sequence[Curve]) -> list[Claim]:
    return accuracy_claims(curves, "Synthetic")


EXPERIMENT = Experiment(
    name="dml-synthetic",
    title="Deep metric learning, Mahalanobis metric with corrupted answers",
    where="Deep metric learning, synthetic data",
    minutes={"smoke": 0.3, "paper": 5},
    presets={
        "paper": PAPER,
        "smoke": PAPER | {"trials": 2, "n_train": 4000, "n_test": 4000, "rounds": 6, "epochs": 40},
    },
    build=build,
    claims=claims,
    figures=figures,
    together=20,
    notes=(
        TRAINING_NOTE,
        VALIDATION_NOTE,
        FEATURES_NOTE,
        "Corrupted: a wrong option drawn uniformly, fixed per query, in training only; test answers are clean.",
        "Info-NN-embedding with noise N(0, 1): the best query of every reference, then the 10 best of those.",
    ),
)
