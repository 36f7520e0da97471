"""The search: better than the pool, never twice the same, and the same again with the same seed."""

from functools import partial

import numpy as np
import pytest

from infonn import create_study
from infonn.beliefs import Belief
from infonn.contracts.loop import Situation, Strategy
from infonn.maths.responses import ResponseSettings
from infonn.queries import all_queries, check_queries, draw_queries, no_answers, not_among, question_keys
from infonn.selection.batches import best
from infonn.selection.criteria import Entropy, Information, Random
from infonn.selection.joint import info_nn_gaussian, info_nn_joint, info_nn_pairwise
from infonn.selection.predictions import BestDraws
from infonn.selection.search import SwapSearch, climb, items_to_try
from infonn.selection.strategies import info_nn
from infonn.tasks.similarity import SimilarityTask

N_ITEMS = 25


@pytest.fixture
def belief(rng):
    embedding = rng.standard_normal((N_ITEMS, 2))
    return Belief(embedding, embedding + 0.5 * rng.standard_normal((24, N_ITEMS, 2)), response=ResponseSettings(0.5))


def situation_of(belief, pool, kind="nearest"):
    situation = Situation(pool, belief, no_answers(pool.shape[1] - 1, kind))
    return Situation(pool, belief, situation.answers, BestDraws()(situation, np.random.default_rng(0)))


def search(belief, pool, kind="nearest", **settings):
    situation = situation_of(belief, pool, kind)
    scores = situation.predict.information(pool)
    return SwapSearch(**settings)(scores, situation, np.random.default_rng(0)), scores, situation


def any_but(asked):
    return partial(not_among, asked=asked, kind="nearest")


@pytest.mark.parametrize(
    "n_candidates, kind", [(2, "nearest"), (3, "nearest"), (6, "nearest"), (3, "ranking"), (2, "odd_one_out")]
)
def test_what_is_found_can_be_asked_and_is_new(n_candidates, kind, belief, rng):
    pool = draw_queries(60, N_ITEMS, n_candidates, rng)
    found, scores, situation = search(belief, pool, kind)
    check_queries(found, N_ITEMS)
    assert len(np.unique(question_keys(found, kind))) == len(found) > 0
    assert not_among(found, pool, kind).all()
    assert situation.predict.information(found).max() > scores.max()


def test_no_single_swap_makes_the_best_one_better(belief, rng):
    pool = draw_queries(60, N_ITEMS, 3, rng)
    found, _, situation = search(belief, pool, swaps_per_item=10_000)
    nats = situation.predict.information(found)
    top = found[[nats.argmax()]]
    for position in range(4):
        assert situation.predict.swap_information(top, position, np.arange(N_ITEMS)).max() <= nats.max() + 1e-6


