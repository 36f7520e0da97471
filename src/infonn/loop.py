"""Loop: opening, fit, choose. Studies, experiments, the worker, cold fits and `infonn label` all go through here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.beliefs import Belief, map_of
from infonn.contracts.loop import (
    AdjustableLearner,
    Learner,
    Map,
    MappedLearner,
    SearchableTask,
    Situation,
    StackedLearner,
    Strategy,
    Task,
)
from infonn.errors import DataError
from infonn.queries import Answers, Kind, no_answers, not_among, question_keys, stack_queries

# What a stream of random numbers is for. numpy pads a seed with zeros, so [seed, n] is [seed, n, 0]: every sort of
# stream below has its own number of words, the last of which is never 0 where another sort could be as long.
OPENING, FIT, SELECT, ASK = range(4)
_LIVE = 1
CHECKED = 1 << 16  # items of an embedding that are looked at at once


def simulation_rng(seed: int, round: int, purpose: int) -> Generator:
    """The numbers of a simulation's round, in a study and in an experiment alike."""
    return default_rng([seed, round, purpose])


def cold_rng(seed: int, n_answers: int) -> Generator:
    """The numbers of a cold fit: nothing but the seed and the answers decides what is reported."""
    return default_rng([seed, n_answers])


def live_rng(seed: int, purpose: int, n_answers: int, n_questions: int = 0) -> Generator:
    """The numbers of `ask` and of the worker, which know answers and questions but no rounds."""
    return default_rng([seed, n_answers, n_questions, purpose, _LIVE])


