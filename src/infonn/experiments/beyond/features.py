"""What features are worth: random answers, cold fits, with features that say all, something or nothing.

The learner of today stands beside those of version 0.1.0, which had a choice between models in its place; their curves
are kept in `features_earlier.json` and cannot be run again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.loop import Learner
from infonn.datasets.eggs import alien_eggs
from infonn.datasets.food import food73
from infonn.datasets.images import load
from infonn.datasets.synthetic import mahalanobis_items
from infonn.experiments.beyond import comparison as c
from infonn.experiments.beyond.earlier import probes_of
from infonn.experiments.figures import lines
from infonn.experiments.statistics import paired_curves, paired_difference, pick, quartiles, value_at
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Probe
from infonn.maths.accuracy import triplet_accuracy
from infonn.oracles.distances import DistanceOracle, mahalanobis_oracle
from infonn.oracles.eggs import EggOracle
from infonn.oracles.noise import Corrupted
from infonn.plots.curves import draw_curves
from infonn.queries import Answers, count_triplets, draw_from_triplets, draw_queries, split_into_triplets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURE = "triplet_accuracy"
NOW, WITHOUT = "Features as a prior", "No features"
FREE, LINEAR, HYBRID, CHOICE = "No features, 0.1.0", "Linear, 0.1.0", "Hybrid, 0.1.0", "Default, 0.1.0"
EARLIER = (FREE, LINEAR, HYBRID, CHOICE)
COUNTS = (60, 120, 240, 450, 900)
MARGIN = 0.01  # of accuracy: as far below the best of the earlier ones a method may be
CANDIDATES, N_TEST, N_NOISE, N_PICTURES = 3, 10_000, 20, 300
LAST_LAYER = Path("runs") / "beyond-features" / "last_layer.npy"


@dataclass(frozen=True)
class Judged:
    """Items with features, random answers about them, and the triplets that test."""

    features: FloatArray
    answers: Answers
    triplets: IntArray


def build(plan: Plan, trial: int) -> list[Probe]:
    """Cold fits to growing parts of one trial's answers, on every data set; the earlier ones from their file."""
    seed, counts = plan.seed_of(trial), plan.settings["counts"]
    probes = []
    for name in plan.settings["data"]:
        for method in (NOW, WITHOUT):

            def run(name: str = name, method: str = method) -> tuple[list[int], list[int], dict[str, list[float]]]:
                judged = DATA[name](seed)
                n_items = len(judged.features)
                learner = c.default_learner(n_items, judged.features if method == NOW else None)
                return curve_of(learner, judged, counts, seed)

            probes.append(Probe(method, "posterior", {"data": name}, trial, seed, run))
        probes += probes_of("features", name, trial, seed, counts)
    return probes


def curve_of(
    learner: Learner, judged: Judged, counts: Sequence[int], seed: int
) -> tuple[list[int], list[int], dict[str, list[float]]]:
    """Answers, triplets, and the accuracy of a cold fit to so many of the answers."""
    parts = [judged.answers.take(slice(0, n)) for n in counts]
    accuracies = [
        round(triplet_accuracy(learner.fit(part, default_rng([seed, len(part)])).embedding, judged.triplets), 6)
        for part in parts
    ]
    return [len(part) for part in parts], [count_triplets(part) for part in parts], {MEASURE: accuracies}


# --- the data ----------------------------------------------------------------------------------------------


def _dishes(seed: int, features: FloatArray | None = None) -> Judged:
    """73 dishes by six tastes, judged by people."""
    food = food73()
    drawn = draw_from_triplets(food.triplets, COUNTS[-1] + N_TEST, CANDIDATES, default_rng([seed, 31]))
    answers, test = drawn.take(slice(COUNTS[-1])), drawn.take(slice(COUNTS[-1], None))
    return Judged(food.tastes if features is None else features, answers, split_into_triplets(test))


def _metric(seed: int, corrupted: float) -> Judged:
    """100 items with a hidden metric of their 10 features."""
    rng = default_rng([seed, 32])
    items = mahalanobis_items(rng, 100, 10)
    oracle = mahalanobis_oracle(items.features, items.metric)
    queries, test = draw_queries(COUNTS[-1], 100, CANDIDATES, rng), draw_queries(N_TEST, 100, 2, rng)
    answers = Answers(queries, Corrupted(oracle, corrupted, seed).answer(queries, rng))
    return Judged(items.features, answers, split_into_triplets(Answers(test, oracle.answer(test, rng))))


