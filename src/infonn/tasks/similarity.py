"""Similarity questions: the pool is drawn from all queries, or given; the options are the candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import IntArray
from infonn.beliefs import Belief, Examples
from infonn.errors import InvalidQueryError
from infonn.queries import Answers, Kind, all_queries, check_length, check_queries, count_queries, draw_queries, orders
from infonn.records import Option

DEFAULT_POOL = 20_000


@dataclass(frozen=True)
class SimilarityTask:
    """Which of the candidates is nearest to the reference (or: rank them).

    The pool is `pool` where given (rows of queries), else all queries where they are at most `pool_size`,
    else `pool_size` of them drawn afresh each round.
    """

    names: Sequence[str]
    candidates: int = 3
    kind: Kind = "nearest"
    pool_size: int = DEFAULT_POOL
    pool: IntArray | None = None

    def __post_init__(self) -> None:
        check_length(self.candidates, len(self.names))
        if self.kind == "ranking":
            orders(self.candidates)  # refuses rankings nobody can give
        if self.kind == "label":
            raise InvalidQueryError('A similarity task asks "nearest" or "ranking"; for "label" use task="labels".')
        if self.pool is not None:
            pool = check_queries(self.pool, len(self.names))
            if not len(pool):
                raise InvalidQueryError("The pool has no queries, so nothing could be asked. Leave it out to ask any.")
            if pool.shape[1] != 1 + self.candidates:
                raise InvalidQueryError(
                    f"The pool's queries have {pool.shape[1] - 1} candidates, and the study's questions have "
                    f"{self.candidates}. Set candidates = {pool.shape[1] - 1}, or give a pool of that length."
                )

    @property
    def n_items(self) -> int:
        return len(self.names)

    @cached_property
    def _fixed(self) -> IntArray | None:
        if self.pool is not None:
            return np.asarray(self.pool, np.int32)
        few = count_queries(len(self.names), self.candidates) <= self.pool_size
        return all_queries(len(self.names), self.candidates) if few else None

    @property
    def searchable(self) -> bool:
        """Whether queries beyond the proposed ones may be asked: not where these were given, or are all there are."""
        return self._fixed is None

    def first_queries(self, size: int, rng: Generator) -> IntArray:
        """Random queries, before anything is known."""
        if self._fixed is None:
            return draw_queries(size, len(self.names), self.candidates, rng)
        return self._fixed[rng.permutation(len(self._fixed))[:size]]

    def propose(self, belief: Belief, answers: Answers, rng: Generator) -> IntArray:
        """The pool to select from; it does not look at the belief."""
        if self._fixed is not None:
            return self._fixed
        return draw_queries(self.pool_size, len(self.names), self.candidates, rng)

    def completed(self, queries: IntArray, belief: Belief, answers: Answers) -> IntArray:
        """As they are: a proposal has its candidates."""
        return queries

    def examples(self, belief: Belief, answers: Answers) -> None:
        """None: a comparison shows its own candidates."""

    def examples_of_model(self, model: Mapping[str, Any]) -> None:
        """None."""

    def options(self, query: IntArray, examples: Examples | None = None) -> tuple[Option, ...]:
        """The candidates; for a ranking, their orders from nearest to farthest."""
        candidates = [int(item) for item in np.asarray(query)[1:] if item >= 0]
        if self.kind == "nearest":
            return tuple(Option(self.names[item], item) for item in candidates)
        labels = [" > ".join(self.names[candidates[i]] for i in order) for order in orders(len(candidates))]
        return tuple(Option(label) for label in labels)
