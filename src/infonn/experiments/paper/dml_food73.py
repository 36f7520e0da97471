"""Deep metric learning of how 73 dishes taste, from people's inconsistent judgements (10 trials)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.datasets.food import TASTES, food73
from infonn.experiments.paper.deep_metric import (
    ACCURACY,
    BATCH_METHODS,
    FEATURES_NOTE,
    METHODS,
    TRAINING_NOTE,
    VALIDATION_NOTE,
    Materials,
    accuracy_claims,
    as_triplets,
    better_than,
    by_budget,
    setups,
)
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.maths.accuracy import top_fraction_at, triplet_accuracy
from infonn.queries import Answers, draw_from_triplets, not_among, split_into_triplets
from infonn.selection.strategies import info_nn_distances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNSEEN_ACCURACY, PURITY = "unseen_triplet_accuracy", "sweet_savory_purity"

PAPER = {
    "trials": 10,
    "methods": METHODS,
    "n_train": 20_000,
    "n_test": 20_000,
    "rounds": 30,
    "size": 30,
    "n_best": 5,
    "layers": (12, 12, 12),
    "learning_rate": 5e-4,
    "epochs": 100,
    "sigma": 6.5**0.5,
    "mu": 1e-5,
    "n_draws": 1000,
}


def materials(plan: Plan, trial: int) -> Materials:
    """Pool and test set of a trial: queries drawn from the 1,047,251 that the judgements imply.

    Queries share triplets, so the paper's test set holds some that were trained on. Beside it stands the accuracy on
    the judgements about triplets that occur in no query of the pool.
    """
    settings = plan.settings
    food = food73()
    rng = np.random.default_rng([plan.seed_of(trial), 0])
    drawn = draw_from_triplets(food.triplets, settings["n_train"] + settings["n_test"], 3, rng)
    train, test = drawn.take(slice(settings["n_train"])), drawn.take(slice(settings["n_train"], None))
    triplets = split_into_triplets(test)
    unseen = unseen_triplets(train)

    def accuracy(belief: Belief) -> float:
        return triplet_accuracy(belief.embedding, triplets)

    def unseen_accuracy(belief: Belief) -> float:
        return triplet_accuracy(belief.embedding, unseen)

    def purity(belief: Belief) -> float:
        return sweet_savory_purity(belief.embedding)

    measures = {ACCURACY: accuracy, UNSEEN_ACCURACY: unseen_accuracy, PURITY: purity}
    validation = None
    if settings.get("validate"):
        others = draw_from_triplets(
            food.triplets, settings["n_validation"], 3, np.random.default_rng([plan.seed_of(trial), 2])
        )
        validation = split_into_triplets(others.take(not_among(others.queries, drawn.queries, "nearest")))
    return Materials(food.tastes, train, measures, validation)


def unseen_triplets(train: Answers) -> IntArray:
    """The judgements about triplets that no query of the pool holds, whichever way they were answered."""
    judged = food73().triplets
    unseen: IntArray = judged[not_among(judged, as_triplets(train).queries, "nearest")]
    return unseen


def sweet_savory_purity(embedding: FloatArray) -> float:
    """Share of a dish's 5 nearest that are on its side, sweet or savory, averaged over both kinds of dishes."""
    tastes = food73().tastes
    sweet = tastes[:, TASTES.index("sweet")] > tastes[:, TASTES.index("savory")]
    return (top_fraction_at(embedding, sweet, 5) + top_fraction_at(embedding, ~sweet, 5)) / 2


def build(plan: Plan, trial: int) -> list[Setup]:
    settings = plan.settings
    return setups(plan, trial, materials(plan, trial), info_nn_distances, settings["methods"])


def figures(curves: Sequence[Curve]) -> Mapping[str, Figure]:
    return {
        "accuracy": by_budget(curves, ACCURACY, "triplet accuracy (paper's split)"),
        "unseen_accuracy": by_budget(curves, UNSEEN_ACCURACY, "accuracy on unseen triplets"),
    }


def claims(curves: Sequence[Curve]) -> list[Claim]:
    separated = Claim(
        "food73_info_nn_separates_sweet_from_savory",
        "Food73: Info-NN separates savory from sweet dishes better than Batch-Euclidean and Batch-Centroid "
        "(share of the 5 nearest dishes on the same side), per triplet.",
        "Figures of the food embeddings",
        *better_than(curves, BATCH_METHODS, PURITY, "triplets"),
    )
    unseen = accuracy_claims(curves, "Food73, unseen triplets", UNSEEN_ACCURACY)
    return [*accuracy_claims(curves, "Food73"), *unseen, separated]


EXPERIMENT = Experiment(
    name="dml-food73",
    title="Deep metric learning, how 73 dishes taste",
    where="Deep metric learning, Food73",
    minutes={"smoke": 1, "paper": 15},
    presets={
        "paper": PAPER,
        "smoke": PAPER | {"trials": 2, "n_train": 4000, "n_test": 4000, "rounds": 5, "epochs": 40, "n_draws": 128},
    },
    build=build,
    claims=claims,
    figures=figures,
    together=10,
    notes=(
        TRAINING_NOTE,
        VALIDATION_NOTE,
        FEATURES_NOTE,
        "The paper's split is by query, and queries share triplets; `unseen_triplet_accuracy` is that on judgements "
        "about triplets that no query of the training pool holds.",
        "Where people disagree on a query, its recorded answer is drawn once per trial.",
        "Info-NN-distances, variance 6.5: the best query of every reference, the 5 best of those, and 25 at random.",
    ),
)
