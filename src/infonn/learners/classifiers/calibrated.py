"""Class probabilities for people to use: as sure as the classifier is right on labels it has not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.contracts.loop import Learner
from infonn.maths.calibration import learn_temperature, tempered
from infonn.queries import Answers

FOLDS = 5


def calibrated_log_probs(
    learner: Learner, belief: Belief, answers: Answers, items: IntArray, rng: Generator
) -> FloatArray:
    """Class log-probabilities of `items` (items, classes): `belief`'s, at the temperature that cross-validation finds.

    `belief` is the learner's fit of `answers`.
    """
    left_out, labels = left_out_log_probs(learner, answers, rng)
    return tempered(_point(belief, items), learn_temperature(left_out, labels))


def left_out_log_probs(
    learner: Learner, answers: Answers, rng: Generator, folds: int = FOLDS
) -> tuple[FloatArray, IntArray]:
    """What fits that had not seen them say of labelled items, and their labels: (n, classes), (n,).

    Folds hold equal shares of every class; a class with one label is left out, since it cannot be both seen and told.
    """
    single: Any = replace(learner, members=0) if hasattr(learner, "members") else learner  # type: ignore[type-var]
    counts = np.bincount(answers.responses, minlength=1)
    fold = np.empty(len(answers), np.int64)
    for label in np.flatnonzero(counts):
        own = np.flatnonzero(answers.responses == label)
        fold[rng.permutation(own)] = np.arange(len(own)) % folds
    logs, labels = [], []
    for part in np.unique(fold):
        tested = (fold == part) & (counts[answers.responses] > 1)
        if tested.any():
            belief = single.fit(answers.take(fold != part), rng)
            logs.append(_point(belief, answers.queries[tested, 0]))
            labels.append(answers.responses[tested])
    return (np.concatenate(logs), np.concatenate(labels)) if logs else (np.empty((0, 0)), np.empty(0, np.int64))


def _point(belief: Belief, items: IntArray) -> FloatArray:
    found: FloatArray = belief.class_log_probs.point(items)  # type: ignore[union-attr]
    return found
