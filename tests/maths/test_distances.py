"""Distances beside plain loops."""

import numpy as np
import pytest

from infonn.maths.distances import (
    largest_distance,
    mean_distances,
    pairwise_distances,
    pairwise_spread,
    pairwise_squared_distances,
    query_squared_distances,
    triplet_margins,
)


@pytest.fixture
def embedding(rng):
    return rng.standard_normal((9, 3))


def test_mean_distances_are_those_of_the_kernel_whatever_the_threads(rng, monkeypatch):
    from infonn.maths.kernels.distances import mean_distances as by_kernel

    draws, weights = rng.standard_normal((4, 70, 3)), rng.random(4)
    plain = mean_distances(draws, 20, weights)
    by_hand = sum(w * np.linalg.norm(draw[5] - draw[7]) for w, draw in zip(weights, draws))
    assert plain[5, 7] == pytest.approx(by_hand)
    np.testing.assert_allclose(by_kernel(draws, 20, weights), plain, atol=1e-12)
    one = by_kernel(draws, 20, weights)
    monkeypatch.setenv("INFONN_THREADS", "1")
    np.testing.assert_array_equal(by_kernel(draws, 20, weights), one)
    assert by_kernel(draws[:, :, :0], 20, weights).shape == (70, 20)


def test_the_largest_distance_is_the_same_in_small_parts(embedding):
    largest = pairwise_distances(embedding).max()
    assert largest_distance(embedding) == largest
    assert largest_distance(embedding, chunk=20) == pytest.approx(largest)


def test_query_distances_are_those_of_a_loop_and_padding_is_infinitely_far(embedding):
    queries = np.array([[0, 3, 4], [8, 1, -1]], np.int32)
    got = query_squared_distances(embedding, queries)
    assert got[0, 1] == pytest.approx(((embedding[4] - embedding[0]) ** 2).sum())
    assert got[1, 0] == pytest.approx(((embedding[1] - embedding[8]) ** 2).sum())
    assert got[1, 1] == np.inf
    many = query_squared_distances(np.stack([embedding, 2 * embedding]), queries)
    np.testing.assert_allclose(many, [got, 4 * got])


def test_an_embedding_of_whole_numbers_will_do():
    got = query_squared_distances(np.array([[0], [3], [5]]), np.array([[0, 1, 2], [2, 1, -1]], np.int32))
    np.testing.assert_array_equal(got, [[9, 25], [4, np.inf]])


def test_pairwise_distances_hold_their_digits_far_from_the_origin(embedding):
    expected = np.linalg.norm(embedding[:, None] - embedding[None], axis=-1)
    np.testing.assert_allclose(pairwise_distances(embedding), expected, atol=1e-7)
    np.testing.assert_allclose(pairwise_distances(embedding + 1e5), expected, atol=1e-5)
    np.testing.assert_allclose(pairwise_squared_distances(embedding, embedding[:4]), expected[:, :4] ** 2, atol=1e-12)


@pytest.mark.parametrize("chunk", [1, 10, 1 << 22])
def test_spread_is_the_sample_deviation_and_the_largest_of_all_pairs(embedding, chunk):
    pairs = pairwise_distances(embedding)[np.triu_indices(9, 1)]
    deviation, largest = pairwise_spread(embedding, chunk)
    assert deviation == pytest.approx(pairs.std(ddof=1))
    assert largest == pytest.approx(pairs.max())


def test_margins_are_positive_where_the_near_item_is_nearer():
    line = np.array([[0.0], [1.0], [3.0]])
    np.testing.assert_allclose(triplet_margins(line, np.array([[0, 1, 2], [0, 2, 1]])), [8, -8])
