"""Which of three is the odd one: against a plain count of pairs."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from infonn import create_study
from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.errors import InvalidQueryError
from infonn.maths.accuracy import triplet_accuracy
from infonn.maths.distances import opposite_squared_distances, option_squared_distances
from infonn.maths.information import mutual_information
from infonn.maths.responses import ResponseSettings, option_log_probs
from infonn.oracles.distances import DistanceOracle
from infonn.queries import all_queries, no_answers, split_into_triplets
from infonn.selection.criteria import Information
from infonn.selection.predictions import BestDraws
from infonn.selection.strategies import info_nn
from infonn.specs.settings import check_spec

SETTINGS = ResponseSettings(mu=0.3, sharpness=1.7, lapse=0.1)


def by_hand(points: np.ndarray, triple: list[int], settings: ResponseSettings) -> list[float]:
    """For each item: the weight of the pair of the two others, among the weights of all three pairs."""
    weight = {}
    for i, j in itertools.combinations(triple, 2):
        squared = sum((a - b) ** 2 for a, b in zip(points[i], points[j]))
        weight[frozenset((i, j))] = (squared + settings.mu) ** -settings.sharpness
    total = sum(weight.values())
    shares = [weight[frozenset(triple) - {odd}] / total for odd in triple]
    return [(1 - settings.lapse) * share + settings.lapse / 3 for share in shares]


def test_probabilities_are_the_shares_of_the_pairs(rng: np.random.Generator) -> None:
    points = rng.standard_normal((7, 3))
    triples = np.array(list(itertools.combinations(range(7), 3)))
    found = np.exp(option_log_probs(option_squared_distances(points, triples, "odd_one_out"), SETTINGS, "odd_one_out"))
    expected = [by_hand(points, triple, SETTINGS) for triple in triples.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_tensors_give_the_same_and_a_gradient(rng: np.random.Generator) -> None:

    points, triples = rng.standard_normal((6, 2)), np.array([[0, 1, 2], [5, 3, 1]])
    leaf = torch.tensor(points, requires_grad=True)
    squared = option_squared_distances(leaf, torch.tensor(triples), "odd_one_out")
    np.testing.assert_allclose(squared.detach().numpy(), opposite_squared_distances(points, triples))
    squared.sum().backward()
    assert (leaf.grad[4] == 0).all()
    assert (leaf.grad[[0, 1, 2, 3, 5]] != 0).all()


def test_information_is_what_a_count_over_draws_and_options_gives(rng: np.random.Generator) -> None:
    """Entropy of the mean answer less the mean entropy, option by option and draw by draw, with no array in sight."""
    draws = rng.standard_normal((20, 6, 2))
    triples = np.array(list(itertools.combinations(range(6), 3)), np.int32)
    belief = Belief(draws.mean(axis=0), draws, response=SETTINGS)
    situation = Situation(triples, belief, no_answers(2, "odd_one_out"))
    situation = replace(situation, predict=BestDraws()(situation, rng))
    for triple, nats in zip(triples.tolist(), Information()(triples, situation, rng)):
        by_draw = [by_hand(draw, triple, SETTINGS) for draw in draws]
        mean = [sum(probs[k] for probs in by_draw) / len(by_draw) for k in range(3)]
        noise = -sum(p * math.log(p) for probs in by_draw for p in probs) / len(by_draw)
        assert nats == pytest.approx(-sum(p * math.log(p) for p in mean) - noise, abs=1e-12)


def test_answers_drawn_by_choosing_a_pair_have_these_probabilities(rng: np.random.Generator) -> None:
    """A person compares the pairs, with Gumbel noise on their log weights, and names the item outside the best pair.

    40,000 answers: a share is off by more than 0.0125 (5 standard errors) with a chance below 1e-6.
    """
    points, settings = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 2.0]]), ResponseSettings(mu=0.5, sharpness=2.0)
    pairs = [(1, 2), (0, 2), (0, 1)]
    logs = [-settings.sharpness * np.log(((points[i] - points[j]) ** 2).sum() + settings.mu) for i, j in pairs]
    said = (np.array(logs) + rng.gumbel(size=(40_000, 3))).argmax(axis=1)  # the pair without item k names k
    shares = np.bincount(said, minlength=3) / len(said)
    opposite = opposite_squared_distances(points, np.array([[0, 1, 2]]))
    np.testing.assert_allclose(np.exp(option_log_probs(opposite, settings, "odd_one_out"))[0], shares, atol=0.0125)


def test_an_order_of_the_three_changes_nothing_but_the_order(rng: np.random.Generator) -> None:
    points = rng.standard_normal((3, 2))
    orders = np.array(list(itertools.permutations(range(3))))
    probs = np.exp(option_log_probs(opposite_squared_distances(points, orders), SETTINGS, "odd_one_out"))
    for order, row in zip(orders, probs):
        np.testing.assert_allclose(row, probs[0][order])


def test_draws_of_an_embedding_come_first(rng: np.random.Generator) -> None:
    draws = rng.standard_normal((5, 6, 2))
    triples = np.array([[0, 1, 2], [3, 5, 4]])
    found = opposite_squared_distances(draws, triples)
    assert found.shape == (5, 2, 3)
    for draw in range(5):
        np.testing.assert_allclose(found[draw], opposite_squared_distances(draws[draw], triples))


def test_a_table_of_all_pairs_changes_nothing(rng: np.random.Generator) -> None:
    draws, triples = rng.standard_normal((4, 6, 2)), all_queries(6, 2, "odd_one_out")
    many = np.concatenate([triples] * 3)  # more rows than pairs of items
    np.testing.assert_array_equal(
        opposite_squared_distances(draws, many),
        np.concatenate([opposite_squared_distances(draws, triples)] * 3, axis=1),
    )


def test_an_item_far_away_is_the_odd_one() -> None:
    points = np.array([[0.0], [0.1], [50.0]])
    opposite = opposite_squared_distances(points, np.array([[0, 1, 2]]))
    assert np.exp(option_log_probs(opposite, ResponseSettings(mu=0.01), "odd_one_out"))[0, 2] == pytest.approx(
        1, abs=1e-3
    )


# --- as a study ----------------------------------------------------------------------------------------------


def test_a_study_asks_for_the_odd_one_and_learns_a_line() -> None:
    places = np.arange(9.0)[:, None] ** 1.3  # no two pairs are equally far apart
    learner = {"name": "posterior", "dims": 1, "n_chains": 16, "leaps": 4}
    study = create_study([f"item {i}" for i in range(9)], kind="odd_one_out", learner=learner, first=15, seed=2)
    assert study.candidates == 2
    rounds = list(study.run(DistanceOracle(places, "odd_one_out"), rounds=3, size=10))
    assert rounds[-1].n_answers == 45
    questions = study.storage.questions(study.name)
    assert len({frozenset(question.query) for question in questions}) == 45  # of 84 triples, none twice
    assert all(tuple(option.item for option in question.options) == question.query for question in questions)
    assert triplet_accuracy(study.belief().embedding, split_into_triplets(study.answers())) > 0.8  # hard ones, chosen


def test_chosen_odd_ones_tell_more_than_drawn_ones() -> None:
    """The best of a pool by Info-NN have more nats under the belief that chose them than the pool has on average."""
    rng = np.random.default_rng(1)
    belief = Belief(rng.standard_normal((12, 2)), rng.standard_normal((30, 12, 2)), response=SETTINGS)
    pool = all_queries(12, 2, "odd_one_out")
    queries, scores = info_nn().choose(Situation(pool, belief, no_answers(2, "odd_one_out")), 1, rng)
    predict = BestDraws()(Situation(pool, belief, no_answers(2, "odd_one_out")), rng)
    nats = mutual_information(predict(pool))
    assert scores[0] == pytest.approx(nats.max())
    assert len(queries) == 1


def test_settings_need_no_candidates_and_refuse_wrong_ones() -> None:
    assert check_spec({"queries": {"kind": "odd_one_out"}})["queries"]["candidates"] == 2
    with pytest.raises(InvalidQueryError, match="among 3 items"):
        create_study(["a", "b", "c", "d", "e"], kind="odd_one_out", candidates=4)
    with pytest.raises(InvalidQueryError, match="at least 3 items"):
        create_study(["a", "b"], kind="odd_one_out")
