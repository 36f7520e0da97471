"""How many answers a study will need, found by simulating it before anybody is asked: `infonn plan`."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from infonn import __version__
from infonn.arrays import FloatArray
from infonn.contracts.loop import Oracle
from infonn.datasets.synthetic import gaussian_points
from infonn.engines import Engine, Here
from infonn.errors import InfonnError
from infonn.experiments.curve_file import Journal, plain
from infonn.experiments.simulation import N_TEST, TripletAccuracy
from infonn.experiments.statistics import answers_to_target
from infonn.experiments.trial import Curve, Setup, failed_trial, run_setups
from infonn.maths.forecast import EXPECTED_AS_GOOD_AS, Gain, forecast
from infonn.maths.pace import Pace, paces
from infonn.oracles.distances import DistanceOracle
from infonn.oracles.noise import Corrupted
from infonn.queries import Answers, check_length, count_queries, draw_queries, split_into_triplets
from infonn.selection.lengths import nats_by_length
from infonn.specs.registry import DEFAULT_LEARNERS, DEFAULT_STRATEGIES, LEARNERS, STRATEGIES, build_part
from infonn.specs.settings import QueriesTable
from infonn.tasks.similarity import SimilarityTask

MEASURE = "triplet_accuracy"
ACTIVE, RANDOM = DEFAULT_STRATEGIES["similarity"], "random"
FIRST = QueriesTable().first
ENOUGH = 2  # rounds in a row at the target end a trial
FEWEST = 3  # trials that an interval needs
CHANCE = 0.5  # of a triplet
CHAINS = 24  # of a posterior: half of what a live study has, so that more trials fit into a minute

Progress = Callable[[int, int, int], None]  # trials done, trials, answers so far


@dataclass(frozen=True)
class Wanted:
    """The study to be planned: its size, how people answer, and how good the embedding should become.

    `noise` is the share of answers given at random. `target` is a share of triplets that the embedding orders as
    the true distances do; the truth is a cloud of normal points in `n_dims` dimensions.
    """

    n_items: int
    n_dims: int = 2
    candidates: int = 3
    noise: float = 0.1
    target: float = 0.9
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_dims < 1:
            raise InfonnError(f"{self.n_dims} dimensions; at least 1 is needed.")
        if not 0 <= self.noise < 1:
            raise InfonnError(f"Noise is {self.noise}; it is the share of answers given at random, 0 to below 1.")
        if not 0.5 < self.target < 1:
            raise InfonnError(f"The target is {self.target}; it must be above 0.5 (guessing) and below 1.")
        check_length(self.candidates, self.n_items)
        n_questions, first = count_queries(self.n_items, self.candidates), FIRST
        if n_questions <= first:
            raise InfonnError(
                f"{self.n_items} items give {n_questions} different questions with {self.candidates} candidates: ask "
                f"them all. A plan is for studies with more than {first}."
            )

    @property
    def scale(self) -> float:
        """Roughly the answers an ideal study needs: bits in the order of the items, over bits in an answer."""
        bits = self.n_items * self.n_dims * math.log2(self.n_items)
        return bits / math.log2(self.candidates) / (1 - self.noise) ** 2

    @property
    def batch(self) -> int:
        """Answers between two fits."""
        return max(1, round(self.scale / 12))

    @property
    def most_answers(self) -> int:
        """Where a trial gives up."""
        return round(4 * self.scale) + FIRST


@dataclass(frozen=True)
class Estimate:
    """Answers to the target over trials, the random start included: quartiles; inf where a trial gave up."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Saving:
    """Answers of the default strategy for one of random's: the ratio of medians with a 95 % bootstrap interval."""

    ratio: float
    low: float
    high: float


def run_plan(
    wanted: Wanted,
    trials: int,
    seconds: float = math.inf,
    progress: Progress | None = None,
    engine: Engine | None = None,
    studies: Journal | None = None,
) -> list[Curve]:
    """Curves of both strategies, by trial; once `seconds` would be exceeded no further trial is begun.

    Trials that `studies` holds are not run again, and those that are run are kept there.
    """
    engine = Here() if engine is None else engine
    curves = [curve for curve in (studies.curves if studies is not None else []) if curve.trial < trials]
    waiting = deque(sorted(set(range(trials)) - {curve.trial for curve in curves}))
    started, begun, n_done = time.perf_counter(), dict[int, float](), trials - len(waiting)

    def next_trials(n: int, allowance: float = 0.0) -> list[int]:
        """Those to begin now: none where one would take longer than there is time."""
        if begun and time.perf_counter() - started + allowance > seconds:
            return []
        chosen = [waiting.popleft() for _ in range(min(n, len(waiting)))]
        begun.update(dict.fromkeys(chosen, time.perf_counter()))
        return chosen

    def following(trial: int, _: list[Curve]) -> list[int]:
        return next_trials(1, time.perf_counter() - begun[trial])

    run = _Trials(wanted, (lambda answers: progress(n_done, trials, answers)) if progress and engine.is_here else None)
    for _, found in engine.run(run, next_trials(engine.n_workers), following):
        n_done += 1
        for curve in found:
            if studies is not None:
                studies.add(curve)
        curves += found
        if progress is not None:
            progress(n_done, trials, found[0].queries[-1])
    return sorted(curves, key=lambda curve: curve.trial)


@dataclass(frozen=True)
class _Trials:
    """Both strategies on a simulated study."""

    wanted: Wanted
    progress: Callable[[int], None] | None = None  # answers so far

    def __call__(self, trial: int) -> list[Curve]:
        told = self.progress and (lambda round, _: self.progress(FIRST + round * self.wanted.batch))  # type: ignore[misc]
        setups = setups_of(self.wanted, trial)
        try:
            return run_setups(setups, told)
        except Exception as error:
            raise failed_trial(setups, error) from error


