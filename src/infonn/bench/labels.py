"""Choosing items to label: ours beside one item at a time, a million items, and BatchBALD."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.bench.entries import Comparison, peak_mb
from infonn.contracts.loop import Situation
from infonn.learners.classifiers.bayes_logistic import BayesLogistic
from infonn.maths.information import mutual_information
from infonn.maths.joint import conditional_information, empty_joint, extended, greedy_joint_batch
from infonn.queries import Answers
from infonn.selection.class_strategies import info_nn, typical_margin
from infonn.tasks.labels import LabelTask

N_ITEMS, N_CLASSES, N_LABELS, N_DIMS = 60_000, 10, 300, 128
CLASSES = tuple(str(label) for label in range(N_CLASSES))


def label_select() -> Comparison:
    """60,000 items, 10 classes, 300 labels, 128 dimensions: from the embedding to every item's score, and the best."""
    belief, answers, labels = _labelled_items(N_ITEMS)

    def times() -> dict[str, float]:
        """The distances alone are one matrix product: how many of it the whole takes."""
        points = belief.embedding[answers.queries[:, 0]].T.copy()
        product = median(_seconds(lambda: belief.embedding @ points) for _ in range(5))
        return {"matrix_products": median(_seconds(lambda: score_all(belief, answers)) for _ in range(5)) / product}

    return Comparison(
        lambda: score_all(belief, answers),
        "one item at a time in NumPy",
        lambda: score_one_by_one(belief.embedding, answers, labels, 200),
        200 / N_ITEMS,
        times,
    )


def label_select_1m() -> Comparison:
    """A million items, 300 labels, 128 dimensions, 3 classes a query, 128 draws."""
    belief, answers, _ = _labelled_items(1_000_000)
    return Comparison(
        lambda: score_all(belief, answers), extra=lambda: {"peak_mb": peak_mb("infonn.bench.labels:select_1m")}
    )


def select_1m() -> IntArray:
    """What `label_select_1m` measures, for a process of its own."""
    belief, answers, _ = _labelled_items(1_000_000)
    return score_all(belief, answers)


def batchbald() -> Comparison:
    """A batch of 10 from 60,000 items, 100 draws, 10 classes; and whether plain greedy picks the same from 2,000."""
    log_probs = _class_draws(N_ITEMS)

    def check() -> dict[str, float]:
        few = _class_draws(2000)
        same = float(pick_batch(few).tolist() == plain_greedy(few, 10))
        return {"peak_mb": peak_mb("infonn.bench.labels:batchbald_once"), "same_as_plain": same}

    return Comparison(lambda: pick_batch(log_probs), extra=check)


def batchbald_once() -> IntArray:
    """What `batchbald` measures, for a process of its own."""
    return pick_batch(_class_draws(N_ITEMS))


def label_ask() -> Comparison:
    """One label among 20,000 items with 256 features after 100 labels: fit and choose by the defaults."""
    learner, answers = _features_and_labels(20_000)
    return Comparison(lambda: ask(learner, answers, 1))


def label_ask_1m() -> Comparison:
    """Ten labels among a million items with 256 features, mapped from a file: fit and choose; and the memory for it."""
    learner, answers = _features_and_labels(1_000_000)
    return Comparison(
        lambda: ask(learner, answers, 10), extra=lambda: {"peak_mb": peak_mb("infonn.bench.labels:ask_1m")}
    )


def ask_1m() -> IntArray:
    """What `label_ask_1m` measures, for a process of its own."""
    return ask(*_features_and_labels(1_000_000), 10)


# --- what is measured ------------------------------------------------------------------------------------


def ask(learner: BayesLogistic, answers: Answers, size: int) -> IntArray:
    """Fit, and choose items to label next by the default rule."""
    rng = default_rng(0)
    belief = learner.fit(answers, rng)
    unlabelled = np.ones(len(learner.features), bool)
    unlabelled[answers.queries[:, 0]] = False
    items = np.flatnonzero(unlabelled)
    pool = np.full((len(items), 4), -1, np.int32)
    pool[:, 0] = items
    return items[typical_margin(N_CLASSES).select(Situation(pool, belief, answers), size, rng)]


def score_all(belief: Belief, answers: Answers) -> IntArray:
    """Propose, score, pick 10: everything between a trained network and the items to label."""
    rng = default_rng(0)
    task = LabelTask(len(belief.embedding), CLASSES)
    pool = task.propose(belief, answers, rng)
    return info_nn(N_CLASSES, clusters=False).select(Situation(pool, belief, answers), 10, rng)


