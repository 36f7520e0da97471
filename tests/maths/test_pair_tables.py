"""Distances looked up in a table of pairs are the very numbers worked out query by query."""

import numpy as np

from infonn.maths.distances import query_squared_distances, triplet_margins
from infonn.queries import draw_queries


def test_few_items_asked_about_often_give_the_same_numbers_as_one_query_at_a_time(rng):
    embedding = rng.normal(size=(7, 3))
    queries = draw_queries(40, 7, 3, rng)
    queries[::5, 3] = -1
    many = query_squared_distances(embedding, queries)
    one_by_one = np.vstack([query_squared_distances(embedding, queries[i : i + 1]) for i in range(40)])
    np.testing.assert_array_equal(many, one_by_one)
    assert np.isinf(many[::5, 2]).all()
    triplets = draw_queries(60, 7, 2, rng)
    one_by_one = np.concatenate([triplet_margins(embedding, triplets[i : i + 1]) for i in range(60)])
    np.testing.assert_array_equal(triplet_margins(embedding, triplets), one_by_one)
