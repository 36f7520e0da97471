"""Corruption: a fixed share of questions, a wrong option each, whatever the order of asking."""

import numpy as np
import pytest

from infonn.errors import InvalidQueryError
from infonn.oracles.distances import DistanceOracle
from infonn.oracles.noise import Corrupted
from infonn.oracles.replay import Recorded, ReplayOracle
from infonn.queries import Answers, all_queries, draw_queries, orders


@pytest.fixture
def queries(rng):
    return np.unique(np.sort(draw_queries(6000, 40, 3, rng), axis=1), axis=0)


@pytest.fixture
def truth(rng):
    return rng.normal(size=(40, 3))


@pytest.mark.parametrize("kind", ["nearest", "ranking", "odd_one_out"])
def test_the_share_is_wrong_and_wrong_options_are_equally_likely(kind, queries, truth, rng) -> None:
    if kind == "odd_one_out":
        queries = all_queries(len(truth), 2, kind)
        queries = rng.permuted(queries[rng.permutation(len(queries))[:4000]], axis=1)
    clean = DistanceOracle(truth, kind)
    right = clean.answer(queries, rng)
    given = Corrupted(clean, 0.25, seed=5, kind=kind).answer(queries, rng)
    wrong = given != right
    error = np.sqrt(0.25 * 0.75 / len(queries))
    assert abs(wrong.mean() - 0.25) < 4.5 * error  # false alarm below 1e-5
    n_options = 6 if kind == "ranking" else 3
    steps = np.bincount((given - right)[wrong] % n_options, minlength=n_options)
    assert steps[0] == 0
    expected = wrong.sum() / (n_options - 1)
    assert (np.abs(steps[1:] - expected) < 5 * np.sqrt(expected)).all()


def test_the_order_of_three_changes_no_odd_one(truth, rng) -> None:
    triples = rng.permuted(all_queries(12, 2, "odd_one_out"), axis=1)
    exact = DistanceOracle(truth, "odd_one_out")
    recorded = Recorded(Answers(triples, exact.answer(triples, rng), "odd_one_out"))
    for oracle in (exact, Corrupted(exact, 0.5, seed=1, kind="odd_one_out"), ReplayOracle(recorded)):
        turned = triples[:, [2, 0, 1]]
        said, again = (q[np.arange(len(q)), oracle.answer(q, rng)] for q in (triples, turned))
        np.testing.assert_array_equal(said, again)


@pytest.mark.parametrize("kind", ["nearest", "ranking"])
def test_asking_order_and_candidate_order_change_nothing(kind, queries, truth, rng) -> None:
    oracle = Corrupted(DistanceOracle(truth, kind), 0.5, seed=1, kind=kind)
    given = oracle.answer(queries, rng)
    shuffled = rng.permutation(len(queries))
    np.testing.assert_array_equal(oracle.answer(queries[shuffled], rng), given[shuffled])
    turned = queries[:, [0, 3, 1, 2]]
    if kind == "nearest":
        chosen, again = (
            q[np.arange(len(q)), 1 + r] for q, r in [(queries, given), (turned, oracle.answer(turned, rng))]
        )
    else:
        chosen = np.take_along_axis(queries[:, 1:], orders(3)[given], axis=1)
        again = np.take_along_axis(turned[:, 1:], orders(3)[oracle.answer(turned, rng)], axis=1)
    np.testing.assert_array_equal(chosen, again)


def test_seeds_differ_and_padding_is_never_chosen(truth, rng) -> None:
    queries = np.array([[0, 1, 2, -1], [3, 4, 5, -1]] * 2)
    queries[2:, 1:3] += 10
    given = [Corrupted(DistanceOracle(truth), 1.0, seed).answer(queries, rng) for seed in range(20)]
    assert np.max(given) == 1
    others = [Corrupted(DistanceOracle(truth), 0.5, seed).answer(queries, rng).tolist() for seed in range(20)]
    assert len({tuple(other) for other in others}) > 3


def test_labels_are_corrupted_to_another_class(rng) -> None:
    class Zero:
        def answer(self, queries, rng):
            return np.zeros(len(queries), np.int32)

    given = Corrupted(Zero(), 1.0, kind="label", n_classes=4).answer(np.arange(400)[:, None], rng)
    assert set(given.tolist()) == {1, 2, 3}
    with pytest.raises(InvalidQueryError, match="at least 2"):
        Corrupted(Zero(), 0.5, kind="label")
    with pytest.raises(ValueError, match=r"share is 1\.5"):
        Corrupted(Zero(), 1.5)


def test_nothing_asked_nothing_answered(truth, rng) -> None:
    assert len(Corrupted(DistanceOracle(truth), 0.5).answer(np.empty((0, 4), np.int32), rng)) == 0
