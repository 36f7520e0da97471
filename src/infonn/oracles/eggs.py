"""How people judge alien eggs: right more often the clearer the question, as Salmon's authors fitted it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class EggOracle:
    """Noisy answers about items with a true place on a line.

    Of two candidates the nearer is chosen with p = (1 - 2 err)(sigmoid(rate (r - 1/2)) - 1/2) + 1/2, where r is
    the larger distance's share of both; the constants are those of Salmon (fitted to people). That model knows
    two candidates only: of more, the winner of a knockout in random order is the answer.
    """

    places: FloatArray  # (items,)
    error: float = 0.07074231
    rate: float = 17.55473809

    def answer(self, queries: IntArray, rng: Generator) -> IntArray:
        """The response to each query."""
        n, width = queries.shape[0], queries.shape[1] - 1
        positions = np.argsort(rng.random((n, width)) + (queries[:, 1:] < 0), axis=1)  # padding plays last
        rows = np.arange(n)
        winner = positions[:, 0]
        for match in range(1, width):
            rival = positions[:, match]
            plays = queries[rows, 1 + rival] >= 0
            p_winner = self.chance(queries[:, 0], queries[rows, 1 + winner], queries[rows, 1 + rival])
            winner = np.where(plays & (rng.random(n) >= p_winner), rival, winner)
        return winner.astype(np.int32)

    def chance(self, references: IntArray, first: IntArray, second: IntArray) -> FloatArray:
        """How likely `first` is chosen over `second`."""
        to_first = np.abs(self.places[references] - self.places[first]).astype(float)
        to_second = np.abs(self.places[references] - self.places[second]).astype(float)
        total = to_first + to_second
        clearness = np.divide(np.maximum(to_first, to_second), total, out=np.full(len(total), 0.5), where=total > 0)
        sigmoid = 1 / (1 + np.exp(-self.rate * (clearness - 0.5)))
        p_correct = (1 - 2 * self.error) * (sigmoid - 0.5) + 0.5
        return np.where(to_first <= to_second, p_correct, 1 - p_correct)
