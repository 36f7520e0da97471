"""The demo: an active study learns what tastes like what from answers people gave, beside random questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from infonn import __version__
from infonn.arrays import FloatArray
from infonn.experiments.figures import lines
from infonn.experiments.simulation import Simulation, build_simulation
from infonn.experiments.statistics import quartiles, series
from infonn.experiments.trial import Curve
from infonn.plots.curves import draw_curves
from infonn.plots.look import save
from infonn.plots.maps import draw_map, project
from infonn.plots.study_page import AskedQuestion, Snapshot, write_report
from infonn.records import Round
from infonn.storage.jsonl import JsonlStorage
from infonn.study import Study

STRATEGIES = {"info_nn": "Info-NN-3", "random": "Random"}
MEASURE = "triplet_accuracy"
N_SNAPSHOTS = 12


@dataclass(frozen=True)
class DemoSize:
    """How much is asked: in every trial each strategy gets `answers` answers."""

    answers: int = 360
    first: int = 30
    batch: int = 30
    trials: int = 3

    @property
    def rounds(self) -> int:
        """Points of each curve."""
        return 1 + -(-(self.answers - self.first) // self.batch)


Watch = Callable[[str, int, Round], None]  # strategy, trial, the round that ended


def run_demo(folder: Path, size: DemoSize, watch: Watch) -> dict[str, float]:
    """Run the demo, or go on with it, and write its files; gives the numbers of the report."""
    storage = JsonlStorage(folder / "results.jsonl")
    try:
        trials = range(size.trials)
        simulations = {(s, t): build_simulation(_spec(s, t, size), storage) for t in trials for s in STRATEGIES}
        rounds: dict[tuple[str, int], list[Round]] = {key: [] for key in simulations}
        for key, round in _side_by_side(simulations):
            rounds[key].append(round)
            watch(*key, round)
        curves = [_curve(key, done) for key, done in rounds.items()]
        study = simulations["info_nn", 0].study
        numbers = _numbers(curves)
        panels = {"Agreement with people's held-out judgements": lines(curves, MEASURE)}
        save(draw_curves(panels, "answers", "triplet accuracy", width=6.4, height=4), folder / "curves")
        save(draw_map(project(study.belief().embedding, "pca"), names=study.item_names), folder / "map")
        _report(folder, study, numbers, size)
        return numbers
    finally:
        storage.close()


def _spec(strategy: str, trial: int, size: DemoSize) -> dict[str, Any]:
    return {
        "study": {"name": f"{strategy}-{trial}", "seed": trial},
        "items": {"dataset": "food73"},
        "queries": {"candidates": 3, "first": size.first},
        "strategy": {"name": strategy},
        "budget": {"answers": size.answers, "batch": size.batch},
    }


def _side_by_side(simulations: Mapping[tuple[str, int], Simulation]) -> Iterator[tuple[tuple[str, int], Round]]:
    """Trial after trial; within one, a round of each strategy in turn."""
    for trial in sorted({trial for _, trial in simulations}):
        keys = [key for key in simulations if key[1] == trial]
        for rounds in zip(*(simulations[key].run() for key in keys)):
            yield from zip(keys, rounds)


def _curve(key: tuple[str, int], rounds: list[Round]) -> Curve:
    n_answers = [round.n_answers for round in rounds]
    measures = {MEASURE: [round.measures[MEASURE] for round in rounds]}
    return Curve(STRATEGIES[key[0]], "default", {}, key[1], key[1], n_answers, [2 * n for n in n_answers], measures)


def _numbers(curves: list[Curve]) -> dict[str, float]:
    """What the figure shows: where the two medians end, and where each first reaches what random has in the end."""
    counts = np.asarray(curves[0].queries, float)
    medians = {
        name: quartiles(series([curve for curve in curves if curve.method == title], MEASURE))[1]
        for name, title in (("active", STRATEGIES["info_nn"]), ("random", STRATEGIES["random"]))
    }
    target = float(medians["random"][-1]) - 0.005  # the last round's luck counts for little
    return {
        "answers": counts[-1],
        "active_accuracy": float(medians["active"][-1]),
        "random_accuracy": float(medians["random"][-1]),
        "target": target,
        "active_answers": first_reached(counts, medians["active"], target),
        "random_answers": first_reached(counts, medians["random"], target),
    }


def first_reached(counts: FloatArray, values: FloatArray, target: float) -> float:
    """Where a drawn curve first comes to `target`, between its points too; inf where it does not."""
    above = np.flatnonzero(values >= target)
    if not len(above):
        return float("inf")
    point = int(above[0])
    if point == 0:
        return float(counts[0])
    share = (target - values[point - 1]) / (values[point] - values[point - 1])
    return float(counts[point - 1] + share * (counts[point] - counts[point - 1]))


def _report(folder: Path, study: Study, numbers: Mapping[str, float], size: DemoSize) -> None:
    answers = study.answers()
    counts = np.unique(np.linspace(size.first, len(answers), N_SNAPSHOTS).astype(int))
    snapshots = [
        Snapshot(int(n), study.learner.fit(answers.take(slice(0, n)), default_rng([study.seed, n])).embedding)
        for n in counts
    ]
    chosen = [pair for pair in study.storage.answers(study.name) if pair.question.score is not None]
    told = [
        AskedQuestion(pair.question, int(pair.answer.response or 0)) for pair in chosen[:: max(1, len(chosen) // 6)]
    ]
    needed = f"{_count(numbers['active_answers'])} / {_count(numbers['random_answers'])}"
    write_report(
        folder / "report.html",
        title="What tastes like what, learned from a few hundred answers",
        lead=f"73 dishes. Each question shows one and asks which of three others tastes most like it. The answers are "
        f"those that people once gave; infonn chose which {int(numbers['answers'])} of them to ask for.",
        numbers=[
            (
                f"{numbers['active_accuracy']:.1%}",
                "of people's held-out judgements predicted, questions chosen by Info-NN",
                True,
            ),
            (f"{numbers['random_accuracy']:.1%}", "predicted from as many random questions, same learner", False),
            (needed, f"answers until the median curve reaches {numbers['target']:.1%}: Info-NN / random", True),
        ],
        curves=folder / "curves.svg",
        texts={
            "curves_text": f"Medians and quartiles over {size.trials} trials with paired seeds. Both strategies use "
            "the same learner and start from the same random questions; people contradict each other, so no embedding "
            "agrees with all of them (about 89 % is the most that any method reaches here).",
            "map_text": "The dishes as the answers place them, turned to two dimensions. Drag the slider from the "
            "first random questions to the last chosen one; point at a dish to see its nearest neighbours.",
            "questions_text": "Some questions that Info-NN chose, with the answer on record. Early on it asks about "
            "dishes it knows nothing of; later about close calls it expects people to settle.",
            "footer": f"infonn {__version__}. Food73: judgements collected by Wilber, Kwak and Belongie (2014). Every "
            "question and answer of this run is in results.jsonl beside this page.",
        },
        names=study.item_names,
        snapshots=snapshots,
        questions=told,
    )


def _count(answers: float) -> str:
    return f"{answers:.0f}" if np.isfinite(answers) else "not reached"