def score_one_by_one(
    embedding: FloatArray, answers: Answers, labels: IntArray, n: int, n_draws: int = 128
) -> FloatArray:
    """The same scores for the first `n` unlabelled items, as plainly as NumPy allows: one item at a time."""
    rng = default_rng(0)
    labelled = answers.queries[:, 0]
    points, classes = embedding[labelled], labels[labelled]
    items = np.setdiff1d(np.arange(len(embedding)), labelled)[:n]
    scores = np.empty(n)
    for row, item in enumerate(items):
        distances = np.linalg.norm(points - embedding[item], axis=1)
        nearest = np.sort([distances[classes == c].min() for c in range(N_CLASSES)])[:3]
        drawn = np.stack([np.abs(rng.normal(d, distances.std(), n_draws)) for d in nearest], axis=1)
        weights = 1 / (drawn**2 + distances.max())
        probs = weights / weights.sum(axis=1, keepdims=True)
        mean = probs.mean(axis=0)
        scores[row] = -(mean * np.log(mean)).sum() + (probs * np.log(probs)).sum(axis=1).mean()
    return scores


def pick_batch(log_probs: FloatArray) -> IntArray:
    """BALD scores, then the greedy joint batch."""
    information = np.concatenate(
        [mutual_information(log_probs[:, i : i + 4096]) for i in range(0, log_probs.shape[1], 4096)]
    )
    return greedy_joint_batch(lambda rows: log_probs[:, rows], information, 10, default_rng(1))


def plain_greedy(log_probs: FloatArray, size: int) -> list[int]:
    """Every term of every item, pick by pick."""
    rng, joint, chosen = default_rng(1), empty_joint(len(log_probs)), list[int]()
    for _ in range(size):
        terms = conditional_information(joint, log_probs)
        terms[chosen] = -np.inf
        chosen.append(int(np.argmax(terms)))
        joint = extended(joint, log_probs[:, chosen[-1]], rng)
    return chosen


# --- made once, not measured -----------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _labelled_items(n_items: int) -> tuple[Belief, Answers, IntArray]:
    rng = default_rng(0)
    labels = rng.integers(0, N_CLASSES, n_items)
    embedding = rng.standard_normal((n_items, N_DIMS), np.float32)
    embedding += rng.standard_normal((N_CLASSES, N_DIMS), np.float32)[labels]
    labelled = rng.permutation(n_items)[:N_LABELS]
    queries = np.full((N_LABELS, 4), -1, np.int32)
    queries[:, 0] = labelled
    return Belief(embedding), Answers(queries, labels[labelled].astype(np.int32), "label"), labels


@lru_cache(maxsize=1)
def _features_and_labels(n_items: int, n_columns: int = 256, n_labels: int = 100) -> tuple[BayesLogistic, Answers]:
    """Ten blobs as a learner's features, written to a temporary file piece by piece and mapped from there."""
    rng = default_rng(0)
    labels = rng.integers(0, N_CLASSES, n_items)
    centres = rng.standard_normal((N_CLASSES, n_columns), np.float32)
    with tempfile.NamedTemporaryFile(suffix=".npy", delete=False) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_items, n_columns)}
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, n_items, 10_000):
            part = labels[first : first + 10_000]
            rows = centres[part] + 2 * rng.standard_normal((len(part), n_columns), np.float32)
            file.write(rows.tobytes())
    features = np.load(file.name, mmap_mode="r")
    Path(file.name).unlink()  # the mapping keeps it as long as it is needed
    labelled = rng.permutation(n_items)[:n_labels]
    queries = np.full((n_labels, 4), -1, np.int32)
    queries[:, 0] = labelled
    return BayesLogistic(features, N_CLASSES), Answers(queries, labels[labelled].astype(np.int32), "label")


@lru_cache(maxsize=1)
def _class_draws(n_items: int) -> FloatArray:
    """Log-probabilities of a classifier that is sure of most items: (100, items, 10)."""
    rng = default_rng(0)
    logits = rng.standard_normal((100, n_items, N_CLASSES), np.float32)
    logits *= rng.exponential(0.5, (1, n_items, 1)).astype(np.float32)  # how far draws disagree
    logits += 3 * rng.standard_normal((1, n_items, N_CLASSES), np.float32)
    logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return logits


def _seconds(run: Callable[[], object]) -> float:
    started = perf_counter()
    run()
    return perf_counter() - started
