"""Similarity questions: the pool is drawn from all queries, or given; the options are items, or orders of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import IntArray
from infonn.beliefs import Belief, Examples
from infonn.errors import InvalidQueryError
from infonn.queries import (
    Answers,
    Kind,
    all_queries,
    check_kind,
    check_length,
    check_queries,
    count_queries,
    draw_queries,
    option_items,
    orders,
)
from infonn.records import Option

DEFAULT_POOL = 20_000


@dataclass(frozen=True)
class SimilarityTask:
    """Which of the candidates is nearest to the reference? Or: rank them. Or: which of three is the odd one?

    The pool is `pool` where given (rows of queries), else all queries where they are at most `pool_size`,
    else `pool_size` of them drawn afresh each round. `among` are the items it asks about; None for all.
    """

    names: Sequence[str]
    candidates: int = 3
    kind: Kind = "nearest"
    pool_size: int = DEFAULT_POOL
    pool: IntArray | None = None
    among: IntArray | None = None

    def __post_init__(self) -> None:
        check_length(self.candidates, self._n_asked)
        if self.kind == "label":
            raise InvalidQueryError(
                'A similarity task asks "nearest", "ranking" or "odd_one_out"; for "label" use task="labels".'
            )
        check_kind(self.candidates, self.kind)
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

    def limited_to(self, items: IntArray) -> SimilarityTask:
        """The task that asks about these items alone."""
        return replace(self, among=np.asarray(items, np.int32))

    @property
    def _n_asked(self) -> int:
        return len(self.names if self.among is None else self.among)

    def _queries_of(self, places: IntArray) -> IntArray:
        """Queries of the items asked about, from queries of their places in `among`."""
        return places if self.among is None else np.asarray(self.among)[places]

    @cached_property
    def _fixed(self) -> IntArray | None:
        if self.pool is not None:
            pool = np.asarray(self.pool, np.int32)
            return pool if self.among is None else pool[np.isin(pool, self.among).all(axis=1)]
        few = count_queries(self._n_asked, self.candidates, self.kind) <= self.pool_size
        return self._queries_of(all_queries(self._n_asked, self.candidates, self.kind)) if few else None

    @property
    def searchable(self) -> bool:
        """Whether queries beyond the proposed ones may be asked: not where these were given, or are all there are."""
        return self._fixed is None and self.among is None

    def first_queries(self, size: int, rng: Generator) -> IntArray:
        """Random queries, before anything is known."""
        if self._fixed is None:
            return self._queries_of(draw_queries(size, self._n_asked, self.candidates, rng))
        return self._fixed[rng.permutation(len(self._fixed))[:size]]

    def query_about(self, item: int, rng: Generator) -> IntArray:
        """This item beside random candidates."""
        asked = np.arange(self.n_items) if self.among is None else self.among
        candidates = rng.choice(asked[asked != item], self.candidates, replace=False)
        return np.array([item, *candidates], np.int32)

    def propose(self, belief: Belief, answers: Answers, rng: Generator) -> IntArray:
        """The pool to select from; it does not look at the belief."""
        if self._fixed is not None:
            return self._fixed
        return self._queries_of(draw_queries(self.pool_size, self._n_asked, self.candidates, rng))

    def completed(self, queries: IntArray, belief: Belief, answers: Answers) -> IntArray:
        """As they are: a proposal has its candidates."""
        return queries

    def examples(self, belief: Belief, answers: Answers) -> None:
        """None: a comparison shows its own candidates."""

    def examples_of_model(self, model: Mapping[str, Any]) -> None:
        """None."""

    def options(self, query: IntArray, examples: Examples | None = None) -> tuple[Option, ...]:
        """The candidates, or the three of which one is odd; for a ranking, its orders from nearest to farthest."""
        items = [int(item) for item in option_items(np.asarray(query)[None], self.kind)[0] if item >= 0]
        if self.kind != "ranking":
            return tuple(Option(self.names[item], item) for item in items)
        labels = [" > ".join(self.names[items[i]] for i in order) for order in orders(len(items))]
        return tuple(Option(label) for label in labels)