def _eggs(seed: int, features: FloatArray | None = None) -> Judged:
    """30 eggs on a line, judged by simulated people; recorded people's answers test."""
    eggs = alien_eggs()
    rng = default_rng([seed, 33])
    queries = draw_queries(COUNTS[-1], len(eggs.names), CANDIDATES, rng)
    answers = Answers(queries, EggOracle(eggs.smoothness).answer(queries, rng))
    places = eggs.smoothness[:, None].astype(float)
    return Judged(places if features is None else features, answers, split_into_triplets(eggs.chosen_by("Test")))


def _noise(n_items: int, seed: int) -> FloatArray:
    return default_rng([seed, 34]).standard_normal((n_items, N_NOISE))


def _pictures(seed: int) -> Judged:
    """300 handwritten digits as pixels, judged by a network's last layer; a tenth of the answers is random."""
    rng = default_rng([seed, 35])
    pictures = load("mnist")
    rows = np.sort(rng.choice(len(pictures.test_images), N_PICTURES, replace=False))
    oracle = DistanceOracle(_last_layer()[rows].astype(float))
    queries, test = (draw_queries(n, N_PICTURES, width, rng) for n, width in ((COUNTS[-1], CANDIDATES), (N_TEST, 2)))
    answers = Answers(queries, Corrupted(oracle, 0.1 * (1 - 1 / CANDIDATES), seed).answer(queries, rng))
    pixels = pictures.test_images[rows].reshape(N_PICTURES, -1) / 255.0
    return Judged(pixels, answers, split_into_triplets(Answers(test, oracle.answer(test, rng))))


