"""One run of the loop as a curve, and many runs in lockstep so that learners may fit them as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import IntArray, to_numpy
from infonn.beliefs import Belief
from infonn.contracts.loop import Learner, Measure, Oracle, Strategy, Task
from infonn.errors import DataError
from infonn.queries import Answers, Kind, count_triplets, question_keys, stack_queries
from infonn.study import choose

Progress = Callable[[int, int], None]  # rounds done, rounds in all

FIRST, FIT, SELECT, ASK = range(4)  # what a stream of random numbers is for


@dataclass(frozen=True)
class Setup:
    """One curve to be run. Setups of one trial share its seed, so methods are compared on the same truth and start.

    `first` is how many queries of the task open the run, or the answers everybody starts from; `asked` are
    queries never to be asked, such as a test set; `until` ends the run early, once the curve says enough.
    """

    method: str
    learner_name: str
    settings: Mapping[str, Any]
    trial: int
    seed: int
    learner: Learner
    task: Task
    strategy: Strategy
    oracle: Oracle
    measures: Mapping[str, Measure]
    first: int | Answers
    size: int
    rounds: int
    kind: Kind = "nearest"
    warm: bool = True  # each fit goes on from the last belief
    asked: IntArray | None = None
    until: Callable[[Curve], bool] | None = None


@dataclass(frozen=True)
class Probe:
    """One curve that is measured outside the loop, such as a timing: `run` gives (queries, triplets, measures)."""

    method: str
    learner_name: str
    settings: Mapping[str, Any]
    trial: int
    seed: int
    run: Callable[[], tuple[list[int], list[int], dict[str, list[float]]]]


@dataclass
class Curve:
    """What was measured after each fit: answers so far, triplets they hold, and one list per measure."""

    method: str
    learner: str
    settings: dict[str, Any]
    trial: int
    seed: int
    queries: list[int] = field(default_factory=list)
    triplets: list[int] = field(default_factory=list)
    measures: dict[str, list[float]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Curve:
        return cls(**data)


def run_setups(setups: Sequence[Setup], progress: Progress | None = None) -> list[Curve]:
    """The curves of `setups`, all run side by side: fit, measure, choose, ask, round after round.

    A curve has `rounds + 1` points: after the opening answers, and after each round. A run ends early where
    nothing is left to ask.
    """
    runs = [_Run(setup) for setup in setups]
    groups = stacks([setup.learner for setup in setups])
    n_rounds = max((setup.rounds for setup in setups), default=0)
    for round in range(n_rounds + 1):
        for group in groups:
            _fit([run for run in (runs[row] for row in group) if not run.finished], round)
        for run in runs:
            if not run.finished:
                run.measure()
                run.ask(round)
        if progress is not None:
            progress(round, n_rounds)
    return [run.curve for run in runs]


class _Run:
    """A setup under way."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.belief: Belief | None = None
        self.finished = False
        self.curve = Curve(setup.method, setup.learner_name, dict(setup.settings), setup.trial, setup.seed)
        self.curve.measures = {name: [] for name in setup.measures}
        self.answers = setup.first if isinstance(setup.first, Answers) else self._opening(setup.first)

    def rng(self, round: int, purpose: int) -> Generator:
        return default_rng([self.setup.seed, round, purpose])

    def _opening(self, size: int) -> Answers:
        """`size` different random queries, answered; fewer where the task has no more."""
        rng, kind = self.rng(0, FIRST), self.setup.kind
        queries = self.setup.task.first_queries(size, rng)
        for _ in range(50):  # tasks that draw may draw a question twice
            queries = queries[np.sort(np.unique(question_keys(queries, kind), return_index=True)[1])]
            if len(queries) >= size:
                break
            queries = stack_queries([queries, self.setup.task.first_queries(size - len(queries), rng)])
        queries = queries[:size]
        return Answers(queries, self.setup.oracle.answer(queries, self.rng(0, ASK)), self.setup.kind)

    def measure(self) -> None:
        assert self.belief is not None
        self.curve.queries.append(len(self.answers))
        self.curve.triplets.append(count_triplets(self.answers))
        for name, measure in self.setup.measures.items():
            self.curve.measures[name].append(round(float(measure(self.belief)), 6))

    def ask(self, round: int) -> None:
        setup, belief = self.setup, self.belief
        assert belief is not None
        if round == setup.rounds or (setup.until is not None and setup.until(self.curve)):
            self.finished = True
            return
        asked = self.answers.queries if setup.asked is None else stack_queries([self.answers.queries, setup.asked])
        queries, _ = choose(
            setup.task,
            setup.strategy,
            belief,
            self.answers,
            asked,
            setup.size,
            self.rng(round, SELECT),
            setup.kind,
        )
        if not len(queries):
            self.finished = True
            return
        responses = setup.oracle.answer(queries, self.rng(round + 1, ASK))
        self.answers = self.answers.joined(Answers(queries, responses, setup.kind))


def _fit(runs: list[_Run], round: int) -> None:
    """Give each run its next belief; runs of one stacked learner are fitted as one model."""
    if not runs:
        return
    starts = [run.belief if run.setup.warm else None for run in runs]
    rngs = [run.rng(round, FIT) for run in runs]
    learner = runs[0].setup.learner
    if hasattr(learner, "fit_stack"):
        learners = [run.setup.learner for run in runs]
        beliefs = learner.fit_stack(learners, [run.answers for run in runs], rngs, starts)
    elif hasattr(learner, "fit_many"):
        beliefs = learner.fit_many([run.answers for run in runs], rngs, starts)
    else:
        beliefs = [run.setup.learner.fit(run.answers, rng, start) for run, rng, start in zip(runs, rngs, starts)]
    if len(beliefs) != len(runs):
        raise DataError(f"{type(learner).__name__}.fit_many gave {len(beliefs)} beliefs for {len(runs)} runs.")
    for run, belief in zip(runs, beliefs):
        run.belief = belief


def stacks(learners: Sequence[Learner]) -> list[list[int]]:
    """Rows that may be fitted as one model: those of equal learners with `fit_many`; every other row alone.

    Learners that may differ in part, such as in their items, say so themselves: `stacks_with`.
    """
    groups: list[list[int]] = []
    for row, learner in enumerate(learners):
        if hasattr(learner, "fit_many"):
            same = getattr(learner, "stacks_with", partial(_equal, learner))
            for group in groups:
                if same(learners[group[0]]):
                    group.append(row)
                    break
            else:
                groups.append([row])
        else:
            groups.append([row])
    return groups


def _equal(first: Any, second: Any) -> bool:
    """Equality that looks into dataclasses and arrays."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if is_dataclass(first):
        return all(_equal(getattr(first, f.name), getattr(second, f.name)) for f in fields(first) if f.compare)
    if hasattr(first, "shape"):
        return np.array_equal(to_numpy(first), to_numpy(second))
    return bool(first == second)
