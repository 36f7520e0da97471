"""One score for each unlabelled item: entropy and margin of its class, distance from what is labelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.loop import Situation
from infonn.maths.information import entropy
from infonn.selection.class_predictions import point_log_probs

CHUNK_ITEMS = 1 << 14


@dataclass(frozen=True)
class ClassEntropy:
    """MaxEntropy: nats of the predicted class."""

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray:
        return _by_item(lambda items: entropy(point_log_probs(situation.belief, items)), queries)


@dataclass(frozen=True)
class Margin:
    """How close the second most likely class comes to the most likely one: 0 is a tie, -1 is certain."""

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray:
        def score(items: IntArray) -> FloatArray:
            probs = np.exp(point_log_probs(situation.belief, items))
            top = np.partition(probs, -2, axis=1)[:, -2:]
            return top[:, 0] - top[:, 1]

        return _by_item(score, queries)


def _by_item(score: Callable[[IntArray], FloatArray], queries: IntArray) -> FloatArray:
    items = queries[:, 0]
    parts = [score(items[i : i + CHUNK_ITEMS]) for i in range(0, len(items), CHUNK_ITEMS)]
    return np.concatenate(parts).astype(float) if parts else np.empty(0)
