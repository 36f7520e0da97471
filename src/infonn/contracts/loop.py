"""The parts of the loop on one page: read this file first.

A learner turns answers into a belief. A task proposes queries. A strategy picks the most informative.
An oracle (a simulation, or a person at the web page) responds. A study drives the loop and a storage
remembers it. Nothing here is inherited from: a part has the right method, or is the right function.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import Array, BoolArray, FloatArray, IntArray
from infonn.beliefs import Belief, Examples
from infonn.errors import DataError
from infonn.queries import Answers, first_of_each
from infonn.records import Option

Measure = Callable[[Belief], float]  # knows the truth; tasks and strategies never see it

# --- selection -------------------------------------------------------------------------------------

Prediction = Callable[[IntArray], Array]
"""queries -> log_probs (draws, queries, options) under common draws of the belief."""


@runtime_checkable
class FusedPrediction(Protocol):
    """A prediction that knows the information of queries without their log_probs; criteria ask for that first."""

    def __call__(self, queries: IntArray) -> Array: ...

    def information(self, queries: IntArray) -> FloatArray:
        """The same nats as `mutual_information` of the log_probs, fused and in bounded memory: (queries,)."""
        ...


@runtime_checkable
class SwappingPrediction(Protocol):
    """A prediction that knows the information of all queries that differ from given ones in one position."""

    def __call__(self, queries: IntArray) -> Array: ...

    def swap_information(self, queries: IntArray, position: int, items: IntArray) -> FloatArray:
        """Nats of each query with each of `items` at `position`, -inf where it is in it already: (queries, items)."""
        ...


@dataclass(frozen=True)
class Situation:
    """All a strategy may look at. `predict` is None where the belief and the strategy have no common draws."""

    pool: IntArray
    belief: Belief
    answers: Answers
    predict: Prediction | None = None


Predictor = Callable[[Situation, Generator], Prediction | None]  # how draws of a belief become log_probs
Criterion = Callable[[IntArray, Situation, Generator], FloatArray]  # queries -> scores, higher is better
BatchRule = Callable[[FloatArray, Situation, int, Generator], IntArray]  # scores of the pool -> pool rows
Search = Callable[[FloatArray, Situation, Generator], IntArray]  # scores of the pool -> other queries, maybe better
Allowed = Callable[[IntArray], BoolArray]  # which queries beyond the pool may be asked
Map = Callable[[Callable[[IntArray], FloatArray], Iterable[IntArray]], Iterable[FloatArray]]
"""The builtin `map`, or that of an engine: where pieces of a pool are scored."""

PIECE = 1 << 16  # queries that are scored elsewhere at once: a multiple of the chunks that criteria take themselves


@runtime_checkable
class SplitCriterion(Protocol):
    """A criterion that draws nothing and looks at no other query of the pool, so that pools may be split."""

    @property
    def by_query(self) -> bool: ...

    def __call__(self, queries: IntArray, situation: Situation, rng: Generator) -> FloatArray: ...


@dataclass(frozen=True)
class Strategy:
    """A criterion, a batch rule, the predictor both read draws through, and a search for queries beyond the pool.

    With the `map` of an engine a large pool is scored piece by piece by its workers, where the criterion allows it;
    what they need travels once, and arrays that are mapped from files not at all. No score depends on it.
    """

    criterion: Criterion
    batch: BatchRule
    predictor: Predictor | None = None
    search: Search | None = None

    def select(self, situation: Situation, size: int, rng: Generator, map: Map = map) -> IntArray:
        """Distinct pool rows, best first: `size` of them, or the whole pool where it is smaller."""
        rows, _ = self.select_with_scores(situation, size, rng, map)
        return rows

    def select_with_scores(
        self, situation: Situation, size: int, rng: Generator, map: Map = map
    ) -> tuple[IntArray, FloatArray]:
        """The rows chosen, and the scores of the whole pool."""
        rows, _, scores = self._select(situation, size, rng, None, map)
        return rows, scores

    def choose(
        self, situation: Situation, size: int, rng: Generator, allowed: Allowed | None = None, map: Map = map
    ) -> tuple[IntArray, FloatArray]:
        """Distinct queries, best first, and their scores: of the pool, and of what is found beyond it.

        Without `allowed` the pool is all that may be asked, and nothing is searched for.
        """
        if size > 1:  # a pool that was drawn may hold a question twice, and a batch must not
            pool = situation.pool[first_of_each(situation.pool, situation.answers.kind)]
            situation = replace(situation, pool=pool)
        rows, pool, scores = self._select(situation, size, rng, allowed, map)
        return pool[rows], scores[rows]

    def _select(
        self, situation: Situation, size: int, rng: Generator, allowed: Allowed | None, map: Map
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows of a pool, that pool with what was found beyond it, and its scores."""
        if not len(situation.pool):
            return np.empty(0, np.int64), situation.pool, np.empty(0)
        draws_rng, batch_rng = default_rng(rng.integers(2**63)), default_rng(rng.integers(2**63))
        if self.predictor is not None:
            situation = replace(situation, predict=self.predictor(situation, draws_rng))
        same_rng = deepcopy(draws_rng)  # a criterion that draws must draw the same for what is found
        scores = self._scores(situation.pool, situation, draws_rng, map)
        if self.search is not None and allowed is not None:
            found = self.search(scores, situation, default_rng(rng.integers(2**63)))
            found = found[allowed(found)]
            scores = np.concatenate([scores, self._scores(found, situation, same_rng, map)])
            situation = replace(situation, pool=np.concatenate([situation.pool, found]))
        rows = self.batch(scores, situation, min(size, len(situation.pool)), batch_rng)
        return rows, situation.pool, scores

    def _scores(self, queries: IntArray, situation: Situation, rng: Generator, map: Map) -> FloatArray:
        splits = isinstance(self.criterion, SplitCriterion) and self.criterion.by_query
        if map is not builtins.map and splits and len(queries) > PIECE:
            score = partial(_score_piece, self.criterion, replace(situation, pool=queries[:0]))
            pieces = [queries[first : first + PIECE] for first in range(0, len(queries), PIECE)]
            scores: FloatArray = np.concatenate(list(map(score, pieces)))
        else:
            scores = np.asarray(self.criterion(queries, situation, rng))
        _check_scores(scores, queries)
        return scores


