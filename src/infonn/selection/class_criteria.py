"""One score for each unlabelled item: entropy and margin of its class, what its label tells of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.maths.information import entropy
from infonn.maths.targets import label_target_information, merged_classes
from infonn.selection.class_predictions import check_class_probabilities, point_log_probs

CHUNK_ITEMS = 1 << 14


@dataclass(frozen=True)
class ClassEntropy:
    """MaxEntropy: nats of the predicted class."""

    by_query: ClassVar[bool] = True

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray:
        return _by_item(lambda items: entropy(point_log_probs(situation.belief, items)), queries)


@dataclass(frozen=True)
class Margin:
    """How close the second most likely class comes to the most likely one: 0 is a tie, -1 is certain."""

    by_query: ClassVar[bool] = True

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray:
        def score(items: IntArray) -> FloatArray:
            probs = np.exp(point_log_probs(situation.belief, items))
            top = np.partition(probs, -2, axis=1)[:, -2:]
            return top[:, 0] - top[:, 1]

        return _by_item(score, queries)


@dataclass(frozen=True)
class LabelTargets:
    """EPIG (Bickford Smith et al. 2023): nats the label is expected to tell of other items' labels.

    Targets are drawn from the pool, the items that are to be predicted. Of a larger pool `candidates` items drawn at
    random are looked at; the others get minus infinity.
    """

    n_targets: int = 100
    candidates: int = 1000

    def __post_init__(self) -> None:
        if self.n_targets < 1 or self.candidates < 1:
            raise ValueError(
                f"n_targets is {self.n_targets} and candidates {self.candidates}; both are at least 1 item."
            )

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray:
        targets = drawn_targets(situation, self.n_targets, rng)
        rows = np.arange(len(queries))
        if len(rows) > self.candidates:
            rows = np.sort(rng.choice(rows, self.candidates, replace=False))
        scores = np.full(len(queries), -np.inf)
        scores[rows] = label_target_information(class_probs(situation.belief, queries[rows, 0]), targets)
        return scores


def drawn_targets(situation: Situation, n_targets: int, rng: Generator) -> FloatArray:
    """Class probabilities of items of the pool under the belief's draws: (draws, targets, classes)."""
    items = situation.pool[:, 0]
    chosen = items if len(items) <= n_targets else rng.choice(items, n_targets, replace=False)
    return class_probs(situation.belief, chosen)


def class_probs(belief: Belief, items: IntArray) -> FloatArray:
    """Class probabilities under each draw, unlikely classes of many merged: (draws, items, at most 10)."""
    check_class_probabilities(belief)
    return merged_classes(np.exp(np.asarray(to_numpy(belief.log_probs_of(items)), np.float32)))


def _by_item(score: Callable[[IntArray], FloatArray], queries: IntArray) -> FloatArray:
    items = queries[:, 0]
    parts = [score(items[i : i + CHUNK_ITEMS]) for i in range(0, len(items), CHUNK_ITEMS)]
    return np.concatenate(parts).astype(float) if parts else np.empty(0)
