"""Side by side: the learner that foresees the answers has the say, and the say may change."""

from dataclasses import replace

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.learners.posterior.choice import CHOSEN, Choice, posterior
from infonn.learners.posterior.learner import Posterior
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries

QUICK = {"n_chains": 16, "leaps": 5}
LINEAR, FREE = 0, 1


def answered(points: np.ndarray, n: int) -> Answers:
    rng = np.random.default_rng(0)
    queries = draw_queries(n, len(points), 3, rng)
    return Answers(queries, DistanceOracle(points).answer(queries, rng))


def test_good_features_have_the_say_and_place_new_items() -> None:
    features = np.random.default_rng(1).standard_normal((30, 4))
    learner = posterior(30, features=features, **QUICK)
    belief = learner.fit(answered(features[:, :3], 80), np.random.default_rng(0))
    assert int(belief.state[CHOSEN]) == LINEAR
    assert belief.draws.shape == (16, 30, 4)
    np.testing.assert_allclose(learner.embed(belief, features), belief.embedding, atol=1e-8)


def test_useless_features_lose_the_say() -> None:
    rng = np.random.default_rng(1)
    points = rng.standard_normal((12, 2))
    learner = posterior(12, features=rng.standard_normal((12, 2)), dims=2, **QUICK)
    belief = learner.fit(answered(points, 120), np.random.default_rng(0))
    assert int(belief.state[CHOSEN]) == FREE
    with pytest.raises(DataError, match="hybrid"):
        learner.embed(belief, points)


class Foresees:
    """In place of a posterior: all answers together are foreseen with this log probability."""

    features = None

    def __init__(self, nats: float) -> None:
        self.nats = nats

    def fit(self, answers: Answers, rng: np.random.Generator, start: Belief | None = None) -> Belief:
        return Belief(np.full((4, 1), self.nats), state={"fitted": np.array(1)})

    def foreseen(self, belief: Belief, answers: Answers) -> float:
        return self.nats


@pytest.mark.parametrize(("lead", "say"), [(4.0, 0), (5.0, 1)])
def test_a_small_lead_is_chance_and_changes_nothing(lead: float, say: int) -> None:
    answers = answered(np.random.default_rng(0).standard_normal((12, 2)), 100)
    belief = Choice((Foresees(-100.0), Foresees(-100.0 + lead))).fit(answers, np.random.default_rng(0))
    assert int(belief.state[CHOSEN]) == say
    back = Choice((Foresees(-98.0), Foresees(-100.0))).fit(answers, np.random.default_rng(0), belief)
    assert int(back.state[CHOSEN]) == say  # who has it keeps it


def test_who_is_hopeless_is_not_fitted_any_more() -> None:
    answers = answered(np.random.default_rng(0).standard_normal((12, 2)), 100)
    choice = Choice((Foresees(-100.0), Foresees(-50.0)))
    first = choice.fit(answers, np.random.default_rng(0))
    assert set(first.state) == {CHOSEN, "1.fitted"}
    again = Choice((None, Foresees(-50.0))).fit(answers, np.random.default_rng(0), first)
    assert int(again.state[CHOSEN]) == 1


def test_all_go_on_warm() -> None:
    features = np.random.default_rng(1).standard_normal((15, 2))
    answers = answered(features, 31)
    learner = posterior(15, features=features, **QUICK)
    start = learner.fit(answers.take(slice(0, 30)), np.random.default_rng(0))
    belief = learner.fit(answers, np.random.default_rng(1), start)
    assert [len(belief.state[f"{place}.seen"]) for place in (0, 1)] == [31, 31]
    again = learner.fit(answers, np.random.default_rng(1), start)
    assert np.array_equal(belief.draws, again.draws)


def test_less_effort_is_less_effort_of_each() -> None:
    """What a worker asks for under a crowd: features or not."""
    features = np.random.default_rng(1).standard_normal((15, 2))
    answers = answered(features, 30)
    learner = posterior(15, features=features, **QUICK)
    quick = replace(learner, effort=0.1)
    alone = replace(learner.learners[LINEAR], effort=0.1)
    belief = quick.fit(answers, np.random.default_rng(0))
    seed = np.random.default_rng(0).integers(2**63, size=2)[LINEAR]
    expected = alone.fit(answers, np.random.default_rng(seed))
    assert np.array_equal(belief.state[f"{LINEAR}.parameters"], expected.state["parameters"])
    assert not np.array_equal(learner.fit(answers, np.random.default_rng(0)).draws, belief.draws)


def test_without_features_or_with_an_embedder_there_is_no_choice() -> None:
    assert isinstance(posterior(5), Posterior)
    assert isinstance(posterior(5, features=np.zeros((5, 2)), embedder="hybrid"), Posterior)
    assert isinstance(posterior(5, features=np.zeros((5, 2))), Choice)