def _score_piece(criterion: Criterion, situation: Situation, queries: IntArray) -> FloatArray:
    return np.asarray(criterion(queries, situation, default_rng(0)))  # from which it draws nothing


def _check_scores(scores: FloatArray, pool: IntArray) -> None:
    """Batch rules trust that every query has a score to compare."""
    if scores.shape != (len(pool),):
        raise DataError(f"The criterion gave scores of shape {scores.shape}; {len(pool)} queries need ({len(pool)},).")
    if np.isnan(scores).any():
        query = pool[np.isnan(scores)][0].tolist()
        raise DataError(f"The criterion's score of query {query} is nan; it must be a number.")


# --- the parts of the loop -------------------------------------------------------------------------


class Learner(Protocol):
    """Answers -> belief. `start` is an earlier belief to go on from; None starts afresh."""

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief: ...


@runtime_checkable
class StackedLearner(Learner, Protocol):
    """A learner that fits many studies as one stacked model; each slice gives what `fit` alone would give."""

    def stacks_with(self, other: Learner) -> bool:
        """Whether studies of the other learner may stand in one stack with studies of this one."""
        ...

    def fit_many(
        self,
        answers: Sequence[Answers],
        rngs: Sequence[Generator],
        starts: Sequence[Belief | None],
        learners: Sequence[Learner] = (),
    ) -> list[Belief]:
        """A belief for each study; `learners` are those of the studies, where they differ (in their items, say)."""
        ...


@runtime_checkable
class AdjustableLearner(Learner, Protocol):
    """A learner that can do with less: for updates that people wait for."""

    def with_effort(self, effort: float) -> Learner:
        """The same learner making this share of its moves, from 0 to 1."""
        ...


@runtime_checkable
class SizedLearner(Learner, Protocol):
    """A learner whose map has as many dimensions as one likes."""

    def with_dims(self, dims: int) -> Learner:
        """The same learner with maps of (at most) so many dimensions."""
        ...


@runtime_checkable
class MappedLearner(Learner, Protocol):
    """A learner that was told how many columns the map of its belief is to have; None where it was not."""

    @property
    def dims(self) -> int | None: ...


@runtime_checkable
class PlacingLearner(Learner, Protocol):
    """A learner whose belief places items that nobody was asked about."""

    def transform(self, features: FloatArray, belief: Belief) -> FloatArray:
        """Where items with these features lie, in the belief's own embedding: (items, dims)."""
        ...


class Task(Protocol):
    """What may be asked, and what a response means."""

    @property
    def n_items(self) -> int: ...

    def limited_to(self, items: IntArray) -> Task:
        """The task that asks about these items alone, for people who are shown no others."""
        ...

    def first_queries(self, size: int, rng: Generator) -> IntArray: ...

    def query_about(self, item: int, rng: Generator) -> IntArray:
        """A random query, a row, whose reference is this item."""
        ...

    def propose(self, belief: Belief, answers: Answers, rng: Generator) -> IntArray: ...

    def completed(self, queries: IntArray, belief: Belief, answers: Answers) -> IntArray:
        """Chosen queries with their candidates, where `propose` left them out."""
        ...

    def options(self, query: IntArray, examples: Examples | None = None) -> tuple[Option, ...]:
        """What a response may be; `examples` stand for options that are no candidates of the query."""
        ...

    def examples(self, belief: Belief, answers: Answers) -> Examples | None: ...

    def examples_of_model(self, model: Mapping[str, Any]) -> Examples | None:
        """The examples that a stored model knows."""
        ...


@runtime_checkable
class SearchableTask(Protocol):
    """A task that may let other queries of its items be asked than those it proposes."""

    @property
    def searchable(self) -> bool: ...


class Oracle(Protocol):
    """Queries -> responses. It knows the truth; only simulations have one."""

    def answer(self, queries: IntArray, rng: Generator) -> IntArray: ...
