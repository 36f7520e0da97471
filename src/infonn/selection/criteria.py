"""One score for each query of the pool, higher is better: information, entropy, random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.loop import FusedPrediction, Prediction, Situation
from infonn.errors import NeedsDrawsError
from infonn.maths.information import correction, entropy, mean_answer, mutual_information
from infonn.selection.predictions import in_chunks


@dataclass(frozen=True)
class Random:
    """All queries alike; the batch rule breaks the tie."""

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray:
        return np.zeros(len(queries))


@dataclass(frozen=True)
class Information:
    """Nats the response is expected to tell us about the belief; `corrected` by S / (S - 1) for few draws."""

    corrected: bool = False
    by_query: ClassVar[bool] = True

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray:
        predict = prediction_of(situation)
        if isinstance(predict, FusedPrediction):
            scores = predict.information(queries)
        else:
            scores = in_chunks(mutual_information, predict, queries)
        if self.corrected and len(queries):
            scores = scores * correction(len(predict(queries[:1])))
        return scores


@dataclass(frozen=True)
class Entropy:
    """Nats of the mean answer: uncertain, but perhaps only because the answer is noise."""

    by_query: ClassVar[bool] = True

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray:
        return in_chunks(lambda log_probs: entropy(mean_answer(log_probs)), prediction_of(situation), queries)


def prediction_of(situation: Situation) -> Prediction:
    """What the situation's predictor made; an error where there is none."""
    if situation.predict is None:
        raise NeedsDrawsError("This criterion needs draws of the belief, and the strategy has no predictor for them.")
    return situation.predict
