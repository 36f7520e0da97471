"""What the deep metric learning experiments share: five methods on one pool, their settings, and the paper's claims.

All methods of a trial start from the same network and the same 20 triplets. NN methods ask B queries of 3 candidates
a round, triplet methods 2B triplets of the same pool taken apart, so that a round brings everybody 2B triplets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.loop import Measure, Strategy
from infonn.experiments import judging
from infonn.experiments.statistics import pick, series
from infonn.experiments.sweep import Claim, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.maths.paired import PairedDifference
from infonn.oracles.replay import Recorded, ReplayOracle
from infonn.queries import Answers, draw_queries, question_keys, split_into_triplets
from infonn.selection.strategies import random
from infonn.selection.triplet_batches import batch_centroid, batch_euclidean, random_triplets
from infonn.tasks.similarity import SimilarityTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INFO_NN, RANDOM_NN, RANDOM_TRIPLETS = "Info-NN", "Random NN", "Random triplets"
BATCH_METHODS = ("Batch-Euclidean", "Batch-Centroid")
METHODS = (INFO_NN, RANDOM_NN, RANDOM_TRIPLETS, *BATCH_METHODS)
ACCURACY = "triplet_accuracy"
UNITS = {"triplets": "triplet", "queries": "query"}
WHERE = "Deep metric learning, experiment results"
N_FIRST = 20  # initial triplets, shared by all methods
SMALL_DIFFERENCE = 0.01  # of accuracy: what we take "minimal performance difference" to mean
TRAINING_NOTE = (
    "100 epochs of Adam after every round, going on from the last weights; the first fit at learning rate 1e-3; as "
    "many minibatches an epoch as rounds so far, as in the published code."
)
VALIDATION_NOTE = (
    "No validation answers pick the epoch. The published program takes the best of 100 epochs by 20,000 clean answers, "
    "a budget nobody has."
)
FEATURES_NOTE = "Features are standardised, column by column; the paper's are as they come."


@dataclass(frozen=True)
class Materials:
    """What the methods of one trial share."""

    features: FloatArray
    train: Answers  # the pool: NN answers, corrupted or inconsistent as they may be
    measures: Mapping[str, Measure]
    validation: IntArray | None = (
        None  # triplets that pick the epoch, in the variants that follow the published program
    )


def setups(
    plan: Plan, trial: int, materials: Materials, info_nn: Callable[..., Strategy], methods: Sequence[str]
) -> list[Setup]:
    """One setup per method; `info_nn` takes the best query of every reference, then the `n_best` of those.

    A plan may say `standardise` False for raw features, and `both_sides` for a pool of triplets in which an answer
    that few gave counts as much as its contradiction by many.
    """
    from infonn.learners.networks.network import Network

    settings = plan.settings
    seed = plan.seed_of(trial)
    names = [str(item) for item in range(len(materials.features))]
    nn, triplets = Recorded(materials.train), Recorded(as_triplets(materials.train, settings.get("both_sides", False)))
    nn_oracle, triplet_oracle = ReplayOracle(nn, seed), ReplayOracle(triplets, seed)
    rng = np.random.default_rng([seed, 1])
    first_queries = triplets.queries[rng.choice(len(triplets.queries), N_FIRST, replace=False)]
    first = Answers(first_queries, triplet_oracle.answer(first_queries, rng))
    learner = Network(
        materials.features,
        tuple(settings["layers"]),
        epochs=settings["epochs"],
        learning_rate=settings["learning_rate"],
        first_learning_rate=1e-3,
        batch_size=2 * settings["size"],
        standardise=settings.get("standardise", True),
        validation=materials.validation,
        device=plan.device,
    )
    strategies = {
        INFO_NN: info_nn(
            settings["sigma"], settings["mu"], settings["n_draws"], per_reference=True, n_best=settings["n_best"]
        ),
        RANDOM_NN: random(),
        RANDOM_TRIPLETS: random_triplets(),
        "Batch-Euclidean": batch_euclidean(),
        "Batch-Centroid": batch_centroid(),
    }
    nn_task = SimilarityTask(names, candidates=3, pool=nn.queries)
    triplet_task = SimilarityTask(names, candidates=2, pool=triplets.queries)
    built = []
    for method in methods:
        by_nn = method in (INFO_NN, RANDOM_NN)
        built.append(
            Setup(
                method,
                "network",
                {},
                trial,
                seed,
                learner=learner,
                task=nn_task if by_nn else triplet_task,
                strategy=strategies[method],
                oracle=nn_oracle if by_nn else triplet_oracle,
                measures=materials.measures,
                first=first,
                size=settings["size"] * (1 if by_nn else 2),
                rounds=settings["rounds"],
            )
        )
    return built


def distinct_queries(n: int, n_items: int, n_candidates: int, rng: Generator) -> Any:
    """`n` different queries drawn uniformly."""
    queries = draw_queries(n, n_items, n_candidates, rng)
    while True:
        queries = queries[np.sort(np.unique(question_keys(queries, "nearest"), return_index=True)[1])]
        if len(queries) == n:
            return queries
        queries = np.vstack([queries, draw_queries(n - len(queries), n_items, n_candidates, rng)])


def as_triplets(answers: Answers, each_once: bool = False) -> Answers:
    """NN answers taken apart into answered queries of two candidates, which stand in ascending order.

    A triplet comes as often as NN answers hold it, or `each_once`.
    """
    rows = split_into_triplets(answers)
    if each_once:
        rows = np.unique(rows, axis=0)
    swapped = rows[:, 1] > rows[:, 2]
    queries = np.column_stack([rows[:, 0], rows[:, 1:].min(axis=1), rows[:, 1:].max(axis=1)])
    return Answers(queries.astype(np.int32), swapped.astype(np.int32))


# --- figures -----------------------------------------------------------------------------------------


def by_budget(curves: Sequence[Curve], measure: str, y_label: str) -> Figure:
    """One measure per triplet (left) and per query (right), as in the paper: medians and quartiles over trials."""
    from infonn.plots.curves import Line, draw_curves

    own = {curve.method: pick(curves, curve.method) for curve in curves}
    panels = {
        f"Per {unit}": [Line(name, getattr(runs[0], axis), series(runs, measure)) for name, runs in own.items()]
        for axis, unit in UNITS.items()
    }
    figure = draw_curves(panels, "", y_label, width=5.0, height=3.8)
    for axes, axis in zip(figure.axes, UNITS):
        axes.set_xlabel(f"{axis} answered")
    return figure


# --- claims ------------------------------------------------------------------------------------------


def compare(curves: Sequence[Curve], first: str, second: str, measure: str, axis: str) -> PairedDifference | None:
    """First minus second at equal triplets or queries, averaged over the rounds both have after the start."""
    return judging.compare(pick(curves, first), pick(curves, second), measure, axis)


def better_than(curves: Sequence[Curve], others: Sequence[str], measure: str, axis: str) -> judging.Judgement:
    """Whether Info-NN is above each of `others`."""
    return judging.above({other: compare(curves, INFO_NN, other, measure, axis) for other in others})


def claim_id(dataset: str, what: str) -> str:
    """A name for a claim, made of small letters and underscores."""
    return "_".join(re.findall(r"[a-z0-9]+", f"{dataset} {what}".lower()))


def accuracy_claims(curves: Sequence[Curve], dataset: str, measure: str = ACCURACY) -> list[Claim]:
    """What the paper says of every data set: Info-NN wins, NN queries cost nothing, batch methods start slowly."""
    claims = []
    for axis, unit in UNITS.items():
        for who, others in (("batch_methods", BATCH_METHODS), ("random", (RANDOM_NN, RANDOM_TRIPLETS))):
            claims.append(
                Claim(
                    claim_id(dataset, f"info_nn_beats_{who}_per_{unit}"),
                    f"{dataset}: Info-NN is better than {' and '.join(others)} per {unit}.",
                    WHERE,
                    *better_than(curves, others, measure, axis),
                )
            )
    alike = {"": compare(curves, RANDOM_NN, RANDOM_TRIPLETS, measure, "triplets")}
    claims.append(
        Claim(
            claim_id(dataset, "random_nn_and_triplets_alike_per_triplet"),
            f"{dataset}: random NN queries and random triplets differ little per triplet (mean at most 0.01).",
            WHERE,
            *judging.within(alike, SMALL_DIFFERENCE),
        )
    )
    cheaper = {"": compare(curves, RANDOM_NN, RANDOM_TRIPLETS, measure, "queries")}
    claims.append(
        Claim(
            claim_id(dataset, "nn_needs_fewer_queries"),
            f"{dataset}: per query, random NN queries are better than random triplets.",
            WHERE,
            *judging.above(cheaper),
        )
    )
    return [*claims, warm_up_claim(curves, dataset, measure)]


def warm_up_claim(curves: Sequence[Curve], dataset: str, measure: str) -> Claim:
    """Batch methods lie below random triplets in the first third of the rounds."""
    rounds = pick(curves, RANDOM_TRIPLETS)[0].triplets
    third = rounds[max(1, len(rounds) // 3)]
    early = {
        f"{RANDOM_TRIPLETS} minus {method}": judging.compare(
            pick(curves, RANDOM_TRIPLETS), pick(curves, method), measure, "triplets", high=third
        )
        for method in BATCH_METHODS
    }
    return Claim(
        claim_id(dataset, "batch_methods_warm_up"),
        f"{dataset}: Batch-Euclidean and Batch-Centroid start below random triplets (first third of the rounds).",
        WHERE,
        *judging.above(early),
    )
