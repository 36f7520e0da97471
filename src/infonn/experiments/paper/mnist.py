"""MNIST: 30 balanced labels, batches of 10, the paper's network; with and without clusters; queries of any length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from infonn.arrays import IntArray
from infonn.datasets.images import Pictures, load
from infonn.experiments.paper.labelling import (
    PUBLISHED,
    STRONG,
    accuracy_figure,
    balanced,
    labels_table,
    outperforms,
    setups,
    target_claim,
)
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from infonn.learners.classifiers.cnn import CNN

BASELINES = ("Random", "MaxEntropy", "K-Center", "BatchBALD")  # those of the paper
METHODS = (*BASELINES, "PowerBALD", "BADGE", "Info-NN-3")
VALIDATION_PER_CLASS = 10
WHERE = "Classification, Figure on MNIST; appendix, Classification"
STRONG_NOTE = (
    "Strong recipe (default): augmented pictures, averaged weights, a fixed number of steps, no validation labels."
)
PUBLISHED_NOTES = (
    "Published recipe: Adam 1e-3, at most 250 epochs, stopped after 10 epochs in a row of rising loss on 100 "
    "validation labels. Those 100 labels are spent, and not counted in the curves, as in the paper.",
    "One validation set serves all trials.",
)
NOTES = (
    "Dropout drops whole filters, 50 masks shared by the pool are the draws.",
    "Info-NN: mu the largest and sigma the deviation of unlabelled-to-labelled distances, 128 shared Sobol draws; "
    "k-means clusters until every class has 10 labels, then the majority of the 5 nearest labelled items.",
    "Trials with equal seeds share their first labels.",
)
BATCHBALD_NOTE = (
    "BatchBALD scores all 60,000 items (the paper: 20,000), exact up to 1,000 joint answers, then 1,000 sampled."
)


@lru_cache(maxsize=1)
def data(pool: int | None = None) -> Pictures:
    """MNIST, or its first `pool` training and test pictures."""
    whole = load("mnist")
    if pool is None:
        return whole
    return Pictures(
        whole.images[:pool], whole.labels[:pool], whole.test_images[:pool], whole.test_labels[:pool], whole.classes
    )


@lru_cache(maxsize=4)
def learner(
    recipe: str, pool: int | None, device: str, seed: int, steps: int, n_draws: int
) -> tuple[CNN, IntArray | None]:
    """The network under a recipe, and its validation items (none for ours). One for all trials, so that they stack."""
    from infonn.learners.classifiers import cnn
    from infonn.learners.classifiers.recipes import Validation

    pictures = data(pool)
    if recipe == STRONG:
        network = cnn.CNN(pictures.images, 10, replace(cnn.STRONG, steps=steps), n_draws, None, device)
        return network, None
    chosen = balanced(pictures.labels, VALIDATION_PER_CLASS, np.random.default_rng([seed, 98]))
    validation = Validation(pictures.images[chosen], pictures.labels[chosen])
    return cnn.CNN(pictures.images, 10, cnn.PUBLISHED, n_draws, validation, device), chosen


def build(plan: Plan, trial: int) -> list[Setup]:
    """All methods under each recipe."""
    s = plan.settings
    built = []
    for recipe in s["recipes"]:
        network, validation = learner(recipe, s["pool"], plan.device, plan.seed, s["steps"], s["draws"])
        built += setups(
            plan,
            trial,
            data(s["pool"]),
            network,
            network.predict_log_probs,
            s["methods"],
            learner_name=recipe,
            first=30,
            size=s["size"],
            rounds=s["rounds"][recipe],
            validation=validation,
            settings={"batch": s["size"]},
        )
    return built


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """The paper's sentence under our recipe, and our targets for it."""
    return [_best(curves, STRONG), _reached(curves, STRONG, 0.95, 80), _reached(curves, STRONG, 0.975, 140)]


def published_claims(curves: Sequence[Curve]) -> list[Claim]:
    """The paper's sentence under its own recipe, and our targets for it."""
    others = ("MaxEntropy", "K-Center", "Random")
    holds, evidence = outperforms(curves, PUBLISHED, "Info-NN-3", others, 150, 250)
    text = "Info-NN-3 is above MaxEntropy, K-Center and Random at 150 to 250 labels (published recipe)."
    late = Claim("mnist-info-nn-150-250", text, "a target of ours", holds, evidence)
    return [_best(curves, PUBLISHED), late, _reached(curves, PUBLISHED, 0.95, 200)]


def _best(curves: Sequence[Curve], recipe: str) -> Claim:
    holds, evidence = outperforms(curves, recipe, "Info-NN-3", BASELINES)
    text = f"Info-NN-3 outperforms Random, MaxEntropy, K-Center and BatchBALD on MNIST ({recipe})."
    return Claim(f"mnist-info-nn-best-{recipe.split()[0]}", text, WHERE, holds, evidence)


