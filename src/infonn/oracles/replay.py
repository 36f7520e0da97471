"""Answers as people once gave them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import IntArray
from infonn.errors import InvalidQueryError
from infonn.queries import Answers, option_items, question_keys


class Recorded:
    """Recorded answers, grouped by what was asked: one question may have several, even different, answers."""

    def __init__(self, answers: Answers) -> None:
        if answers.kind not in ("nearest", "odd_one_out"):
            raise InvalidQueryError(
                f'Recorded answers are of kind "{answers.kind}"; replay knows "nearest" and "odd_one_out".'
            )
        keys = question_keys(answers.queries, answers.kind)
        self.answers = answers
        self.rows = np.argsort(keys, kind="stable")  # rows of one question stand together
        self.keys, self.starts, self.counts = np.unique(keys[self.rows], return_index=True, return_counts=True)

    @property
    def queries(self) -> IntArray:
        """Every question once: the pool that can be asked."""
        return self.answers.queries[np.sort(self.rows[self.starts])]


@dataclass(frozen=True)
class ReplayOracle:
    """Each question has one recorded answer; where people disagreed it is drawn once, by `seed`, in proportion."""

    recorded: Recorded
    seed: int = 0
    _rows: IntArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        recorded = self.recorded
        drawn = (default_rng([self.seed, 73]).random(len(recorded.keys)) * recorded.counts).astype(np.int64)
        object.__setattr__(self, "_rows", recorded.rows[recorded.starts + drawn])

    def answer(self, queries: IntArray, rng: Generator) -> IntArray:
        """The recorded response to each query, whatever the order of its candidates."""
        kind = self.recorded.answers.kind
        keys = question_keys(queries, kind)
        found = np.minimum(np.searchsorted(self.recorded.keys, keys), len(self.recorded.keys) - 1)
        missing = np.flatnonzero(self.recorded.keys[found] != keys)
        if len(missing):
            raise InvalidQueryError(
                f"Query {queries[missing[0]].tolist()} has no answer on record; ask the oracle's own queries only."
            )
        rows, answers = self._rows[found], self.recorded.answers
        chosen = option_items(answers.queries, kind)[rows, answers.responses[rows]]
        return np.argmax(option_items(queries, kind) == chosen[:, None], axis=1).astype(np.int32)
