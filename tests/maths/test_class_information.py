"""The fused information of label queries against its plain version, and the logarithm it is made of."""

import numpy as np
from numba import njit

from infonn.maths.information import mutual_information
from infonn.maths.kernels.class_information import distance_information, query_distances
from infonn.maths.kernels.logs import fast_log
from infonn.maths.responses import ResponseSettings, nearest_log_probs


@njit
def logs_of(values):
    result = np.empty_like(values)
    for i in range(len(values)):
        result[i] = fast_log(values[i])
    return result


def test_fast_log_is_a_logarithm(rng):
    wide = np.exp(rng.uniform(-80, 80, 20_000)).astype(np.float32)
    near_one = rng.uniform(0.5, 2, 20_000).astype(np.float32)
    np.testing.assert_allclose(logs_of(wide), np.log(wide.astype(float)), rtol=2e-7, atol=5e-8)
    np.testing.assert_allclose(logs_of(near_one), np.log(near_one.astype(float)), atol=6e-8)


def test_fused_information_is_the_plain_one(rng):
    distances = np.sort(rng.gamma(2, 3, (200, 4)), axis=1).astype(np.float32)
    counts = rng.integers(0, 5, 200)
    distances[np.arange(4) >= counts[:, None]] = np.inf
    normals = 2.0 * rng.standard_normal((4, 300)).astype(np.float32)
    fused = distance_information(distances, counts, normals, 6.0)
    drawn = distances + normals.T[:, None, :]
    log_probs = nearest_log_probs(drawn[:, counts >= 2].astype(float) ** 2, ResponseSettings(6.0))
    np.testing.assert_allclose(fused[counts >= 2], mutual_information(log_probs), atol=2e-6)
    assert (fused[counts < 2] == 0).all()


def test_query_distances_are_euclidean_and_padding_is_infinitely_far(rng):
    embedding = rng.normal(size=(20, 5))
    queries = np.array([[0, 3, 7], [4, 1, -1]], np.int32)
    expected = [
        [np.linalg.norm(embedding[row[0]] - embedding[c]) if c >= 0 else np.inf for c in row[1:]] for row in queries
    ]
    np.testing.assert_allclose(query_distances(embedding, queries), expected, rtol=1e-6)
