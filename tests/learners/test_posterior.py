"""Posterior learners: they learn, go on warm, restart when they must, and stay stable as answers grow."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.errors import DataError, InfonnError
from infonn.learners.posterior import learner as posterior
from infonn.learners.posterior import placement
from infonn.learners.posterior.draws import PlacedDraws, own_noise
from infonn.learners.posterior.learner import Posterior
from infonn.learners.posterior.learner import posterior as made_of
from infonn.learners.posterior.placement import mean_embedding
from infonn.learners.posterior.seen_answers import keys_of, seen_first
from infonn.maths.distances import pairwise_distances, triplet_margins
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries, no_answers


def answered(points: np.ndarray, n: int, seed: int = 0, kind: str = "nearest", n_candidates: int = 3) -> Answers:
    rng = np.random.default_rng(seed)
    queries = draw_queries(n, len(points), n_candidates, rng)
    return Answers(queries, DistanceOracle(points, kind).answer(queries, rng), kind)


def accuracy(embedding: np.ndarray, points: np.ndarray) -> float:
    triplets = draw_queries(4000, len(points), 2, np.random.default_rng(99))
    return float(((triplet_margins(embedding, triplets) > 0) == (triplet_margins(points, triplets) > 0)).mean())


POINTS = np.random.default_rng(7).standard_normal((12, 2))
QUICK = {"n_chains": 16, "leaps": 6}


@pytest.mark.parametrize("kind, n_candidates", [("nearest", 3), ("ranking", 3), ("odd_one_out", 2)])
def test_a_free_embedding_is_learned(kind: str, n_candidates: int) -> None:
    learner = Posterior(12, dims=2, **QUICK)
    belief = learner.fit(answered(POINTS, 120, kind=kind, n_candidates=n_candidates), np.random.default_rng(0))
    assert belief.draws.shape == (16, 12, 2)
    assert accuracy(belief.embedding, POINTS) > 0.88
    assert belief.response.lapse < 0.1
    assert 0.4 < belief.state["acceptance"] < 1


def test_a_metric_of_the_features_is_learned_from_few_answers_and_places_new_items() -> None:
    rng = np.random.default_rng(1)
    features, map_ = rng.standard_normal((60, 4)), rng.standard_normal((4, 4))
    known, new = features[:50], features[50:]
    learner = Posterior(50, features=known, **QUICK)
    belief = learner.fit(answered(known @ map_, 120), np.random.default_rng(0))
    assert accuracy(belief.embedding, known @ map_) > 0.88
    assert np.median(belief.state["feature_share"]) > 0.9
    assert accuracy(learner.transform(new, belief), new @ map_) > 0.85
    assert accuracy(learner.transform(known, belief), belief.embedding) > 0.9


def test_places_go_beyond_poor_features_and_new_items_go_by_them() -> None:
    rng = np.random.default_rng(2)
    hidden = rng.standard_normal((15, 2))
    features = hidden[:, :1] + 0.1 * rng.standard_normal((15, 1))  # knows one of two dimensions
    learner = Posterior(15, features=features, dims=2, **QUICK)
    belief = learner.fit(answered(hidden, 160), np.random.default_rng(0))
    assert accuracy(belief.embedding, hidden) > accuracy(features, hidden) + 0.08
    placed = learner.transform(np.array([[-2.0], [0.0], [2.0]]), belief)
    assert placed.shape == (3, belief.embedding.shape[1])
    far = pairwise_distances(placed)
    assert far[0, 2] > max(far[0, 1], far[1, 2])


def test_features_that_say_nothing_explain_nothing() -> None:
    noise = np.random.default_rng(3).standard_normal((12, 8))
    belief = Posterior(12, noise, **QUICK).fit(answered(POINTS, 120), np.random.default_rng(0))
    assert belief.state["feature_share"].shape == (16,)
    assert np.median(belief.state["feature_share"]) < 0.2
    assert accuracy(belief.embedding, POINTS) > 0.8
    assert "feature_share" not in Posterior(12, **QUICK).fit(answered(POINTS, 9), np.random.default_rng(0)).state


def test_warm_chains_go_on_and_repeat_with_the_seed() -> None:
    learner = Posterior(12, dims=2, **QUICK)
    answers = answered(POINTS, 41)
    start = learner.fit(answers.take(slice(0, 40)), np.random.default_rng(0))
    one = learner.fit(answers, np.random.default_rng(1), start)
    again = learner.fit(answers, np.random.default_rng(1), start)
    assert np.array_equal(one.draws, again.draws)
    assert len(one.state["seen"]) == 41
    assert not np.array_equal(one.draws, start.draws)


def test_less_effort_makes_fewer_moves_and_never_none(monkeypatch) -> None:
    made: list[int] = []
    follow = posterior.follow

    def counted(population, target, choices, n_seen, n_moves, leaps, rng):
        made.append(n_moves)
        return follow(population, target, choices, n_seen, n_moves, leaps, rng)

    monkeypatch.setattr(posterior, "follow", counted)
    answers = answered(POINTS, 31)
    for effort in (1.0, 0.25, 0.001):
        learner = Posterior(12, dims=2, effort=effort, **QUICK)
        start = learner.fit(answers.take(slice(0, 30)), np.random.default_rng(0))
        learner.fit(answers, np.random.default_rng(0), start)
    assert made == [80, 10, 20, 2, 1, 1]


def test_many_answers_taken_back_start_the_chains_afresh() -> None:
    learner = Posterior(12, dims=2, **QUICK)
    answers = answered(POINTS, 40)
    start = learner.fit(answers, np.random.default_rng(0))
    fewer = answers.take(slice(3, 40))
    warm = learner.fit(fewer, np.random.default_rng(1), start)
    cold = learner.fit(fewer, np.random.default_rng(1))
    assert np.array_equal(warm.draws, cold.draws)


@pytest.mark.parametrize("features", [None, POINTS])
def test_an_answer_taken_back_and_given_anew_leaves_the_chains_going(features: np.ndarray | None) -> None:
    learner = Posterior(12, features, dims=2, **QUICK)
    answers = answered(POINTS, 60)
    wrong = replace(answers, responses=np.r_[(answers.responses[:1] + 1) % 3, answers.responses[1:]])
    start = learner.fit(wrong, np.random.default_rng(0))
    mended = answers.take(np.r_[1:60, 0])  # the right answer comes last
    warm = learner.fit(mended, np.random.default_rng(1), start)
    cold = learner.fit(mended, np.random.default_rng(1))
    assert not np.array_equal(warm.draws, cold.draws)
    assert accuracy(warm.embedding, POINTS) > accuracy(cold.embedding, POINTS) - 0.05
    in_order = learner.fit(mended, np.random.default_rng(2), warm)  # all seen: nothing to weigh, some moves
    assert len(in_order.state["seen"]) == 60


def test_what_was_seen_comes_first_and_counts_as_often_as_it_was_seen() -> None:
    rng = np.random.default_rng(0)
    few = answered(POINTS[:4], 200)  # some the same
    before, now = few.take(slice(0, 180)), few.take(rng.permutation(200)[:195])
    rows, n_seen, n_gone = seen_first(keys_of(before), now)
    as_pairs = lambda a: Counter((*map(int, q), int(r)) for q, r in zip(a.queries, a.responses))  # noqa: E731
    expected = as_pairs(before) & as_pairs(now)
    assert n_seen == expected.total()
    assert as_pairs(now.take(rows[:n_seen])) == expected
    assert n_gone == 180 - n_seen
    assert sorted(rows) == list(range(195))
    wider = replace(now, queries=np.column_stack([now.queries, np.full(195, -1, np.int32)]))
    assert np.array_equal(keys_of(wider), keys_of(now))


def test_another_learners_belief_starts_the_chains_afresh() -> None:
    learner = Posterior(12, dims=2, **QUICK)
    answers = answered(POINTS, 30)
    warm = learner.fit(answers, np.random.default_rng(1), Belief(POINTS))
    assert np.array_equal(warm.draws, learner.fit(answers, np.random.default_rng(1)).draws)


def test_without_answers_the_belief_is_the_prior() -> None:
    belief = Posterior(6, dims=2, sharpness=2.0, lapse=0.0, prior_scale=3.0, mu=4.0, n_chains=400).fit(
        no_answers(3), np.random.default_rng(0)
    )
    assert (belief.response.mu, belief.response.sharpness, belief.response.lapse) == (4.0, pytest.approx(2.0), 0.0)
    assert belief.draws.std() == pytest.approx(3.0, rel=0.06)  # 4800 coordinates: 6 % is 5.9 standard errors


def test_without_answers_there_is_a_place_for_every_item_and_chains_go_on() -> None:
    features = np.random.default_rng(5).normal(size=(12, 3))
    learner = Posterior(12, features=features, n_chains=4)
    before = learner.fit(no_answers(3), np.random.default_rng(6))
    assert np.isfinite(before.embedding).all()
    queries = draw_queries(5, 12, 3, np.random.default_rng(7))
    after = learner.fit(Answers(queries, np.zeros(5, np.int32)), np.random.default_rng(8), before)
    assert len(after.embedding) == 12
    assert len(after.state["seen"]) == 5


def test_the_lapse_rate_is_learned_from_the_answers() -> None:
    clean = answered(POINTS, 250)
    rng = np.random.default_rng(0)
    lapsed = np.where(rng.random(250) < 0.4, rng.integers(0, 3, 250), clean.responses).astype(np.int32)
    learner = Posterior(12, dims=2, **QUICK)
    fitted = learner.fit(Answers(clean.queries, lapsed), np.random.default_rng(1)).response
    assert 0.2 < fitted.lapse < 0.6
    assert learner.fit(clean, np.random.default_rng(1)).response.lapse < 0.06


def test_the_step_shrinks_so_that_thousands_of_answers_stay_stable() -> None:
    learner = Posterior(12, dims=2, n_chains=6, leaps=4)
    few = learner.fit(answered(POINTS, 20), np.random.default_rng(0))
    many = learner.fit(answered(POINTS, 3000), np.random.default_rng(0))
    for belief in (few, many):
        assert 0.4 < belief.state["acceptance"] < 0.97
        assert np.isfinite(belief.draws).all()
    assert accuracy(many.embedding, POINTS) > 0.98


def test_a_dimension_nobody_needs_shrinks() -> None:
    line = np.linspace(-1, 1, 12)[:, None] ** 3
    belief = Posterior(12, dims=2, **QUICK).fit(answered(line, 400, n_candidates=2), np.random.default_rng(0))
    centred = belief.draws - belief.draws.mean(axis=1, keepdims=True)
    widths = np.linalg.svd(centred, compute_uv=False)
    assert np.median(widths[:, 1] / widths[:, 0]) < 0.25


def test_the_point_estimate_of_like_draws_is_those_draws() -> None:
    points = np.random.default_rng(0).standard_normal((8, 3))
    turned = points @ np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0] + 5
    estimate = mean_embedding(np.stack([points, turned, 2 * points]))  # size is not shape
    assert estimate.shape == (8, 3)
    np.testing.assert_allclose(pairwise_distances(estimate), 4 / 3 * pairwise_distances(points), atol=1e-7)


def test_the_point_estimate_ranks_as_mean_distances_do() -> None:
    draws = np.random.default_rng(0).standard_normal((2, 15, 3)) * 0.3 + np.random.default_rng(1).standard_normal(
        (15, 3)
    )
    mean = np.mean([pairwise_distances(draw) for draw in draws], axis=0)
    estimate = pairwise_distances(mean_embedding(draws))
    assert np.corrcoef(mean[np.triu_indices(15, 1)], estimate[np.triu_indices(15, 1)])[0, 1] > 0.99


def test_many_items_are_placed_by_their_distances_to_some(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((60, 2))
    turns = np.linalg.qr(rng.standard_normal((5, 2, 2)))[0]
    draws = points @ turns  # the same distances, each draw turned
    monkeypatch.setattr(placement, "LANDMARKS", 20)
    monkeypatch.setattr(placement, "CHUNK", 25)
    placed = placement.spread_embedding(draws, 60)
    np.testing.assert_allclose(pairwise_distances(placed), pairwise_distances(points), atol=1e-6)
    rows = placement.spread_embedding(lambda rows: draws[:, rows], 60)
    np.testing.assert_array_equal(rows, placed)


def test_draws_of_very_many_items_are_made_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.random.default_rng(0).standard_normal((40, 3))
    learner = Posterior(40, features=features, **QUICK)
    answers = answered(features, 30)
    held = learner.fit(answers, np.random.default_rng(0))
    monkeypatch.setattr(posterior, "MANY_NUMBERS", 100)
    made = learner.fit(answers, np.random.default_rng(0))
    assert isinstance(made.draws, PlacedDraws)
    rows = np.array([3, 11])
    np.testing.assert_allclose(made.draws_of(rows), held.draws_of(rows))


def test_of_many_items_only_those_that_occur_are_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posterior, "FEW_ITEMS", 20)
    features = np.random.default_rng(0).standard_normal((40, 3))
    learner = Posterior(40, features=features, **QUICK)
    answers = answered(features[:25], 60)  # items 25 to 39 occur in none
    few = answers.take((answers.queries < 15).all(axis=1))
    start = learner.fit(few, np.random.default_rng(0))
    assert start.state["items"].tolist() == np.union1d([0, 1], few.queries).tolist()
    both = few.joined(answers.take((answers.queries >= 15).any(axis=1)))
    after = learner.fit(both, np.random.default_rng(1), start)
    assert after.state["items"].tolist() == list(range(25))
    assert after.draws.shape == (16, 40, 3)
    assert accuracy(after.embedding, features) > 0.75
    assert learner.transform(features[:4], after).shape == (4, after.embedding.shape[1])


def test_an_items_own_noise_is_normal_and_belongs_to_it() -> None:
    """9,600 numbers: a mean within 4.5 / 98, a variance within 4.5 sqrt(2) / 98."""
    noise = own_noise(16, np.arange(200), 3)
    np.testing.assert_array_equal(own_noise(16, np.array([7, 150]), 3), noise[:, [7, 150]])
    assert abs(noise.mean()) < 4.5 / 98
    assert abs(noise.var() - 1) < 4.5 * np.sqrt(2) / 98
    assert len(np.unique(noise)) == noise.size


# --- features that are odd --------------------------------------------------------------------------------


def test_a_constant_column_and_equal_rows_are_fine() -> None:
    rng = np.random.default_rng(0)
    features = np.column_stack([POINTS, np.full(12, 7.0)])
    features[1] = features[0]
    belief = Posterior(12, features, **QUICK).fit(answered(features, 60), rng)
    assert np.isfinite(belief.embedding).all()
    alike = Posterior(12, np.ones((12, 3)), **QUICK).fit(answered(POINTS, 60), rng)  # nothing to go by
    assert accuracy(alike.embedding, POINTS) > 0.7
    assert "feature_share" not in alike.state


def test_fewer_items_than_dimensions_are_placed() -> None:
    rng = np.random.default_rng(0)
    queries = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]], np.int32)
    for features in (None, rng.standard_normal((3, 40))):
        belief = Posterior(3, features, dims=8, **QUICK).fit(Answers(queries, np.zeros(3, np.int32)), rng)
        assert len(belief.embedding) == 3
        assert np.isfinite(belief.embedding).all()


def test_thousands_of_columns_are_as_good_as_their_directions() -> None:
    rng = np.random.default_rng(4)
    wide = POINTS @ rng.standard_normal((2, 3000))  # one unit for all: nothing to standardise
    learner = Posterior(12, wide, dims=2, **QUICK)
    assert learner.basis.factor.shape == (12, 2)
    belief = learner.fit(answered(POINTS, 60), np.random.default_rng(0))
    assert accuracy(belief.embedding, POINTS) > 0.85


def test_odd_features_are_refused_in_one_sentence() -> None:
    broken = POINTS.copy()
    broken[3, 1] = np.nan
    with pytest.raises(DataError, match="Column 1 of the features"):
        Posterior(12, broken)
    learner = Posterior(12, POINTS, **QUICK)
    belief = learner.fit(answered(POINTS, 5), np.random.default_rng(0))
    with pytest.raises(DataError, match="3 columns of features, and the known ones 2"):
        learner.transform(np.zeros((2, 3)), belief)
    with pytest.raises(DataError, match="items have none"):
        Posterior(12, **QUICK).transform(POINTS, belief)
    with pytest.raises(InfonnError, match='Scaling of features "rows" is unknown'):
        Posterior(12, POINTS, scaling="rows")


def test_embedders_of_version_0_1_still_load() -> None:
    assert made_of(12, POINTS, embedder="free").features is None
    for embedder in ("linear", "hybrid", None):
        assert made_of(12, POINTS, embedder=embedder) == Posterior(12, POINTS)
    with pytest.raises(InfonnError, match='Embedder "hybird" is unknown.*Did you mean "hybrid"'):
        made_of(12, POINTS, embedder="hybird")
    with pytest.raises(DataError, match="needs features"):
        made_of(12, embedder="linear")


def test_labels_and_missing_features_are_refused() -> None:
    with pytest.raises(DataError, match="class labels"):
        Posterior(4).fit(Answers(np.array([[0, 1, 2]]), np.array([0]), "label"), np.random.default_rng(0))
    with pytest.raises(DataError, match="3 rows of features for 4 items"):
        Posterior(4, features=np.zeros((3, 2)))


FIT = """
import hashlib, numpy as np
from infonn.learners.posterior.learner import Posterior
from infonn.queries import Answers, draw_queries
rng = np.random.default_rng(0)
answers = Answers(draw_queries(60, 20, 3, rng), rng.integers(0, 3, 60).astype(np.int32))
belief = Posterior(20, rng.normal(size=(20, 5)), n_chains=8).fit(answers, np.random.default_rng(1))
print(hashlib.md5(np.ascontiguousarray(belief.state["parameters"]).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_kernels_just_compiled_and_out_of_the_cache_give_the_same_chains(tmp_path) -> None:
    def fitted() -> str:
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        return subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True, env=env).stdout

    assert fitted() == fitted()


def test_chains_with_features_start_again_where_hardly_any_foresaw_the_answers() -> None:
    rng = np.random.default_rng(4)
    points = rng.normal(size=(15, 3))
    learner, answers = Posterior(15, points + 0.3 * rng.normal(size=points.shape), n_chains=16), answered(points, 90)
    start = learner.fit(answers.take(slice(0, 20)), np.random.default_rng(0))
    again, afresh = (learner.fit(answers, np.random.default_rng(1), given) for given in (start, None))
    np.testing.assert_array_equal(again.state["parameters"], afresh.state["parameters"])
    one_more = learner.fit(answers.take(slice(0, 21)), np.random.default_rng(1), start)
    cold = learner.fit(answers.take(slice(0, 21)), np.random.default_rng(1))
    assert not np.array_equal(one_more.state["parameters"], cold.state["parameters"])
