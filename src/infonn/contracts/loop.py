"""The parts of the loop on one page: read this file first.

A learner turns answers into a belief. A task proposes queries. A strategy picks the most informative.
An oracle (a simulation, or a person at the web page) responds. A study drives the loop and a storage
remembers it. Nothing here is inherited from: a part has the right method, or is the right function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import Array, FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.queries import Answers
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


@dataclass(frozen=True)
class Strategy:
    """A criterion, a batch rule, and the predictor both read draws through."""

    criterion: Criterion
    batch: BatchRule
    predictor: Predictor | None = None

    def select(self, situation: Situation, size: int, rng: Generator) -> IntArray:
        """Distinct pool rows, best first: `size` of them, or the whole pool where it is smaller."""
        rows, _ = self.select_with_scores(situation, size, rng)
        return rows

    def select_with_scores(self, situation: Situation, size: int, rng: Generator) -> tuple[IntArray, FloatArray]:
        """The rows chosen, and the scores of the whole pool."""
        if not len(situation.pool):
            return np.empty(0, np.int64), np.empty(0)
        draws_rng, batch_rng = default_rng(rng.integers(2**63)), default_rng(rng.integers(2**63))
        if self.predictor is not None:
            situation = replace(situation, predict=self.predictor(situation, draws_rng))
        scores = np.asarray(self.criterion(situation.pool, situation, draws_rng))
        _check_scores(scores, situation.pool)
        return self.batch(scores, situation, min(size, len(situation.pool)), batch_rng), scores


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
class PlacingLearner(Learner, Protocol):
    """A learner whose belief places items that nobody was asked about."""

    def transform(self, features: FloatArray, belief: Belief) -> FloatArray:
        """Where items with these features lie, in the belief's own embedding: (items, dims)."""
        ...


class Task(Protocol):
    """What may be asked, and what a response means."""

    @property
    def n_items(self) -> int: ...

    def first_queries(self, size: int, rng: Generator) -> IntArray: ...

    def propose(self, belief: Belief, answers: Answers, rng: Generator) -> IntArray: ...

    def options(self, query: IntArray) -> tuple[Option, ...]: ...

    def recall(self, model: Mapping[str, Any]) -> None:
        """Take up what a stored model knows, as far as options depend on it."""
        ...


class Oracle(Protocol):
    """Queries -> responses. It knows the truth; only simulations have one."""

    def answer(self, queries: IntArray, rng: Generator) -> IntArray: ...
