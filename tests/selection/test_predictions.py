"""Predictions: what is drawn, whose settings count, and that the fused score is the plain one."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.errors import InvalidQueryError, NeedsDrawsError
from infonn.maths.distances import pairwise_distances
from infonn.maths.information import mutual_information
from infonn.maths.responses import ResponseSettings
from infonn.queries import draw_queries, no_answers, stack_queries
from infonn.selection import predictions
from infonn.selection.predictions import BeliefDraws, BestDraws, DistanceNoise, EmbeddingNoise
from infonn.selection.strategies import info_ranking
from infonn.selection.triplet_batches import batch_euclidean, random_triplets

RESPONSE = ResponseSettings(0.7, 1.5, 0.1)


@pytest.fixture
def situation(rng):
    embedding = rng.standard_normal((15, 2))
    draws = embedding + 0.3 * rng.standard_normal((40, 15, 2))
    pool = stack_queries([draw_queries(30, 15, 4, rng), draw_queries(30, 15, 3, rng)])
    return Situation(pool, Belief(embedding, draws, response=RESPONSE), no_answers(4))


PREDICTORS = [DistanceNoise(), DistanceNoise(draws_by="item"), EmbeddingNoise(0.5), BeliefDraws(), BestDraws()]


@pytest.mark.parametrize("predictor", PREDICTORS)
@pytest.mark.parametrize("kind", ["nearest", "ranking"])
def test_the_fused_score_is_that_of_the_log_probs(predictor, kind, situation, rng):
    rows = situation.pool if kind == "nearest" else situation.pool[:30]  # rankings are never padded
    situation = Situation(rows, situation.belief, no_answers(4, kind))
    predict = predictor(situation, rng)
    log_probs = predict(rows)
    assert log_probs.shape[1:] == (len(rows), 24 if kind == "ranking" else 4)
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=-1), 1)
    np.testing.assert_allclose(predict.information(rows), mutual_information(log_probs), atol=2e-6)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_three_of_which_one_is_odd_may_stand_in_any_order(predictor, situation, rng):
    triples = draw_queries(30, 15, 2, rng)
    odd = Situation(triples, situation.belief, no_answers(2, "odd_one_out"))
    predict = predictor(odd, rng)
    log_probs = predict(triples)
    assert log_probs.shape[1:] == (30, 3)
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=-1), 1)
    turned = triples[:, [2, 0, 1]]
    np.testing.assert_allclose(predict(turned), log_probs[..., [2, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(predict.information(turned), mutual_information(log_probs), atol=1e-12)


@pytest.mark.parametrize("strategy", [info_ranking(), random_triplets(), batch_euclidean()])
def test_strategies_that_need_a_reference_refuse_an_odd_one(strategy, situation, rng):
    odd = Situation(draw_queries(30, 15, 2, rng), situation.belief, no_answers(2, "odd_one_out"))
    with pytest.raises(InvalidQueryError, match="odd one of three. Use"):
        strategy.select(odd, 3, rng)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_candidates_may_stand_in_any_order(predictor, situation, rng):
    predict = predictor(situation, rng)
    queries = situation.pool[:30]
    order = rng.permuted(np.tile(np.arange(4), (30, 1)), axis=1)
    shuffled = np.hstack([queries[:, :1], np.take_along_axis(queries[:, 1:], order, axis=1)])
    expected = np.take_along_axis(predict(queries), order[None], axis=2)
    np.testing.assert_allclose(predict(shuffled), expected, atol=1e-12)
    np.testing.assert_array_equal(predict.information(shuffled), predict.information(queries))


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_torch_embeddings_are_predicted_in_torch(predictor, situation):
    import torch

    belief = situation.belief
    moved = Belief(torch.as_tensor(belief.embedding), torch.as_tensor(belief.draws), response=RESPONSE)
    here = predictor(situation, np.random.default_rng(1))
    there = predictor(Situation(situation.pool, moved, situation.answers), np.random.default_rng(1))
    log_probs = there(situation.pool)
    assert isinstance(log_probs, torch.Tensor)
    np.testing.assert_allclose(log_probs.numpy(), here(situation.pool), atol=1e-9)
    np.testing.assert_allclose(there.information(situation.pool), here.information(situation.pool), atol=2e-6)


def test_draws_fetched_row_by_row_score_alike_in_any_chunk(situation, rng, monkeypatch):
    belief = situation.belief
    lazy = Belief(belief.embedding, lambda rows: belief.draws[:, rows], response=RESPONSE)
    predict = BeliefDraws()(Situation(situation.pool, lazy, situation.answers), rng)
    expected = BeliefDraws()(situation, rng).information(situation.pool)
    np.testing.assert_array_equal(predict.information(situation.pool), expected)
    monkeypatch.setattr(predictions, "DRAWN_NUMBERS", 40 * 2 * 10)
    np.testing.assert_array_equal(predict.information(situation.pool), expected)
    monkeypatch.setattr(predictions, "CHUNK_NUMBERS", 1000)
    chunked = predictions.in_chunks(mutual_information, predict, situation.pool)
    np.testing.assert_allclose(chunked, expected, atol=2e-6)


def test_the_strategys_settings_come_first_then_the_beliefs_then_the_largest_distance(situation, rng):
    assert DistanceNoise(mu=3.0)(situation, rng).response == ResponseSettings(3.0, 1.5, 0.1)
    assert DistanceNoise()(situation, rng).response == RESPONSE
    bare = Situation(situation.pool, Belief(situation.belief.embedding), situation.answers)
    distances = pairwise_distances(situation.belief.embedding)
    predict = DistanceNoise()(bare, rng)
    assert predict.response.mu == pytest.approx(distances.max())
    assert predict.sigma == pytest.approx(distances[np.triu_indices(15, 1)].std(ddof=1))
    assert DistanceNoise(mu=2.0)(bare, rng).response == ResponseSettings(2.0)
    assert DistanceNoise(sigma=0.25)(bare, rng).sigma == 0.25


def test_with_too_many_items_for_all_pairs_the_pool_says_how_far(situation, rng, monkeypatch):
    monkeypatch.setattr(predictions, "ALL_PAIRS", 10)
    bare = Situation(situation.pool[:30], Belief(situation.belief.embedding), situation.answers)
    distances = pairwise_distances(situation.belief.embedding)
    asked = distances[bare.pool[:, :1], bare.pool[:, 1:]]
    predict = DistanceNoise()(bare, rng)
    assert predict.sigma == pytest.approx(asked.std(ddof=1))
    assert predict.response.mu == pytest.approx(asked.max())


def test_items_all_in_one_place_can_still_be_asked_about(rng):
    pool = draw_queries(10, 6, 3, rng)
    predict = DistanceNoise()(Situation(pool, Belief(np.zeros((6, 2))), no_answers(3)), rng)
    np.testing.assert_allclose(predict.information(pool), 0, atol=1e-6)


@pytest.mark.parametrize("kind", ["nearest", "ranking"])
def test_weights_beyond_single_precision_are_scored_the_plain_way(kind, rng):
    embedding = np.array([[0.0], [1.0], [1.5], [1e25], [2.0]])
    pool = np.array([[0, 1, 2, 3], [0, 1, 2, 4]], np.int32)
    for response in (ResponseSettings(1.0), ResponseSettings(1e-4, 9.0), ResponseSettings(1.0, 2.0, 0.2)):
        situation = Situation(pool, Belief(embedding, response=response), no_answers(3, kind))
        predict = DistanceNoise(0.3)(situation, rng)
        np.testing.assert_allclose(predict.information(pool), mutual_information(predict(pool)), atol=2e-6)


def test_sobol_and_monte_carlo_agree(situation, rng):
    many = DistanceNoise(n_draws=4096)(situation, rng).information(situation.pool)
    free = DistanceNoise(n_draws=4096, method="monte_carlo")(situation, rng).information(situation.pool)
    np.testing.assert_allclose(many, free, atol=0.02)  # about 5 standard errors of the free draws


def test_belief_draws_need_draws(situation, rng):
    bare = Situation(situation.pool, Belief(situation.belief.embedding), situation.answers)
    with pytest.raises(NeedsDrawsError, match="one embedding without draws"):
        BeliefDraws()(bare, rng)
    assert isinstance(BestDraws()(bare, rng), predictions.DistancePrediction)
    assert isinstance(BestDraws()(situation, rng), predictions.EmbeddingPrediction)


def test_no_queries_have_no_scores(situation, rng):
    for predictor in PREDICTORS:
        assert predictor(situation, rng).information(situation.pool[:0]).shape == (0,)
