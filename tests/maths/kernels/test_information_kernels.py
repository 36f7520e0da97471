"""Fused information kernels beside their plain twins. Single precision: they agree within 2e-6 nats."""

import numpy as np
import pytest

from infonn.maths.distances import query_squared_distances
from infonn.maths.draws import normal_draws
from infonn.maths.information import mutual_information
from infonn.maths.kernels.information import distance_information, draws_information
from infonn.maths.kernels.rankings import prefixes
from infonn.maths.kernels.weights import OPTIONS, exp32, log32
from infonn.maths.responses import ResponseSettings, nearest_log_probs, ranking_log_probs
from infonn.queries import draw_queries, orders, stack_queries

SETTINGS = [
    ResponseSettings(1.0),
    ResponseSettings(1e-5),
    ResponseSettings(0.1, lapse=0.3),
    ResponseSettings(2.0, sharpness=3.0),
    ResponseSettings(0.5, sharpness=2.5, lapse=0.25),
    ResponseSettings(0.5, sharpness=0.3),
]
NEAREST = [(2, 128), (3, 128), (3, 100), (3, 700), (4, 33), (7, 257)]
RANKINGS = [(2, 50), (3, 128), (4, 300), (5, 20)]
TOLERANCE = 2e-6


def plain(squared, settings, ranking):
    return mutual_information((ranking_log_probs if ranking else nearest_log_probs)(squared, settings))


CASES = [(*shape, s, False) for s in SETTINGS for shape in NEAREST]
CASES += [(*shape, s, True) for s in SETTINGS for shape in RANKINGS]


@pytest.mark.parametrize("n_candidates, n_draws, settings, ranking", CASES)
def test_drawn_distances_score_as_the_plain_twin(n_candidates, n_draws, settings, ranking, rng):
    embedding = rng.standard_normal((25, 3))
    queries = draw_queries(200, 25, n_candidates, rng)
    normals = normal_draws(n_draws, 25, rng)
    distances = np.sqrt(query_squared_distances(embedding, queries))
    expected = plain((distances + 0.8 * normals[:, queries[:, 1:]]) ** 2, settings, ranking)
    scores = distance_information(queries, embedding, normals, 0.8, settings, np.arange(25), ranking)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("n_candidates, n_draws, settings, ranking", CASES)
def test_drawn_embeddings_score_as_the_plain_twin(n_candidates, n_draws, settings, ranking, rng):
    draws = rng.standard_normal((20, 3)) + 0.5 * rng.standard_normal((n_draws, 20, 3))
    queries = draw_queries(200, 20, n_candidates, rng)
    expected = plain(query_squared_distances(draws, queries), settings, ranking)
    scores = draws_information(queries, draws, settings, 4.0, ranking)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


def test_draws_by_place_are_those_of_the_sorted_candidates(rng):
    embedding = rng.standard_normal((12, 2))
    queries = draw_queries(100, 12, 3, rng)
    queries[:, 1:].sort(axis=1)
    normals = normal_draws(64, 3, rng)
    distances = np.sqrt(query_squared_distances(embedding, queries))
    expected = plain((distances + normals[:, None, :]) ** 2, SETTINGS[0], False)
    np.testing.assert_allclose(
        distance_information(queries, embedding, normals, 1.0, SETTINGS[0]), expected, atol=TOLERANCE
    )


@pytest.mark.parametrize("settings", SETTINGS)
def test_padding_changes_nothing(settings, rng):
    embedding = rng.standard_normal((15, 2))
    triplets, longer = draw_queries(50, 15, 2, rng), draw_queries(50, 15, 4, rng)
    normals = normal_draws(64, 4, rng)
    mixed = distance_information(stack_queries([triplets, longer]), embedding, normals, 1.0, settings)
    alone = distance_information(triplets, embedding, normals, 1.0, settings)
    np.testing.assert_allclose(mixed[:50], alone, atol=TOLERANCE)
    np.testing.assert_array_equal(mixed[50:], distance_information(longer, embedding, normals, 1.0, settings))


@pytest.mark.parametrize("ranking", [False, True])
@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[4]])
def test_scores_do_not_depend_on_threads_slices_pool_or_candidate_order(settings, ranking, rng, monkeypatch):
    import infonn.maths.kernels.information as module

    embedding = rng.standard_normal((30, 3))
    queries = draw_queries(3000, 30, 3, rng)
    normals = normal_draws(200, 3, rng)

    def scores(rows):
        return distance_information(rows, embedding, normals, 1.0, settings, None, ranking)

    monkeypatch.setenv("INFONN_THREADS", "1")
    expected = scores(queries)
    monkeypatch.setenv("INFONN_THREADS", "3")
    np.testing.assert_array_equal(scores(queries), expected)
    monkeypatch.setattr(module, "LEAST_SLICE", 7)
    monkeypatch.setattr(module, "MOST_SLICE", 11)
    np.testing.assert_array_equal(scores(queries), expected)
    monkeypatch.setattr(module, "BLOCK", 700)
    np.testing.assert_array_equal(scores(queries), expected)
    np.testing.assert_array_equal(scores(queries[1000:1500]), expected[1000:1500])
    shuffled = np.hstack([queries[:, :1], rng.permuted(queries[:, 1:], axis=1)])
    np.testing.assert_array_equal(scores(shuffled), expected)


@pytest.mark.parametrize(
    "settings", [ResponseSettings(1.0), ResponseSettings(1.0, lapse=0.2), ResponseSettings(1e-3, 9.0)]
)
def test_weights_beyond_single_precision_give_nan_and_never_a_wrong_score(settings, rng):
    embedding = np.array([[0.0], [1.0], [1.5], [1e25]])
    queries = np.array([[0, 1, 2, 3], [0, 1, 2, -1]], np.int32)
    normals = normal_draws(32, 3, rng)
    scores = draws_information(queries, embedding + 0.1 * rng.standard_normal((32, 4, 1)), settings, 1.0)
    assert np.isnan(scores[0])
    assert np.isnan(scores[1]) or scores[1] >= 0
    assert np.isnan(distance_information(queries, embedding, normals, 1.0, settings)[0])


def test_an_error_in_a_thread_reaches_the_caller():
    from infonn.maths.kernels.threads import in_threads

    def work(first, last):
        raise RuntimeError(f"slice {first} to {last}")

    with pytest.raises(RuntimeError, match="slice"):
        in_threads(work, 100, 1, 10)


def test_prefixes_go_through_the_orders_alphabetically():
    for k in (2, 3, 4, 5):
        tree = prefixes(k)
        leaves = tree[tree[:, 0] == k - 2]
        assert 2 * len(leaves) == len(orders(k))
        if k > 2:
            np.testing.assert_array_equal(leaves[:, 1], orders(k)[::2, k - 3])


def test_single_precision_logarithm_and_exponential_are_exact_to_rounding(rng):
    from numba import njit

    @njit(**{**OPTIONS, "cache": False})
    def both(x, logs, exps):
        for i in range(len(x)):
            logs[i] = log32(x[i])
            exps[i] = exp32(logs[i])

    x = np.exp(rng.uniform(-68, 68, 100_000)).astype(np.float32)
    logs, exps = np.empty_like(x), np.empty_like(x)
    both(x, logs, exps)
    exact = np.log(x.astype(float))
    assert (abs(logs - exact) / np.maximum(abs(exact), 1)).max() < 2e-7
    assert abs(exps / np.exp(logs.astype(float)) - 1).max() < 2e-7