def open_studies(folder: Path, wanted: Wanted, say: Callable[[str], None] = print) -> Journal:
    """The file in `folder` that keeps simulated studies of this kind, with those of an earlier sitting."""
    spec = plain({"wanted": vars(wanted), "learner": DEFAULT_LEARNERS["similarity", False], "version": __version__})
    kind = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    return Journal.open(folder / f"studies-{kind}.jsonl", spec, restart=False, say=say)


def setups_of(wanted: Wanted, trial: int) -> list[Setup]:
    """Both strategies under the default learner, on the same points, with the same start and the same people."""
    seed = 1000 * wanted.seed + trial
    truth = gaussian_points(wanted.n_items, wanted.n_dims, default_rng([seed, 9]))
    task = SimilarityTask([str(item) for item in range(wanted.n_items)], wanted.candidates)
    context = _context(wanted)
    learner_name = DEFAULT_LEARNERS["similarity", False]
    exact = DistanceOracle(truth)
    held_out = draw_queries(N_TEST, wanted.n_items, 2, default_rng([seed, 7]))
    triplets = split_into_triplets(Answers(held_out, exact.answer(held_out, default_rng(0))))
    return [
        Setup(
            method=name,
            learner_name=learner_name,
            settings=vars(wanted),
            trial=trial,
            seed=seed,
            learner=build_part("Learner", LEARNERS, learner_name, {}, context),
            task=task,
            strategy=build_part("Strategy", STRATEGIES, name, {}, context),
            oracle=_people(wanted, exact, seed),
            measures={MEASURE: TripletAccuracy(triplets)},
            first=FIRST,
            size=wanted.batch,
            rounds=-(-(wanted.most_answers - FIRST) // wanted.batch),
            until=lambda curve: _at_target(curve, wanted.target),
        )
        for name in (ACTIVE, RANDOM)
    ]


def _context(wanted: Wanted) -> dict[str, Any]:
    """What learners and strategies may want to know of the study."""
    return {
        "names": [str(item) for item in range(wanted.n_items)],
        "n_items": wanted.n_items,
        "features": None,
        "dims": wanted.n_dims,
        "n_chains": CHAINS,
        "candidates": wanted.candidates,
    }


def _people(wanted: Wanted, exact: DistanceOracle, seed: int) -> Oracle:
    wrong = wanted.noise * (1 - 1 / wanted.candidates)  # an answer at random is right once in a while
    return Corrupted(exact, wrong, seed) if wrong else exact


def plan_paces(wanted: Wanted) -> list[Pace]:
    """What questions of each length bring in a minute, half-way through a study; nobody's times are known yet."""
    seed = 1000 * wanted.seed
    exact = DistanceOracle(gaussian_points(wanted.n_items, wanted.n_dims, default_rng([seed, 9])))
    queries = draw_queries(FIRST + round(wanted.scale / 2), wanted.n_items, wanted.candidates, default_rng([seed, 5]))
    answers = Answers(queries, _people(wanted, exact, seed).answer(queries, default_rng([seed, 6])))
    learner = build_part("Learner", LEARNERS, DEFAULT_LEARNERS["similarity", False], {}, _context(wanted))
    belief = learner.fit(answers, default_rng([seed, 4]))
    return paces(nats_by_length(belief, default_rng([seed, 3])), {})


def gain_at(curves: Sequence[Curve], method: str, n_answers: float) -> Gain | None:
    """What 100 answers more would add to those studies after `n_answers`, by the rule of `maths.forecast`."""
    chosen = [curve for curve in curves if curve.method == method]
    counts = np.concatenate([curve.queries for curve in chosen])
    accuracy = np.concatenate([curve.measures[MEASURE] for curve in chosen])
    now = int(n_answers) if math.isfinite(n_answers) else int(counts.max())
    expected = forecast(counts, accuracy, np.full(len(counts), EXPECTED_AS_GOOD_AS), CHANCE, now, now)
    return None if expected is None else expected.gain


def _at_target(curve: Curve, target: float) -> bool:
    values = curve.measures[MEASURE]
    return len(values) >= ENOUGH and min(values[-ENOUGH:]) >= target


def counts_of(curves: Sequence[Curve], method: str, target: float) -> FloatArray:
    """Answers to the target of each trial, the random start included."""
    chosen = [curve for curve in curves if curve.method == method]
    return np.array([curve.queries[0] + answers_to_target(curve, MEASURE, target) for curve in chosen])


def estimate(counts: FloatArray) -> Estimate:
    """Quartiles of counts that may be infinite."""
    return Estimate(*(float(value) for value in np.quantile(counts, [0.25, 0.5, 0.75], method="inverted_cdf")))


def saving(active: FloatArray, random: FloatArray, n_resamples: int = 10_000) -> Saving | None:
    """The ratio of medians, trials resampled in pairs; None where a median was not reached, or from too few trials."""
    if len(active) < FEWEST:
        return None
    rows = default_rng(0).integers(0, len(active), (n_resamples, len(active)))
    medians: list[Any] = [
        np.quantile(np.vstack([counts, counts[rows]]), 0.5, axis=1, method="inverted_cdf")
        for counts in (active, random)
    ]
    with np.errstate(invalid="ignore"):
        ratios = medians[0] / medians[1]
    if not np.isfinite(medians[0][0]) or not np.isfinite(medians[1][0]):
        return None
    low, high = np.nanquantile(ratios[1:], [0.025, 0.975], method="inverted_cdf")
    return Saving(float(ratios[0]), float(low), float(high))
