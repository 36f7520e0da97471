"""The fused answers' probabilities against the plain response model."""

import numpy as np
import pytest

from infonn.maths.distances import query_squared_distances
from infonn.maths.kernels.responses import drawn_log_probs
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.queries import draw_queries


@pytest.mark.parametrize("response", [ResponseSettings(0.7), ResponseSettings(2.0, 9.0, 0.2), ResponseSettings(1e-5)])
@pytest.mark.parametrize("n_candidates", [2, 4])
def test_the_kernel_gives_the_plain_log_probabilities(rng, response, n_candidates):
    draws = rng.normal(0, 2, (13, 20, 3))
    draws[:, 4] = draws[:, 5]  # two items in one place
    queries = draw_queries(600, 20, n_candidates, rng)
    queries[::3, -1] = -1
    plain = nearest_log_probs(query_squared_distances(draws, queries), response)
    np.testing.assert_allclose(drawn_log_probs(draws, queries, response), plain, atol=1e-11)


def test_hopeless_candidates_stay_finite(rng):
    draws = np.array([[[0.0], [1e-3], [1e8]]])
    queries = np.array([[0, 1, 2]], np.int32)
    response = ResponseSettings(1e-6, 60.0)
    plain = nearest_log_probs(query_squared_distances(draws, queries), response)
    np.testing.assert_allclose(drawn_log_probs(draws, queries, response), plain, rtol=1e-12)
