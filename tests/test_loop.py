"""The one loop: its check of what learners give, its streams of random numbers, and that nobody goes around it."""

import ast
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import infonn
from infonn import compare, create_study
from infonn.beliefs import Belief
from infonn.contracts.loop import Strategy
from infonn.errors import DataError, TrialError
from infonn.experiments.sweep import Experiment, run_experiment
from infonn.experiments.trial import Setup
from infonn.live.worker import Worker
from infonn.loop import ASK, FIT, OPENING, SELECT, Loop, checked, cold_rng, distinct_queries, live_rng, simulation_rng
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries, question_keys
from infonn.selection.batches import best
from infonn.selection.criteria import Random
from infonn.storage.memory import MemoryStorage
from infonn.tasks.similarity import SimilarityTask

N = 40
SENTENCE = r"The learner's embedding has shape \(5, 2\); of 40 items it is \(40, dims\)\."


@dataclass(frozen=True)
class TooFew:
    """Five places for forty items: kernels that trusted it would read beyond the end."""

    def fit(self, answers, rng, start=None):
        return Belief(np.zeros((5, 2)))


@dataclass(frozen=True)
class TooFewStacked(TooFew):
    def stacks_with(self, other):
        return True

    def fit_many(self, answers, rngs, starts, learners=()):
        return [self.fit(*given) for given in zip(answers, rngs, starts)]


def study(storage="memory://"):
    return create_study([f"item {i}" for i in range(N)], first=3, storage=storage)


def test_a_study_refuses_a_learner_that_leaves_items_out() -> None:
    made = study()
    made.learner = TooFew()
    for question in made.ask(3):
        made.tell(question, 0)
    with pytest.raises(DataError, match=SENTENCE):
        made.ask()
    with pytest.raises(DataError, match=SENTENCE):
        made.embedding()


def test_an_experiment_refuses_a_learner_that_leaves_items_out(tmp_path) -> None:
    for learner in (TooFew(), TooFewStacked()):
        setup = Setup(
            method="random",
            learner_name="too few",
            settings={},
            trial=0,
            seed=0,
            learner=learner,
            task=SimilarityTask([str(i) for i in range(N)]),
            strategy=Strategy(Random(), best),
            oracle=DistanceOracle(np.arange(2.0 * N).reshape(N, 2)),
            measures={},
            first=3,
            size=1,
            rounds=2,
        )
        experiment = Experiment(
            "wrong", "", "", {}, {"smoke": {"trials": 1}}, lambda plan, trial, s=setup: [s], lambda c: [], lambda c: {}
        )
        with pytest.raises(TrialError, match=SENTENCE):
            run_experiment(experiment, "smoke", folder=tmp_path / type(learner).__name__)


def test_a_comparison_refuses_a_learner_that_leaves_items_out() -> None:
    places = np.arange(2.0 * N).reshape(N, 2)
    for learner in (TooFew(), TooFewStacked()):
        with pytest.raises(TrialError, match=SENTENCE):
            compare(places, strategies=["random"], learners={"too few": learner}, trials=1)


def test_the_worker_says_that_a_learner_leaves_items_out(monkeypatch) -> None:
    storage = MemoryStorage()
    made = study(storage)
    monkeypatch.setattr("infonn.live.worker.build_study", lambda spec, kept: replaced(made))
    for question in made.ask(3):
        made.tell(question, 0)
    Worker(storage).turn()
    note = storage.notes(made.name)["error"]
    assert note.endswith("The learner's embedding has shape (5, 2); of 40 items it is (40, dims).")


def replaced(made):
    made.learner = TooFew()
    return made


def test_draws_that_leave_items_out_are_refused_too() -> None:
    with pytest.raises(DataError, match=r"draws have shape \(7, 3, 2\); of 4 items they are \(draws, 4, \.\.\.\)"):
        checked(Belief(np.zeros((4, 2)), draws=np.zeros((7, 3, 2))), 4)
    with pytest.raises(DataError, match=r"embedding of item 1 is \[ 0\. nan\]; it must be finite"):
        checked(Belief(np.array([[0.0, 1.0], [0.0, np.nan]])), 2)


def test_no_two_streams_of_a_study_meet() -> None:
    rngs = {("opening",): simulation_rng(5, 0, OPENING)}
    for n in range(6):
        for purpose in (FIT, SELECT, ASK):
            rngs["round", n, purpose] = simulation_rng(5, n, purpose)
        if n:  # of no answers nothing is reported
            rngs["cold", n] = cold_rng(5, n)
        for m in range(6):
            for purpose in (FIT, SELECT):
                rngs["live", n, m, purpose] = live_rng(5, purpose, n, m)
    drawn = [tuple(rng.integers(2**63, size=2)) for rng in rngs.values()]
    assert len(set(drawn)) == len(drawn)


def test_random_queries_are_distinct_and_new_as_long_as_there_are_any(rng) -> None:
    task = SimilarityTask([str(i) for i in range(5)], candidates=2, pool_size=1)  # draws, and there are 30
    asked = draw_queries(7, 5, 2, rng)
    drawn = distinct_queries(task, 30, asked, rng, "nearest")
    keys = question_keys(drawn, "nearest")
    assert len(set(keys.tolist())) == len(drawn) == 30 - len(set(question_keys(asked, "nearest").tolist()))
    assert not set(keys.tolist()) & set(question_keys(asked, "nearest").tolist())


def test_what_may_never_be_asked_is_neither_drawn_nor_chosen(rng) -> None:
    task = SimilarityTask([str(i) for i in range(5)], candidates=2)
    never = task.propose(Belief(np.zeros((5, 1))), Answers(np.empty((0, 3)), np.empty(0)), rng)[:-2]
    loop = Loop(task, TooFew(), Strategy(Random(), best), candidates=2, first=30, never=never)
    assert len(loop.opening(rng)) == 2
    nothing = Answers(np.empty((0, 3), np.int32), np.empty(0, np.int32))
    queries, _ = loop.choose(Belief(rng.normal(size=(5, 2))), nothing, nothing.queries, 30, rng)
    assert len(queries) == 2


def test_a_loop_takes_less_trouble_where_its_learner_can() -> None:
    @dataclass(frozen=True)
    class Patient(TooFew):
        effort: float = 1.0

        def with_effort(self, effort):
            return replace(self, effort=effort)

    task, strategy = SimilarityTask([str(i) for i in range(5)]), Strategy(Random(), best)
    assert Loop(task, Patient(), strategy).with_effort(0.3).learner.effort == 0.3
    assert Loop(task, TooFew(), strategy).with_effort(0.3).learner == TooFew()


ROOT = Path(infonn.__file__).parent
STEPS = {"propose", "select", "select_with_scores"}


def calls_of_steps(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        part.attr for part in called if isinstance(part, ast.Attribute) and part.attr in STEPS and not _is_sql(part)
    }


def _is_sql(part: ast.Attribute) -> bool:
    """`sa.select` is a statement, not a strategy's choice."""
    return isinstance(part.value, ast.Name) and part.value.id == "sa"


def test_proposing_and_selecting_happen_in_the_loop_alone() -> None:
    callers = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if calls_of_steps(path)}
    allowed = {"loop.py", "contracts/loop.py", "experiments/paper/timing.py"}
    assert {path for path in callers if not path.startswith("bench/")} <= allowed
    assert "loop.py" in callers
