"""Swap kernels beside their plain twins: the same queries, written down and scored one by one."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.maths.information import mutual_information
from infonn.maths.kernels import swaps
from infonn.maths.responses import ResponseSettings
from infonn.queries import draw_queries, no_answers
from infonn.selection.predictions import BeliefDraws, DistanceNoise

N_ITEMS = 18
SETTINGS = [ResponseSettings(1.0), ResponseSettings(0.5, 2.5, 0.25), ResponseSettings(0.1, lapse=0.3)]
PREDICTORS = [BeliefDraws(), DistanceNoise(), DistanceNoise(draws_by="item", n_draws=300)]


def swapped(queries, position, items):
    """Every query with each item at `position`: (queries, items, 1 + C)."""
    written = np.repeat(queries[:, None], len(items), axis=1)
    written[:, :, position] = items
    return written


@pytest.mark.parametrize("response", SETTINGS)
@pytest.mark.parametrize("predictor", PREDICTORS)
@pytest.mark.parametrize(
    "n_candidates, kind", [(2, "nearest"), (3, "nearest"), (5, "nearest"), (3, "ranking"), (2, "odd_one_out")]
)
def test_swaps_score_as_the_queries_they_make(predictor, response, n_candidates, kind, rng):
    embedding = rng.standard_normal((N_ITEMS, 2))
    belief = Belief(embedding, embedding + 0.4 * rng.standard_normal((33, N_ITEMS, 2)), response=response)
    queries = draw_queries(6, N_ITEMS, n_candidates, rng)
    predict = predictor(Situation(draw_queries(99, N_ITEMS, n_candidates, rng), belief, no_answers(3, kind)), rng)
    items = np.array([0, 3, 4, 9, 11, 17])
    for position in range(1 + n_candidates):
        scores = predict.swap_information(queries, position, items)
        assert scores.shape == (6, 6)
        possible = ~(queries[:, :, None] == items).any(axis=1)
        np.testing.assert_array_equal(np.isfinite(scores), possible)
        written = swapped(queries, position, items)[possible]
        # The two kernels are compiled apart: float32 sums in another order, or with fused products.
        np.testing.assert_allclose(scores[possible], predict.information(written), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(scores[possible], mutual_information(predict(written)), atol=2e-6)


def test_the_number_of_threads_changes_no_swap(rng, monkeypatch):
    draws = rng.standard_normal((40, N_ITEMS, 2))
    queries = draw_queries(20, N_ITEMS, 3, rng)

    def scores(threads):
        monkeypatch.setenv("INFONN_THREADS", threads)
        return swaps.draws_swaps(queries, 1, np.arange(N_ITEMS), draws, SETTINGS[1], 4.0)

    np.testing.assert_array_equal(scores("1"), scores("3"))
