"""Every way to run the loop gives the same curves: those on file, kept before the ways became one.

On another processor than theirs the curves on file are met only nearly; a study and an experiment agree on any.
"""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from loop_curves import FILE, SETTINGS, processor, setups

from infonn.experiments.trial import Curve, Setup, run_setups
from infonn.queries import Answers
from infonn.records import Item, StudyRecord
from infonn.storage.memory import MemoryStorage
from infonn.study import Study

KEPT = json.loads(FILE.read_text())


def kept_curves(name: str) -> list[Curve]:
    return [Curve.from_json(curve) for curve in KEPT["curves"][name]]


def assert_same(found: Curve, wanted: Curve, within: float = 1e-6) -> None:
    assert found.method == wanted.method
    assert found.queries == wanted.queries
    for name, values in wanted.measures.items():
        assert found.measures[name] == pytest.approx(values, abs=within), (found.method, name)


@cache
def experiment(name: str) -> list[Curve]:
    return run_setups(setups(name))


@pytest.mark.parametrize("name", list(SETTINGS))
def test_an_experiment_gives_the_curves_on_file(name: str) -> None:
    # Chains multiply what the last digit of a sum differs by, and that digit is the processor's.
    within = 1e-6 if KEPT["processor"] == processor() else 0.2
    for found, wanted in zip(experiment(name), kept_curves(name), strict=True):
        assert_same(found, wanted, within)


def study_of(setup: Setup) -> Study:
    """The setup as a user's study; answers that everybody starts from are told, not asked."""
    storage = MemoryStorage()
    record = StudyRecord(setup.method, {}, setup.seed, 1.0)
    storage.create_study(record, [Item(str(item)) for item in range(setup.task.n_items)])
    first = len(setup.first) if isinstance(setup.first, Answers) else setup.first
    return Study(
        setup.method,
        storage,
        setup.task,
        setup.learner,
        setup.strategy,
        kind=setup.kind,
        candidates=setup.task.candidates,
        first=first,
        seed=setup.seed,
        strategy_name=setup.method,
    )


def tell_opening(study: Study, answers: Answers) -> None:
    rng = np.random.default_rng(0)
    for query, response in zip(answers.queries, answers.responses):
        question = study.make_question(query, "random", rng)
        study.storage.add_questions(study.name, [question])
        study.tell(question, int(response))


@pytest.mark.parametrize("name", list(SETTINGS))
def test_a_study_gives_the_curves_of_the_experiment(name: str) -> None:
    for setup, wanted in zip(setups(name), experiment(name), strict=True):
        study = study_of(setup)
        if isinstance(setup.first, Answers):
            tell_opening(study, setup.first)
        rounds = list(study.run(setup.oracle, setup.rounds, setup.size, setup.measures))
        found = replace(wanted, queries=[round.n_answers for round in rounds])
        found.measures = {key: [round.measures[key] for round in rounds] for key in wanted.measures}
        assert_same(found, wanted)
