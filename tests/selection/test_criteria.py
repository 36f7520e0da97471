"""Criteria beside brute force on a prediction small enough to read."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.errors import NeedsDrawsError
from infonn.maths.information import entropy, mean_answer, mutual_information
from infonn.queries import draw_queries, no_answers
from infonn.selection import predictions
from infonn.selection.criteria import Entropy, Information, Random


@pytest.fixture
def situation(rng):
    probs = rng.dirichlet(np.ones(3), (6, 20))
    pool = np.hstack([np.arange(20)[:, None], draw_queries(20, 20, 3, rng)[:, 1:]]).astype(np.int32)
    return Situation(pool, Belief(np.zeros((20, 2))), no_answers(3), lambda q: np.log(probs[:, q[:, 0]]))


def test_random_scores_all_alike(situation, rng):
    np.testing.assert_array_equal(Random()(situation.pool, situation, rng), np.zeros(20))


@pytest.mark.parametrize("numbers", [1, 50, 1 << 22])
def test_scores_are_those_of_the_log_probs_whatever_the_chunk(situation, rng, numbers, monkeypatch):
    monkeypatch.setattr(predictions, "CHUNK_NUMBERS", numbers)
    log_probs = situation.predict(situation.pool)
    assert Information()(situation.pool, situation, rng) == pytest.approx(mutual_information(log_probs), abs=1e-12)
    assert Entropy()(situation.pool, situation, rng) == pytest.approx(entropy(mean_answer(log_probs)), abs=1e-12)
    corrected = Information(corrected=True)(situation.pool, situation, rng)
    assert corrected == pytest.approx(mutual_information(log_probs) * 6 / 5, abs=1e-12)


def test_a_fused_score_is_asked_for_first(situation, rng):
    class Fused:
        def __call__(self, queries):
            return np.zeros((3, len(queries), 2))

        def information(self, queries):
            return np.full(len(queries), 7.0)

    fused = Situation(situation.pool, situation.belief, situation.answers, Fused())
    assert (Information()(situation.pool, fused, rng) == 7).all()
    assert (Information(corrected=True)(situation.pool, fused, rng) == 7 * 3 / 2).all()


@pytest.mark.parametrize("criterion", [Information(), Entropy()])
def test_without_draws_a_criterion_never_guesses(criterion, situation, rng):
    bare = Situation(situation.pool, situation.belief, situation.answers)
    with pytest.raises(NeedsDrawsError, match="needs draws of the belief"):
        criterion(bare.pool, bare, rng)
