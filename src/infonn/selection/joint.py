"""Batches whose answers tell most together, and queries that tell most of what the embedding will be asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import Array, FloatArray, IntArray, is_torch, to_numpy
from infonn.contracts.loop import Situation, Strategy
from infonn.maths.joint import MAX_CONFIGURATIONS, greedy_joint_batch
from infonn.maths.pairs import greedy_gaussian_batch, greedy_pairwise_batch, target_information
from infonn.queries import draw_queries
from infonn.selection.batches import batch_rule
from infonn.selection.criteria import Information, prediction_of
from infonn.selection.predictions import BestDraws
from infonn.selection.search import SwapSearch

LOOKED_AT = 40  # queries that a pairwise or Gaussian batch is chosen from, for each one picked: the most informative

CHUNK = 1000  # queries whose table of joint answers with all targets stands in memory at once


@dataclass(frozen=True)
class JointInformation:
    """The greedy batch of BatchBALD, for any query with common draws; scores must be the information of each."""

    max_configurations: int = MAX_CONFIGURATIONS

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        predict = prediction_of(situation)

        def log_probs(rows: IntArray) -> Array:
            """In single precision, which a kernel takes; a tensor as it is."""
            found = predict(situation.pool[rows])
            return found if is_torch(found) else found.astype(np.float32)

        return greedy_joint_batch(log_probs, scores, size, rng, self.max_configurations)


@dataclass(frozen=True)
class PairwiseInformation:
    """Information less what is shared with each earlier pick (2-BALD, Kirsch 2023); for small batches."""

    looked_at: int = LOOKED_AT

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        rows = _most_informative(scores, self.looked_at * size)
        log_probs = to_numpy(prediction_of(situation)(situation.pool[rows]))
        return rows[greedy_pairwise_batch(log_probs, scores[rows], size)]


@dataclass(frozen=True)
class GaussianInformation:
    """Joint information in the normal approximation: the log-determinant form, for large batches."""

    looked_at: int = LOOKED_AT

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        rows = _most_informative(scores, self.looked_at * size)
        log_probs = to_numpy(prediction_of(situation)(situation.pool[rows]))
        return rows[greedy_gaussian_batch(log_probs, size)]


@dataclass(frozen=True)
class TargetInformation:
    """Nats the response is expected to tell of triplets drawn at random: what the embedding is for (EPIG)."""

    n_targets: int = 128

    def __post_init__(self) -> None:
        if self.n_targets < 1:
            raise ValueError(f"n_targets is {self.n_targets}; at least 1 triplet must be asked about.")

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray:
        predict = prediction_of(situation)
        triplets = draw_queries(self.n_targets, len(situation.belief.embedding), 2, rng)
        targets = to_numpy(predict(triplets))
        parts = [
            target_information(to_numpy(predict(queries[first : first + CHUNK])), targets)
            for first in range(0, len(queries), CHUNK)
        ]
        return np.concatenate(parts) if parts else np.empty(0)


def info_nn_joint(search: bool = False) -> Strategy:
    """The answers of the batch are expected to tell most together: exact for few, sampled for many (BatchBALD)."""
    return Strategy(Information(), JointInformation(), BestDraws(), SwapSearch() if search else None)


def info_nn_pairwise(search: bool = False) -> Strategy:
    """As info_nn_joint, counting what is shared by pairs only (2-BALD): much quicker, for batches of about 10."""
    return Strategy(Information(), PairwiseInformation(), BestDraws(), SwapSearch() if search else None)


def info_nn_gaussian(search: bool = False) -> Strategy:
    """As info_nn_joint, in the normal approximation: for batches of any size."""
    return Strategy(Information(), GaussianInformation(), BestDraws(), SwapSearch() if search else None)


def info_nn_targets(n_targets: int = 128, power: float | None = None) -> Strategy:
    """The answer is expected to tell most of the triplets that the embedding will be asked (EPIG)."""
    return Strategy(TargetInformation(n_targets), batch_rule(power=power), BestDraws())


def _most_informative(scores: FloatArray, n: int) -> IntArray:
    return np.argsort(-scores, kind="stable")[:n]
