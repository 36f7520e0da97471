"""Joint rules on beliefs with draws: distinct rows, the right rows, and information that falls once it is had."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation, Strategy
from infonn.errors import NeedsDrawsError
from infonn.learners.posterior.learner import Posterior
from infonn.maths.distances import query_squared_distances
from infonn.maths.information import mutual_information
from infonn.maths.pairs import target_information
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, all_queries, draw_queries, no_answers
from infonn.selection.criteria import Information, Random
from infonn.selection.joint import (
    GaussianInformation,
    JointInformation,
    TargetInformation,
    info_nn_gaussian,
    info_nn_joint,
    info_nn_pairwise,
    info_nn_targets,
)
from infonn.selection.predictions import BeliefDraws
from infonn.selection.strategies import info_nn

RESPONSE = ResponseSettings(1.0, 2.0, 0.05)


def situation(n_items: int = 9, seed: int = 0) -> Situation:
    draws = np.random.default_rng(seed).standard_normal((20, n_items, 2))
    belief = Belief(draws.mean(axis=0), draws, response=RESPONSE)
    return Situation(all_queries(n_items, 3), belief, no_answers(3))


@pytest.mark.parametrize("made", [info_nn, info_nn_joint, info_nn_pairwise, info_nn_gaussian, info_nn_targets])
def test_a_batch_has_distinct_rows_and_repeats_with_the_seed(made) -> None:
    batches = [made().select(situation(), 8, np.random.default_rng(3)) for _ in range(2)]
    assert np.array_equal(*batches)
    assert len(set(batches[0].tolist())) == 8


@pytest.mark.parametrize("made", [info_nn, info_nn_joint, info_nn_pairwise])
def test_a_single_query_is_the_most_informative_one(made) -> None:
    here = situation()
    log_probs = nearest_log_probs(query_squared_distances(here.belief.draws, here.pool), RESPONSE)
    assert made().select(here, 1, np.random.default_rng(0))[0] == np.argmax(mutual_information(log_probs))


def test_target_information_asks_for_the_mean_over_random_triplets() -> None:
    here = situation()
    scores, _ = None, None
    strategy = Strategy(TargetInformation(40), lambda scores, *_: np.argsort(-scores)[:1], BeliefDraws())
    _, scores = strategy.select_with_scores(here, 1, np.random.default_rng(5))
    draws_rng = np.random.default_rng(np.random.default_rng(5).integers(2**63))
    triplets = draw_queries(40, 9, 2, draws_rng)
    log_probs, targets = (
        nearest_log_probs(query_squared_distances(here.belief.draws, rows), RESPONSE) for rows in (here.pool, triplets)
    )
    np.testing.assert_allclose(scores, target_information(log_probs, targets), atol=1e-12)


def test_joint_rules_without_draws_refuse_to_guess() -> None:
    here = situation()
    for rule in (JointInformation(), GaussianInformation()):
        with pytest.raises(NeedsDrawsError):
            Strategy(Random(), rule).select(here, 2, np.random.default_rng(0))


def test_an_answered_query_loses_information() -> None:
    points = np.random.default_rng(4).standard_normal((10, 2))
    learner, strategy = Posterior(10, dims=2, n_chains=32, leaps=6), info_nn()
    oracle, pool = DistanceOracle(points), all_queries(10, 3)
    rng = np.random.default_rng(0)
    opening = pool[rng.choice(len(pool), 15, replace=False)]
    answers = Answers(opening, oracle.answer(opening, rng))
    belief = learner.fit(answers, rng)
    before_after = []
    for _ in range(6):
        row = strategy.select(Situation(pool, belief, answers), 1, rng)
        asked = pool[row]
        before = _information(belief, asked)
        answers = answers.joined(Answers(asked, oracle.answer(asked, rng)))
        belief = learner.fit(answers, rng, belief)
        before_after.append((before, _information(belief, asked)))
    falls = [before - after for before, after in before_after]
    assert sum(fall > 0 for fall in falls) >= 5  # an answer that surprises may leave more to ask
    assert np.mean(falls) > 0.1


def _information(belief: Belief, queries: np.ndarray) -> float:
    here = Situation(queries, belief, no_answers(3))
    _, scores = Strategy(Information(), lambda *_: np.array([0]), BeliefDraws()).select_with_scores(
        here, 1, np.random.default_rng(0)
    )
    return float(scores[0])