def _reached(curves: Sequence[Curve], recipe: str, target: float, labels: int) -> Claim:
    text = f"The best method reaches {target:.1%} with at most {labels} labels, the first 30 counted ({recipe})."
    return target_claim(curves, recipe, target, labels, f"mnist-{recipe.split()[0]}-{target:g}", text)


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    return {"accuracy": accuracy_figure(curves)}


def tables(curves: Sequence[Curve]) -> dict[str, str]:
    return {"labels": labels_table(curves, (0.9, 0.95, 0.975))}


SETTINGS: dict[str, Any] = {
    "trials": 10,
    "recipes": (STRONG, PUBLISHED),
    "methods": METHODS,
    "size": 10,
    "rounds": {STRONG: 13, PUBLISHED: 20},
    "steps": 800,
    "draws": 50,
    "pool": None,
}
SMALL = {"trials": 2, "pool": 2000, "rounds": {STRONG: 2, PUBLISHED: 2}, "steps": 40, "draws": 8, "recipes": (STRONG,)}
WITHOUT_DRAWS = ("Random", "MaxEntropy", "K-Center", "Info-NN-3")  # what two cores can do: draws cost a GPU's work

EXPERIMENT = Experiment(
    name="mnist",
    title="Labels for MNIST",
    where=WHERE,
    minutes={"smoke": 3, "paper": 600},
    presets={
        "paper": SETTINGS | {"recipes": (STRONG,)},
        "smoke": SETTINGS | SMALL | {"methods": ("Random", "PowerBALD", "Info-NN-3")},
    },
    build=build,
    claims=claims,
    figures=figures,
    tables=tables,
    together=5,
    notes=(STRONG_NOTE, *NOTES, BATCHBALD_NOTE),
)
AS_PUBLISHED = Experiment(
    name="mnist-published",
    title="Labels for MNIST, trained as published",
    where=WHERE,
    minutes={"smoke": 3, "cpu": 60, "paper": 900},
    presets={
        "paper": SETTINGS | {"recipes": (PUBLISHED,)},
        "cpu": SETTINGS | {"recipes": (PUBLISHED,), "trials": 4, "methods": WITHOUT_DRAWS, "pool": 20_000},
        "smoke": SETTINGS | SMALL | {"recipes": (PUBLISHED,), "methods": ("Random", "Info-NN-3"), "pool": 1000},
    },
    build=build,
    claims=published_claims,
    figures=figures,
    tables=tables,
    together=1,
    notes=(
        *PUBLISHED_NOTES,
        *NOTES,
        "Preset cpu: the methods that need no dropout draws, on the first 20,000 pictures, the size of the pool that "
        "the paper gives BatchBALD.",
    ),
)


# --- clusters and query lengths (appendix) -------------------------------------------------------------------

CLUSTERS = ("Info-NN-3", "Info-NN-3, no clusters", "Random")
LENGTHS = ("Info-NN-2", "Info-NN-3", "Info-NN-5", "Info-NN-10")


def clustering_claims(curves: Sequence[Curve]) -> list[Claim]:
    made = []
    for recipe in dict.fromkeys(curve.learner for curve in curves):
        holds, evidence = outperforms(curves, recipe, CLUSTERS[0], CLUSTERS[1:2])
        text = f"Clusters improve Info-NN-3 on MNIST with batches of 3 ({recipe})."
        made.append(Claim(f"mnist-clusters-{recipe.split()[0]}", text, "Appendix, Classification", holds, evidence))
    return made


def length_claims(curves: Sequence[Curve]) -> list[Claim]:
    made = []
    for recipe in dict.fromkeys(curve.learner for curve in curves):
        holds, evidence = outperforms(curves, recipe, "Info-NN-3", ("Info-NN-5", "Info-NN-10"))
        text = f"Queries of length 3 significantly outperform longer ones on MNIST ({recipe})."
        made.append(Claim(f"mnist-length-{recipe.split()[0]}", text, "Appendix, Classification", holds, evidence))
    return made


CLUSTERING = Experiment(
    name="mnist-clustering",
    title="Labels for MNIST: Info-NN with and without clusters, batches of 3",
    where="Appendix, Classification, left panel",
    minutes={"smoke": 3, "paper": 600},
    presets={
        "paper": SETTINGS | {"methods": CLUSTERS, "size": 3, "rounds": {STRONG: 30, PUBLISHED: 40}},
        "smoke": SETTINGS | SMALL | {"methods": CLUSTERS, "size": 3},
    },
    build=build,
    claims=clustering_claims,
    figures=figures,
    tables=tables,
    together=10,
    notes=(STRONG_NOTE, *PUBLISHED_NOTES, *NOTES),
)
QUERY_LENGTH = Experiment(
    name="mnist-query-length",
    title="Labels for MNIST: how many classes a query compares",
    where="Appendix, Classification, middle panel",
    minutes={"smoke": 3, "paper": 400},
    presets={
        "paper": SETTINGS | {"methods": LENGTHS},
        "smoke": SETTINGS | SMALL | {"methods": LENGTHS},
    },
    build=build,
    claims=length_claims,
    figures=figures,
    tables=tables,
    together=10,
    notes=(STRONG_NOTE, *PUBLISHED_NOTES, *NOTES),
)
