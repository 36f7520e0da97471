"""Alien eggs: 30 shapes on a line from spiky to smooth, and 20,086 human answers about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from infonn.arrays import FloatArray, IntArray
from infonn.datasets.shipped import read_table
from infonn.queries import Answers


@dataclass(frozen=True)
class AlienEggs:
    """Eggs by name with their true place on the line, and who answered what, when chosen by which algorithm.

    `answers` are queries of two candidates in the order shown (left, right).
    """

    names: tuple[str, ...]
    smoothness: FloatArray  # (30,)
    answers: Answers
    algorithms: npt.NDArray[np.str_]  # RandomSampling, Test, UncertaintySampling, STE, CrowdKernel
    participants: IntArray
    response_times_s: FloatArray

    def chosen_by(self, algorithm: str) -> Answers:
        """The answers to questions one algorithm chose; "Test" and "RandomSampling" are unbiased."""
        return self.answers.take(np.asarray(self.algorithms == algorithm))


@lru_cache
def alien_eggs() -> AlienEggs:
    """The shipped copy."""
    items = read_table("alien_eggs/items_30.csv")
    rows = read_table("alien_eggs/responses_30.csv.gz")
    queries = np.array([rows[column] for column in ("head", "left", "right")], np.int32).T
    winners = np.array(rows["winner"], np.int32)
    responses = np.where(winners == queries[:, 1], 0, 1).astype(np.int32)
    return AlienEggs(
        tuple(items["item"]),
        np.array(items["smoothness"], float),
        Answers(np.ascontiguousarray(queries), responses),
        np.array(rows["algorithm"]),
        np.array(rows["participant"], np.int32),
        np.array([time or "nan" for time in rows["response_time_s"]], float),
    )
