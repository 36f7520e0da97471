"""Runs in lockstep: paired, never asking twice, stacked where the learner can."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from infonn.arrays import same_contents
from infonn.beliefs import Belief
from infonn.contracts.loop import Strategy
from infonn.experiments.trial import Curve, Setup, run_setups, stacks
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, all_queries, not_among, question_keys
from infonn.tasks.similarity import SimilarityTask

N = 6
TRUTH = np.random.default_rng(0).normal(size=(N, 2))


def at_random(scores, situation, size, rng):
    return rng.permutation(len(scores))[:size]


def no_scores(queries, situation, rng):
    return np.zeros(len(queries))


@dataclass(frozen=True)
class Counting:
    """A learner whose belief says how many answers it saw, and how often it was fitted."""

    def fit(self, answers, rng, start=None):
        fits = 1 if start is None else start.state["fits"] + 1
        return Belief(np.full((N, 2), float(len(answers))), state={"fits": fits, "answers": answers})


@dataclass(frozen=True)
class Stacked(Counting):
    features: np.ndarray = field(default_factory=lambda: np.ones(3))
    calls: list = field(default_factory=list, compare=False)

    def stacks_with(self, other):
        return same_contents(self, other)

    def fit_many(self, answers, rngs, starts, learners=()):
        self.calls.append(len(answers))
        return [self.fit(a, r, s) for a, r, s in zip(answers, rngs, starts)]


def setup(method="random", learner=None, rounds=3, size=2, trial=0, **changes):
    settings = {
        "task": SimilarityTask([str(i) for i in range(N)], candidates=3),
        "strategy": Strategy(no_scores, at_random),
        "oracle": DistanceOracle(TRUTH),
        "measures": {"answers": lambda belief: float(belief.embedding[0, 0])},
        "first": 4,
    } | changes
    return Setup(
        method, "counting", {}, trial, 7 + trial, learner=learner or Counting(), size=size, rounds=rounds, **settings
    )


def answers_seen(**changes) -> list[Answers]:
    """The answers after each fit of one run."""
    seen: list[Answers] = []
    run_setups([setup(measures={"n": lambda belief: seen.append(belief.state["answers"]) or 0.0}, **changes)])
    return seen


def test_a_curve_has_a_point_for_the_start_and_one_per_round() -> None:
    (curve,) = run_setups([setup()])
    assert curve.queries == [4, 6, 8, 10]
    assert curve.triplets == [8, 12, 16, 20]
    assert curve.measures == {"answers": [4, 6, 8, 10]}


def test_no_question_is_asked_twice_and_the_run_ends_with_the_pool() -> None:
    keys = question_keys(answers_seen(rounds=100, size=7)[-1].queries, "nearest")
    assert len(np.unique(keys)) == len(keys) == 60  # 6 references times 10 sets of 3


def test_opening_questions_differ_even_where_the_task_draws_with_replacement() -> None:
    task = SimilarityTask([str(i) for i in range(N)], candidates=3, pool_size=10)
    (opening,) = answers_seen(rounds=0, first=40, task=task)
    assert len(np.unique(question_keys(opening.queries, "nearest"))) == len(opening) == 40


def test_what_must_not_be_asked_is_not() -> None:
    test_queries = all_queries(N, 3)[30:]
    start = Answers(all_queries(N, 3)[:2], np.zeros(2, np.int32))
    seen = answers_seen(rounds=50, size=5, asked=test_queries, first=start)
    assert len(seen[-1]) == 30
    assert not_among(seen[-1].queries, test_queries, "nearest").all()


def test_methods_of_a_trial_share_their_opening() -> None:
    first, second = answers_seen(method="a", rounds=0), answers_seen(method="b", rounds=0)
    np.testing.assert_array_equal(first[0].queries, second[0].queries)
    assert not np.array_equal(first[0].queries, answers_seen(trial=1, rounds=0)[0].queries)


def test_runs_do_not_depend_on_their_company() -> None:
    alone = run_setups([setup(trial=1)])
    in_company = run_setups([setup(trial=0), setup(trial=1, learner=Stacked()), setup(trial=1)])
    assert alone[0] == in_company[2]


def test_equal_stacked_learners_are_fitted_together_and_finished_runs_drop_out() -> None:
    learner, twin = Stacked(), Stacked()
    run_setups([setup(learner=learner, rounds=2), setup(learner=twin, rounds=1, trial=1)])
    assert learner.calls == [2, 2, 1]
    assert twin.calls == []


def test_stacks_keeps_unlike_learners_apart() -> None:
    learners = [Counting(), Stacked(), Stacked(np.zeros(3)), Stacked(), Counting()]
    assert stacks(learners) == [[0], [1, 3], [2], [4]]


@pytest.mark.parametrize("warm, fits", [(True, [1, 2, 3]), (False, [1, 1, 1])])
def test_a_fit_goes_on_from_the_last_belief_unless_told_otherwise(warm, fits) -> None:
    measures = {"fits": lambda belief: belief.state["fits"]}
    (curve,) = run_setups([setup(rounds=2, warm=warm, measures=measures)])
    assert curve.measures["fits"] == fits


def test_progress_is_told_of_every_round() -> None:
    told = []
    run_setups([setup(rounds=2)], lambda done, total: told.append((done, total)))
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_a_curve_goes_through_json_and_back() -> None:
    (curve,) = run_setups([setup()])
    assert Curve.from_json(curve.to_json()) == curve


def test_learners_that_differ_in_their_items_train_as_one_stack_where_they_say_so():
    @dataclass(frozen=True)
    class Agreeable(Stacked):
        def fit_many(self, answers, rngs, starts, learners=()):
            learners[0].calls.append([float(learner.features[0]) for learner in learners])
            return [learner.fit(a, r, s) for learner, a, r, s in zip(learners, answers, rngs, starts)]

        def stacks_with(self, other):
            return type(other) is type(self) and other.features.shape == self.features.shape

    calls: list = []
    learners = [Agreeable(np.full(3, float(i)), calls) for i in range(3)]
    assert stacks([*learners, Agreeable(np.ones(4), calls)]) == [[0, 1, 2], [3]]
    run_setups([setup(learner=learner, rounds=1, trial=i) for i, learner in enumerate(learners)])
    assert calls == [[0.0, 1.0, 2.0]] * 2
