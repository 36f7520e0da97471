"""Answers label queries by the true class."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.random import Generator

from infonn.arrays import IntArray


@dataclass(frozen=True)
class LabelOracle:
    """Knows the class of every item: `labels` (items,)."""

    labels: IntArray

    def answer(self, queries: IntArray, rng: Generator) -> IntArray:
        """The true class of each query's reference."""
        return self.labels[queries[:, 0]].astype("int32")
