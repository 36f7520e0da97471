"""Kumari's batches of triplets, each against a twin written as plain loops; the gradient's twin is torch's autograd."""

import numpy as np
import pytest
import torch

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.errors import InvalidQueryError
from infonn.learners.networks.network import Network
from infonn.maths.responses import ResponseSettings
from infonn.queries import all_queries, draw_queries, no_answers
from infonn.selection import triplet_batches as batches

MU = 0.3


def belief_of(rng, n_items=9, n_dims=3):
    return Belief(rng.normal(size=(n_items, n_dims)), response=ResponseSettings(MU))


def prob_first(z, triplet):
    reference, first, second = triplet
    w1, w2 = (1 / (((z[reference] - z[other]) ** 2).sum() + MU) for other in (first, second))
    return w1 / (w1 + w2)


def entropy_of(z, triplet):
    p = prob_first(z, triplet)
    return -p * np.log(p) - (1 - p) * np.log(1 - p)


def slow_centroid(z, belief, one, two):
    return ((z[list(one)].mean(axis=0) - z[list(two)].mean(axis=0)) ** 2).sum()


def expected(z, one, two, vector):
    total = 0.0
    for first in (0, 1):
        for second in (0, 1):
            p = prob_first(z, one) if first == 0 else 1 - prob_first(z, one)
            q = prob_first(z, two) if second == 0 else 1 - prob_first(z, two)
            a = one if first == 0 else (one[0], one[2], one[1])
            b = two if second == 0 else (two[0], two[2], two[1])
            total += p * q * ((vector(a) - vector(b)) ** 2).sum()
    return total


def slow_euclidean(z, belief, one, two):
    return expected(z, one, two, lambda t: np.concatenate([z[t[0]], z[t[1]], z[t[2]]]))


def slow_gradient(z, belief, one, two):
    hidden = np.eye(len(z)) if belief.state is None else belief.state["items.hidden"][0]
    weights = z if belief.state is None else belief.state["last"]

    def gradient(triplet):
        """By torch: the loss of one answered triplet in the last layer's weights."""
        last = torch.tensor(weights, requires_grad=True)
        points = torch.tensor(hidden) @ last
        reference, near, far = triplet
        loss = 50 + ((points[reference] - points[near]) ** 2).sum() - ((points[reference] - points[far]) ** 2).sum()
        return torch.autograd.grad(loss.clamp(min=0), last)[0].numpy().ravel()

    return expected(z, one, two, gradient)


def slow_batch(belief, pool, size, distance):
    """Entropy times the squared distance to the nearest triplet taken, one loop at a time."""
    z = belief.embedding
    triplets = [tuple(map(int, row)) for row in pool]
    entropies = [entropy_of(z, t) for t in triplets]
    shortlist = sorted(range(len(pool)), key=lambda i: -entropies[i])[: 3 * size]
    taken = [shortlist[0]]
    while len(taken) < min(size, len(shortlist)):
        merits = {
            i: entropies[i] * min(distance(z, belief, triplets[i], triplets[j]) for j in taken)
            for i in shortlist
            if i not in taken
        }
        taken.append(max(merits, key=merits.get))
    return taken


def network_belief(rng):
    """A belief whose embedding is hidden units times last-layer weights, as a network's is."""
    hidden, last = np.abs(rng.normal(size=(9, 5))), rng.normal(size=(5, 3))
    state = {"items.hidden": hidden[None], "last": last}
    return Belief(hidden @ last, response=ResponseSettings(MU), state=state)


@pytest.mark.parametrize(
    ("strategy", "twin", "make"),
    [
        (batches.batch_centroid(), slow_centroid, belief_of),
        (batches.batch_euclidean(), slow_euclidean, belief_of),
        (batches.batch_gradient(), slow_gradient, belief_of),
        (batches.batch_gradient(), slow_gradient, network_belief),
    ],
    ids=["centroid", "euclidean", "gradient_of_embedding", "gradient_of_network"],
)
def test_batches_are_those_of_the_plain_loops(rng, strategy, twin, make):
    for size in (1, 4, 7):
        belief = make(rng)
        pool = all_queries(9, 2)[rng.permutation(9 * 28)[:60]]
        rows = strategy.select(Situation(pool, belief, no_answers(2)), size, rng)
        assert rows.tolist() == slow_batch(belief, pool, size, twin)


def test_a_network_tells_the_hidden_units_behind_its_embedding(rng):
    features = rng.normal(size=(9, 4))
    learner = Network(features, (6, 5, 3), precision="float64")
    belief = learner.fit(no_answers(2), rng)
    hidden = belief.state["items.hidden"]
    assert hidden.shape == (1, 9, 5)
    assert (hidden >= 0).all()
    np.testing.assert_allclose(hidden[0] @ belief.state["2.weight"][0] + belief.state["2.bias"][0], belief.embedding)
    pool = draw_queries(80, 9, 2, rng)
    rows = batches.batch_gradient().select(Situation(pool, belief, no_answers(2)), 5, rng)
    assert len(set(rows.tolist())) == 5


def test_candidate_order_does_not_change_the_batch(rng):
    belief, pool = belief_of(rng), all_queries(9, 2)[:100]
    for strategy in (batches.batch_euclidean(), batches.batch_gradient(), batches.batch_centroid()):
        one, two = (
            strategy.select(Situation(rows, belief, no_answers(2)), 6, np.random.default_rng(0))
            for rows in (pool, pool[:, [0, 2, 1]])
        )
        np.testing.assert_array_equal(one, two)


def test_a_small_pool_is_taken_whole_and_equal_points_are_taken_once(rng):
    belief, pool = Belief(np.zeros((5, 2)), response=ResponseSettings(MU)), all_queries(5, 2)[:7]
    rows = batches.batch_centroid().select(Situation(pool, belief, no_answers(2)), 20, rng)
    assert sorted(rows.tolist()) == list(range(7))


@pytest.mark.parametrize("strategy", [batches.random_triplets(), batches.batch_centroid()])
def test_longer_queries_are_refused_with_the_way_out(rng, strategy):
    with pytest.raises(InvalidQueryError, match=r"queries of 3 candidates\. Set candidates = 2"):
        strategy.select(Situation(draw_queries(5, 9, 3, rng), belief_of(rng), no_answers(3)), 2, rng)


def test_random_triplets_are_distinct_rows_of_the_pool(rng):
    pool = draw_queries(50, 9, 2, rng)
    rows = batches.random_triplets().select(Situation(pool, belief_of(rng), no_answers(2)), 10, rng)
    assert len(set(rows.tolist())) == 10
