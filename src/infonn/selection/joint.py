"""Batches whose answers tell most together."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.framework import Situation
from infonn.maths.joint import MAX_CONFIGURATIONS, greedy_joint_batch
from infonn.selection.criteria import prediction_of


@dataclass(frozen=True)
class JointInformation:
    """The greedy batch of BatchBALD, for any query with common draws; scores must be the information of each."""

    max_configurations: int = MAX_CONFIGURATIONS

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        predict = prediction_of(situation)
        return greedy_joint_batch(
            lambda rows: predict(situation.pool[rows]), scores, size, rng, self.max_configurations
        )
