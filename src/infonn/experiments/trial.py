"""One run of the loop as a curve, and many runs in lockstep so that learners may fit them as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from infonn.arrays import IntArray
from infonn.contracts.loop import Learner, Measure, Oracle, Strategy, Task
from infonn.errors import InfonnError, TrialError
from infonn.loop import ASK, Loop, Run, fit_runs, stacks
from infonn.queries import Answers, Kind, count_triplets

Progress = Callable[[int, int], None]  # rounds done, rounds in all


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

    @property
    def loop(self) -> Loop:
        return Loop(self.task, self.learner, self.strategy, self.kind, first=self.first, never=self.asked)


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
    trials = [_Trial(setup) for setup in setups]
    groups = stacks([setup.learner for setup in setups])
    n_rounds = max((setup.rounds for setup in setups), default=0)
    for round in range(n_rounds + 1):
        for group in groups:
            fit_runs([trials[row].run for row in group if not trials[row].finished])
        for trial in trials:
            if not trial.finished:
                trial.measure()
                trial.ask()
        if progress is not None:
            progress(round, n_rounds)
    return [trial.curve for trial in trials]


def failed_trial(parts: Sequence[Setup | Probe], error: Exception) -> TrialError:
    """One sentence that says which trial it was, and how to see it again."""
    names = ", ".join(dict.fromkeys(f"{part.method} with {part.learner_name}" for part in parts))
    trials = list(dict.fromkeys((part.trial, part.seed) for part in parts))
    which = " and ".join(f"trial {trial} (seed {seed})" for trial, seed in trials)
    what = str(error) if isinstance(error, InfonnError) else f"{type(error).__name__}: {error}"
    return TrialError(
        f"{which[0].upper()}{which[1:]} failed: {names}: {what.rstrip('.')}. What was finished before is kept; the "
        "same command goes on from there."
    )


class _Trial:
    """A setup under way."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.run = Run(setup.loop, setup.seed, setup.warm)
        self.finished = False
        self.curve = Curve(setup.method, setup.learner_name, dict(setup.settings), setup.trial, setup.seed)
        self.curve.measures = {name: [] for name in setup.measures}
        if not isinstance(setup.first, Answers):
            self.run.take(self._answered(self.run.opening()))

    def _answered(self, queries: IntArray) -> Answers:
        return Answers(queries, self.setup.oracle.answer(queries, self.run.rng(ASK)), self.setup.kind)

    def measure(self) -> None:
        answers, belief = self.run.answers, self.run.belief
        assert belief is not None
        self.curve.queries.append(len(answers))
        self.curve.triplets.append(count_triplets(answers))
        for name, measure in self.setup.measures.items():
            self.curve.measures[name].append(round(float(measure(belief)), 6))

    def ask(self) -> None:
        setup = self.setup
        if self.run.round == setup.rounds or (setup.until is not None and setup.until(self.curve)):
            self.finished = True
            return
        queries, _ = self.run.choose(setup.size)
        if not len(queries):
            self.finished = True
            return
        self.run.take(self.run.answers.joined(self._answered(queries)))
