"""Posterior learners: they learn, go on warm, restart when they must, and stay stable as answers grow."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.learners.posterior import learner as posterior
from infonn.learners.posterior.chains import left_out
from infonn.learners.posterior.learner import LinearDraws, Posterior, mean_embedding, mean_map, standardised
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


def test_a_linear_metric_is_learned_from_few_answers_and_embeds_new_items() -> None:
    rng = np.random.default_rng(1)
    features, map_ = rng.standard_normal((60, 4)), rng.standard_normal((4, 4))
    known, new = features[:50], features[50:]
    learner = Posterior(50, features=known, embedder="linear", **QUICK)
    belief = learner.fit(answered(known @ map_, 120), np.random.default_rng(0))
    assert accuracy(belief.embedding, known @ map_) > 0.9
    np.testing.assert_allclose(learner.embed(belief, known), belief.embedding, atol=1e-8)
    assert accuracy(learner.embed(belief, new), new @ map_) > 0.85


def test_a_hybrid_goes_beyond_poor_features_and_embeds_new_items() -> None:
    rng = np.random.default_rng(2)
    hidden = rng.standard_normal((15, 2))
    features = hidden[:, :1] + 0.1 * rng.standard_normal((15, 1))  # knows one of two dimensions
    answers = answered(hidden, 160)
    hybrid = Posterior(15, features=features, dims=2, embedder="hybrid", **QUICK)
    linear = Posterior(15, features=features, dims=2, embedder="linear", **QUICK)
    belief = hybrid.fit(answers, np.random.default_rng(0))
    by_features = linear.fit(answers, np.random.default_rng(0))
    assert accuracy(belief.embedding, hidden) > accuracy(by_features.embedding, hidden) + 0.08
    placed = hybrid.embed(belief, np.array([[-2.0], [0.0], [2.0]]))
    assert placed.shape == (3, belief.embedding.shape[1])
    far = pairwise_distances(placed)
    assert far[0, 2] > max(far[0, 1], far[1, 2])


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
    assert abs(learner.foreseen(warm, mended) - learner.foreseen(cold, mended)) < 6
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


def test_without_answers_features_alone_place_the_items() -> None:
    features = np.random.default_rng(5).normal(size=(12, 3))
    learner = Posterior(12, features=features, n_chains=4)
    before = learner.fit(no_answers(3), np.random.default_rng(6))
    assert before.embedding.shape == (12, 3)
    queries = draw_queries(5, 12, 3, np.random.default_rng(7))
    answers = Answers(queries, np.zeros(5, np.int32))
    assert learner.fit(answers, np.random.default_rng(8), before).embedding.shape == (12, 3)


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


def test_a_mean_map_has_the_mean_squared_distances_of_its_draws() -> None:
    rng = np.random.default_rng(0)
    features, weights = standardised(rng.standard_normal((20, 4))), rng.standard_normal((6, 4, 3))
    draws = features @ weights
    sizes = np.sqrt((draws**2).sum(axis=(1, 2)) / 20)
    expected = np.mean([pairwise_distances(d / s * sizes.mean()) ** 2 for d, s in zip(draws, sizes)], axis=0)
    np.testing.assert_allclose(pairwise_distances(features @ mean_map(weights, features)) ** 2, expected, atol=1e-9)


def test_many_items_are_placed_by_their_distances_to_some(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((60, 2))
    turns = np.linalg.qr(rng.standard_normal((5, 2, 2)))[0]
    draws = points @ turns  # the same distances, each draw turned
    monkeypatch.setattr(posterior, "LANDMARKS", 20)
    placed = posterior.spread_embedding(draws)
    np.testing.assert_allclose(pairwise_distances(placed), pairwise_distances(points), atol=1e-6)


def test_draws_of_very_many_items_are_made_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.random.default_rng(0).standard_normal((40, 3))
    learner = Posterior(40, features=features, embedder="linear", **QUICK)
    answers = answered(features, 30)
    held = learner.fit(answers, np.random.default_rng(0))
    monkeypatch.setattr(posterior, "MANY_NUMBERS", 100)
    made = learner.fit(answers, np.random.default_rng(0))
    assert isinstance(made.draws, LinearDraws)
    rows = np.array([3, 11])
    np.testing.assert_allclose(made.draws_of(rows), held.draws_of(rows))


def test_leaving_an_answer_out_by_weights_is_leaving_it_out() -> None:
    rng = np.random.default_rng(0)
    likelihood = rng.uniform(0.2, 0.9, (50, 8))  # 50 places a chain may be in, 8 answers
    exact = 0.0
    for answer in range(8):
        others = np.delete(likelihood, answer, axis=1).prod(axis=1)
        exact += np.log((others * likelihood[:, answer]).sum() / others.sum())
    chances = likelihood.prod(axis=1)
    chains = rng.choice(50, 200_000, p=chances / chances.sum())
    found = left_out(np.log(likelihood[chains]))
    assert found == pytest.approx(exact, abs=0.02)
    assert found < np.log(likelihood[chains].mean(axis=0)).sum() - 0.1  # than to chains that have seen it


def test_answers_are_foreseen_better_by_the_right_features() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((25, 3))
    answers = answered(features, 100)
    nats = []
    for known in (features, rng.permuted(features, axis=0)):
        learner = Posterior(25, features=known, **QUICK)
        nats.append(learner.foreseen(learner.fit(answers, np.random.default_rng(0)), answers))
    right, wrong = nats
    assert -np.log(3) < right / len(answers) < 0
    assert right > wrong + 10


def test_labels_and_missing_features_are_refused() -> None:
    with pytest.raises(DataError, match="class labels"):
        Posterior(4).fit(Answers(np.array([[0, 1, 2]]), np.array([0]), "label"), np.random.default_rng(0))
    with pytest.raises(DataError, match="needs features"):
        Posterior(4, embedder="hybrid")
    with pytest.raises(DataError, match="3 rows of features for 4 items"):
        Posterior(4, features=np.zeros((3, 2)))