@lru_cache
def _last_layer() -> FloatArray:
    """What the last hidden layer of a network, trained on the 60,000 others, makes of the 10,000 test pictures."""
    if LAST_LAYER.exists():
        kept: FloatArray = np.load(LAST_LAYER)
        return kept
    import warnings

    from sklearn.neural_network import MLPClassifier

    pictures = load("mnist")
    flat, test = (own.reshape(len(own), -1) / 255.0 for own in (pictures.images, pictures.test_images))
    network = MLPClassifier((128, 32), batch_size=200, max_iter=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # eight passes are enough, and it says they are few
        network.fit(flat.astype(np.float32), pictures.labels)
    hidden = test
    for weights, intercepts in zip(network.coefs_[:-1], network.intercepts_[:-1]):
        hidden = np.maximum(hidden @ weights + intercepts, 0)
    LAST_LAYER.parent.mkdir(parents=True, exist_ok=True)
    np.save(LAST_LAYER, hidden.astype(np.float32))
    found: FloatArray = hidden.astype(np.float32)
    return found


DATA: dict[str, Callable[[int], Judged]] = {
    "dishes, tastes": _dishes,
    "dishes, noise": lambda seed: _dishes(seed, _noise(73, seed)),
    "metric, corrupted": lambda seed: _metric(seed, 0.25),
    "metric, clean": lambda seed: _metric(seed, 0.0),
    "eggs, place": _eggs,
    "eggs, noise": lambda seed: _eggs(seed, _noise(30, seed)),
    "pictures, pixels": _pictures,
}
NOISE = tuple(name for name in DATA if name.endswith("noise"))
PICTURES = "pictures, pixels"


# --- what the curves say -----------------------------------------------------------------------------------


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """Per data set: no worse than the best of the earlier ones; noise no worse than no features; pictures better."""
    found = []
    for name in dict.fromkeys(curve.settings["data"] for curve in curves):
        own = pick(curves, data=name)
        found.append(_never_hurts(own, name, EARLIER, "the best of version 0.1.0"))
        if name in NOISE:
            found.append(_never_hurts(own, name, (FREE,), "no features"))
        if name == PICTURES:
            found.append(_better_at(own, name, 120))
    return found


def _never_hurts(curves: Sequence[Curve], name: str, others: Sequence[str], whom: str) -> Claim:
    """Paired with whichever of the others has the best mean, at each count."""
    evidence: dict[str, Any] = {}
    for n in COUNTS:
        levels = {method: _mean(pick(curves, method), n) for method in others}
        known = {method: level for method, level in levels.items() if np.isfinite(level)}
        if known:
            evidence[f"at {n}"] = _difference(curves, max(known, key=lambda method: known[method]), n)
    decided = [entry for entry in evidence.values() if entry["trials"] >= c.ENOUGH_TRIALS]
    holds = all(entry["low"] > -MARGIN for entry in decided) if len(decided) == len(COUNTS) else None
    text = f"{name}: features as a prior are nowhere more than {MARGIN:g} below {whom}, at any of the five counts."
    return Claim(f"features-{_slug(name)}-{_slug(whom)}", text, c.WHERE, holds, evidence)


def _better_at(curves: Sequence[Curve], name: str, n: int) -> Claim:
    evidence = {method: _difference(curves, method, n) for method in EARLIER}
    enough = all(entry["trials"] >= c.ENOUGH_TRIALS for entry in evidence.values())
    holds = all(entry["low"] > 0 for entry in evidence.values()) if enough else None
    text = f"{name}: after {n} answers features as a prior are better than every learner of version 0.1.0."
    return Claim(f"features-{_slug(name)}-better-at-{n}", text, c.WHERE, holds, evidence)


def _difference(curves: Sequence[Curve], other: str, n: int) -> dict[str, Any]:
    """Ours less the other's, its interval over trials, and the means of both."""
    ours, theirs = paired_curves(pick(curves, NOW), pick(curves, other))
    pairs = [(value_at(a, MEASURE, n), value_at(b, MEASURE, n)) for a, b in zip(ours, theirs)]
    pairs = [pair for pair in pairs if np.isfinite(pair).all()]
    if not pairs:
        return {"against": other, "mean": None, "low": None, "high": None, "trials": 0}
    first, second = np.array(pairs).T
    difference = paired_difference(first, second)
    entry = {key: round(float(getattr(difference, key)), 4) for key in ("mean", "low", "high")}
    means = {"ours": round(float(first.mean()), 4), "theirs": round(float(second.mean()), 4)}
    return {"against": other, **entry, **means, "trials": difference.n}


def _mean(curves: Sequence[Curve], n: int) -> float:
    values = [value_at(curve, MEASURE, n) for curve in curves]
    return float(np.mean(values)) if values else float("nan")


def _slug(text: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    names = dict.fromkeys(curve.settings["data"] for curve in curves)
    panels = {name: lines(pick(curves, data=name), MEASURE) for name in names}
    return {"beyond-features": draw_curves(panels, "queries answered", "triplet accuracy", columns=3, bands=False)}


def tables(curves: Sequence[Curve]) -> dict[str, str]:
    """Medians over trials of every method on every data set."""
    rows = [
        "| data | method | trials | " + " | ".join(f"{n}" for n in COUNTS) + " |",
        "|" + " --- |" * (3 + len(COUNTS)),
    ]
    for name in dict.fromkeys(curve.settings["data"] for curve in curves):
        for method in (NOW, WITHOUT, *EARLIER):
            if own := pick(curves, method, data=name):
                middle = [quartiles(np.array([value_at(curve, MEASURE, n) for curve in own]))[1] for n in COUNTS]
                cells = ("" if np.isnan(value) else f"{value:.3f}" for value in middle)
                rows.append(f"| {name} | {method} | {len(own)} | " + " | ".join(cells) + " |")
    return {"accuracy": "\n".join(rows) + "\n"}


EXPERIMENT = Experiment(
    name="beyond-features",
    title="Beyond: what features are worth",
    where=c.WHERE,
    minutes={"smoke": 1, "paper": 40},
    presets={
        "smoke": {"trials": 1, "data": [name for name in DATA if name != PICTURES], "counts": (60, 120)},
        "paper": {"trials": 20, "data": list(DATA), "counts": COUNTS},
    },
    build=build,
    claims=claims,
    figures=figures,
    tables=tables,
    notes=(
        "Random answers with three candidates; every point is a cold fit. Methods of a trial share items and answers.",
        "Curves of version 0.1.0 (a choice between two models, and those it chose between) were made before it was "
        "replaced and are kept as they were; with the pictures it had 20 principal components of the pixels, since "
        "784 columns were out of its reach.",
        "Dishes: six tastes, or 20 columns of noise; a quarter of the metric's answers corrupted, or none; eggs: their "
        "true place, or 20 columns of noise; pictures: 300 handwritten digits as 784 pixels, judged by distances in "
        "the last hidden layer of a network trained on others, a tenth of the answers at random (needs INFONN_DATA).",
    ),
)