def test_from_a_tenth_of_all_queries_it_comes_near_the_best_of_all(belief, rng):
    every = all_queries(N_ITEMS, 3)
    found, _, situation = search(belief, every[rng.choice(len(every), len(every) // 10, replace=False)])
    nats = situation.predict.information(every)
    assert situation.predict.information(found).max() > np.quantile(nats, 0.9999)


def test_a_limit_of_swaps_ends_it(belief, rng):
    pool = draw_queries(60, N_ITEMS, 3, rng)
    looked_at = []

    def counted(queries, position, items):
        looked_at.append(len(queries) * len(items))
        return situation_of(belief, pool).predict.swap_information(queries, position, items)

    climb(pool, np.zeros(60), np.arange(N_ITEMS), counted, 4000)
    assert 0 < sum(looked_at) <= 4000
    assert len(climb(pool, np.zeros(60), np.arange(N_ITEMS), counted, 100)) == 0


def test_with_many_items_those_of_the_best_queries_are_tried():
    queries = np.array([[7, 3, 9], [1, 7, 4], [0, 2, 5]])
    assert items_to_try(queries, 10, 4).tolist() == [1, 3, 7, 9]
    assert items_to_try(queries, 4, 4).tolist() == [0, 1, 2, 3]


def test_found_queries_use_only_the_items_tried_and_those_of_the_starts(belief, rng):
    pool = draw_queries(60, N_ITEMS, 3, rng)
    found, scores, _ = search(belief, pool, starts=3, most_items=8)
    order = np.argsort(-scores, kind="stable")
    assert set(found.ravel()) <= set(items_to_try(pool[order], N_ITEMS, 8)) | set(pool[order[:3]].ravel())


@pytest.mark.parametrize("make", [info_nn, info_nn_joint, info_nn_pairwise, info_nn_gaussian])
@pytest.mark.parametrize("size", [1, 6])
def test_every_batch_rule_takes_what_was_found(make, size, belief, rng):
    pool, asked = draw_queries(60, N_ITEMS, 3, rng), draw_queries(40, N_ITEMS, 3, rng)
    situation = Situation(pool, belief, no_answers(3))
    strategy = make(search=True)
    queries, scores = strategy.choose(situation, size, np.random.default_rng(1), any_but(asked))
    again, scores_again = strategy.choose(situation, size, np.random.default_rng(1), any_but(asked))
    np.testing.assert_array_equal(queries, again)
    np.testing.assert_array_equal(scores, scores_again)
    assert len(np.unique(question_keys(queries, "nearest"))) == size
    if size == 1:
        _, plain_scores = make().choose(situation, 1, np.random.default_rng(1), any_but(asked))
        assert scores[0] > plain_scores[0]


def test_one_question_of_each_reference_also_among_those_found(belief, rng):
    pool = draw_queries(60, N_ITEMS, 3, rng)
    strategy = info_nn(search=True, per_reference=True, power=None)
    queries, _ = strategy.choose(Situation(pool, belief, no_answers(3)), 8, rng, any_but(pool[:0]))
    assert len(set(queries[:, 0])) == 8
    assert not_among(queries, pool, "nearest").any()


def test_what_was_asked_is_never_found_again(belief, rng):
    situation = Situation(draw_queries(60, N_ITEMS, 3, rng), belief, no_answers(3))
    asked = situation.pool[:0]
    for turn in range(12):
        query, _ = info_nn(search=True).choose(situation, 1, np.random.default_rng(turn), any_but(asked))
        assert not_among(query, asked, "nearest").all()
        asked = np.concatenate([asked, query])
        situation = Situation(situation.pool[not_among(situation.pool, query, "nearest")], belief, no_answers(3))


@pytest.mark.parametrize("search", [True, False])
def test_a_batch_from_a_pool_with_repeats_asks_nothing_twice(search, belief, rng):
    pool = np.repeat(draw_queries(20, N_ITEMS, 3, rng), 3, axis=0)
    strategy = info_nn(search=search, power=None)
    queries, _ = strategy.choose(Situation(pool, belief, no_answers(3)), 10, rng, any_but(pool[:0]))
    assert len(np.unique(question_keys(queries, "nearest"))) == 10


def test_without_leave_the_pool_is_all_that_is_asked(belief, rng):
    situation = Situation(draw_queries(60, N_ITEMS, 3, rng), belief, no_answers(3))
    with_search, _ = info_nn(search=True).choose(situation, 5, np.random.default_rng(1))
    without, _ = info_nn().choose(situation, 5, np.random.default_rng(1))
    np.testing.assert_array_equal(with_search, without)


@pytest.mark.parametrize("criterion", [Information(), Entropy(), Random()])
def test_found_queries_are_scored_by_the_strategys_own_criterion(criterion, belief, rng):
    situation = Situation(draw_queries(60, N_ITEMS, 3, rng), belief, no_answers(3))
    strategy = Strategy(criterion, best, BestDraws(), SwapSearch())
    queries, scores = strategy.choose(situation, 20, np.random.default_rng(1), any_but(situation.pool[:0]))
    predicted = situation_of(belief, situation.pool)
    np.testing.assert_allclose(scores, criterion(queries, predicted, rng))


def test_no_draws_no_search(belief, rng):
    pool = draw_queries(60, N_ITEMS, 3, rng)
    situation = Situation(pool, belief, no_answers(3))
    assert len(SwapSearch()(np.zeros(60), situation, rng)) == 0


def test_only_a_drawn_pool_may_be_left():
    names = [str(item) for item in range(N_ITEMS)]
    assert SimilarityTask(names, pool_size=100).searchable
    assert not SimilarityTask(names, candidates=2).searchable  # these are all
    assert not SimilarityTask(names, pool=np.array([[0, 1, 2, 3]])).searchable


def test_a_study_searches_asks_nothing_twice_and_is_the_same_again():
    names = [str(item) for item in range(N_ITEMS)]

    def asked():
        study = create_study(names, strategy={"name": "info_nn", "search": True}, learner="mds", first=5, seed=3)
        study.task = SimilarityTask(names, pool_size=40)
        queries = []
        for size in (5, 1, 1, 4, 1):
            for question in study.ask(size):
                queries.append(question.query)
                study.tell(question.id, question.query[0] % 3)
        return np.array(queries)

    queries = asked()
    assert len(np.unique(question_keys(queries, "nearest"))) == len(queries) == 12
    np.testing.assert_array_equal(queries, asked())


def test_five_items_and_a_pool_of_three_are_enough_to_search_from(rng):
    embedding = rng.standard_normal((5, 1))
    small = Belief(embedding, embedding + 0.5 * rng.standard_normal((9, 5, 1)), response=ResponseSettings(0.5))
    found, _, _ = search(small, draw_queries(3, 5, 2, rng))
    check_queries(found, 5)