@dataclass(frozen=True)
class Loop:
    """The parts of a study, and the three things that are done with them.

    `first` is how many random queries open a run, or the answers it opens with; `never` are queries that may not be
    asked, such as a test set.
    """

    task: Task
    learner: Learner
    strategy: Strategy
    kind: Kind = "nearest"
    candidates: int = 3
    first: int | Answers = 20
    never: IntArray | None = None

    # --- opening -------------------------------------------------------------------------------------------

    def opening(self, rng: Generator) -> IntArray:
        """The queries that open a run, at random; none where it opens with answers."""
        size = self.first if isinstance(self.first, int) else 0
        return self.random_queries(size, no_answers(self.candidates).queries, rng)

    def random_queries(self, size: int, asked: IntArray, rng: Generator) -> IntArray:
        """`size` different random queries that were not asked before; fewer where the task has no more."""
        return distinct_queries(self.task, size, self._barred(asked), rng, self.kind)

    # --- fit -----------------------------------------------------------------------------------------------

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """What the learner makes of the answers, checked: kernels trust that every item has a finite place."""
        return checked(self.learner.fit(answers, rng, start), self.task.n_items)

    def map_of(self, belief: Belief) -> FloatArray:
        """The places that people get to see, in the columns that the learner was asked for."""
        return map_by(self.learner, belief)

    @property
    def dims(self) -> int | None:
        """The columns that the learner was told to have, where it was."""
        return self.learner.dims if isinstance(self.learner, MappedLearner) else None

    def with_effort(self, effort: float) -> Loop:
        """The loop whose learner takes less trouble, where it can: for warm updates that people wait for."""
        if effort >= 1 or not isinstance(self.learner, AdjustableLearner):
            return self
        return replace(self, learner=self.learner.with_effort(effort))

    # --- choose --------------------------------------------------------------------------------------------

    def choose(
        self, belief: Belief, answers: Answers, asked: IntArray, size: int, rng: Generator, map: Map = map
    ) -> tuple[IntArray, FloatArray]:
        """Propose, drop what was asked before, select: up to `size` queries and their scores."""
        pool = self.task.propose(belief, answers, rng)
        new = partial(not_among, asked=self._barred(asked), kind=self.kind)
        pool = pool[new(pool)]
        if not len(pool):
            return pool, np.empty(0)
        searchable = isinstance(self.task, SearchableTask) and self.task.searchable
        situation = Situation(pool, belief, answers)
        queries, scores = self.strategy.choose(situation, size, rng, new if searchable else None, map)
        return self.task.completed(queries, belief, answers), scores

    def ranked(
        self, belief: Belief, answers: Answers, size: int, rng: Generator, among: IntArray | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The whole pool, the rows chosen first and every row's score: for other tools, which sort by it themselves.

        `among` are the references that may be asked about, where not all may.
        """
        pool = self.task.propose(belief, answers, rng)
        if among is not None:
            pool = pool[np.isin(pool[:, 0], among)]
        rows, scores = self.strategy.select_with_scores(Situation(pool, belief, answers), size, rng)
        return pool, rows, scores

    def _barred(self, asked: IntArray) -> IntArray:
        return asked if self.never is None else stack_queries([asked, self.never])


def map_by(learner: Learner, belief: Belief) -> FloatArray:
    """`map_of` in the columns that the learner was asked for; of one that knows no `dims`, its own embedding."""
    return map_of(belief, learner.dims) if isinstance(learner, MappedLearner) else to_numpy(belief.embedding)


def distinct_queries(task: Task, size: int, asked: IntArray, rng: Generator, kind: Kind) -> IntArray:
    """`size` different random queries of a task, none of them among `asked`; fewer where it has no more."""
    known = set(question_keys(asked, kind).tolist())
    parts: list[IntArray] = []
    missing = size
    for _ in range(50):  # tasks that draw may draw a question twice
        if missing <= 0:
            break
        drawn = task.first_queries(missing, rng)
        fresh = []
        for row, key in enumerate(question_keys(drawn, kind).tolist()):
            if key not in known:
                known.add(key)
                fresh.append(row)
        parts.append(drawn[fresh])
        missing -= len(fresh)
    return stack_queries(parts) if parts else task.first_queries(0, rng)


def checked(belief: Belief, n_items: int) -> Belief:
    """The belief, where its embedding and draws place each of `n_items` items at finite numbers."""
    points = to_numpy(belief.embedding)
    if points.ndim != 2 or len(points) != n_items:
        raise DataError(
            f"The learner's embedding has shape {points.shape}; of {n_items} items it is ({n_items}, dims)."
        )
    for first in range(0, n_items, CHECKED):
        finite = np.isfinite(points[first : first + CHECKED]).all(axis=1)
        if not finite.all():
            row = first + int(np.flatnonzero(~finite)[0])
            raise DataError(f"The learner's embedding of item {row} is {points[row]}; it must be finite numbers.")
    for name in ("draws", "class_log_probs"):
        drawn = getattr(belief, name)
        if drawn is not None and not callable(drawn) and (drawn.ndim != 3 or drawn.shape[1] != n_items):
            raise DataError(
                f"The learner's {name} have shape {tuple(drawn.shape)}; of {n_items} items they are "
                f"(draws, {n_items}, ...)."
            )
    return belief


# --- simulations -----------------------------------------------------------------------------------------------


class Run:
    """A simulation under way: its round, the answers so far and the belief they gave.

    Studies and experiments go the same way with the same numbers: answers of the opening, then round after round a
    fit, a choice of queries and their answers.
    """

    def __init__(self, loop: Loop, seed: int, warm: bool = True) -> None:
        self.loop, self.seed, self.warm = loop, seed, warm
        self.round = 0
        self.answers = loop.first if isinstance(loop.first, Answers) else no_answers(loop.candidates, loop.kind)
        self.belief: Belief | None = None

    def rng(self, purpose: int) -> Generator:
        """The numbers of this round: OPENING, FIT, SELECT, or ASK for the answers that the round begins with."""
        return simulation_rng(self.seed, self.round, purpose)

    def opening(self) -> IntArray:
        return self.loop.opening(self.rng(OPENING))

    def take(self, answers: Answers) -> None:
        """These are the answers now; the belief does not know them yet."""
        self.answers = answers

    def choose(self, size: int, asked: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """The next queries and their scores; with them begins the next round."""
        assert self.belief is not None
        known = self.answers.queries if asked is None else asked
        chosen = self.loop.choose(self.belief, self.answers, known, size, self.rng(SELECT))
        self.round += 1
        return chosen


def fit_runs(runs: Sequence[Run]) -> None:
    """Give each run its next belief; those of a learner that stacks are fitted as one model, which all must share."""
    if not runs:
        return
    starts = [run.belief if run.warm else None for run in runs]
    rngs = [run.rng(FIT) for run in runs]
    answers, learners = [run.answers for run in runs], [run.loop.learner for run in runs]
    first = learners[0]
    if isinstance(first, StackedLearner):
        beliefs = first.fit_many(answers, rngs, starts, learners)
        if len(beliefs) != len(runs):
            raise DataError(f"{type(first).__name__}.fit_many gave {len(beliefs)} beliefs for {len(runs)} runs.")
        beliefs = [checked(belief, run.loop.task.n_items) for run, belief in zip(runs, beliefs)]
    else:
        given = zip(runs, rngs, starts)
        beliefs = [run.loop.fit(run.answers, rng, start) for run, rng, start in given]
    for run, belief in zip(runs, beliefs):
        run.belief = belief


def stacks(learners: Sequence[Learner]) -> list[list[int]]:
    """Rows that may be fitted as one model: those of learners that stack with one another; every other row alone."""
    groups: list[list[int]] = []
    for row, learner in enumerate(learners):
        if isinstance(learner, StackedLearner):
            for group in groups:
                first = learners[group[0]]
                if isinstance(first, StackedLearner) and first.stacks_with(learner):
                    group.append(row)
                    break
            else:
                groups.append([row])
        else:
            groups.append([row])
    return groups
