"""Rules for labels, each beside a plain version of itself; and what every batch must be."""

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.errors import NeedsDrawsError
from infonn.maths.information import mutual_information
from infonn.maths.joint import conditional_information, empty_joint, extended
from infonn.maths.responses import ResponseSettings
from infonn.queries import Answers, no_answers
from infonn.selection import class_batches
from infonn.selection import class_strategies as strategies
from infonn.selection.class_batches import (
    Clustered,
    badge_seeds,
    best_of_groups,
    k_means,
    majority,
    pseudo_label_picks,
    typical_items,
)
from infonn.selection.class_predictions import ClassDistanceNoise, PlaceDraws, fitted_response
from infonn.tasks.labels import LabelTask

N_ITEMS, N_CLASSES = 120, 4


@pytest.fixture
def situation(rng) -> Situation:
    truth = np.arange(N_ITEMS) % N_CLASSES
    centres = rng.normal(0, 4, (N_CLASSES, 5))
    embedding = (centres[truth] + rng.normal(0, 1, (N_ITEMS, 5))).astype(np.float32)
    logits = -((embedding[:, None] - centres) ** 2).sum(-1) / 8 + rng.normal(0, 1, (25, N_ITEMS, N_CLASSES))
    log_probs = (logits - np.log(np.exp(logits).sum(-1, keepdims=True))).astype(np.float32)
    labelled = rng.permutation(N_ITEMS)[:16]
    queries = np.full((16, 4), -1, np.int32)
    queries[:, 0] = labelled
    answers = Answers(queries, truth[labelled].astype(np.int32), "label")
    belief = Belief(embedding, embedding + rng.normal(0, 0.5, (25, N_ITEMS, 5)), log_probs)
    task = LabelTask(N_ITEMS, [f"c{i}" for i in range(N_CLASSES)])
    pool = task.completed(task.propose(belief, answers, rng), belief, answers)
    return Situation(pool, belief, answers)


ALL = [
    *("info_nn", "entropy", "margin", "bald", "batch_bald", "power_bald", "k_center", "badge", "typicality"),
    *("epig", "parbals", "info_nn_draws", "margin_spread", "typical_margin"),
]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [1, 7, 500])
def test_batches_are_distinct_rows_of_the_pool_and_repeat_with_the_seed(situation, name, size):
    strategy = getattr(strategies, name)()
    rows = strategy.select(situation, size, np.random.default_rng(1))
    assert len(rows) == len(set(rows.tolist())) == min(size, len(situation.pool))
    assert rows.min() >= 0
    assert rows.max() < len(situation.pool)
    assert rows.tolist() == strategy.select(situation, size, np.random.default_rng(1)).tolist()


@pytest.mark.parametrize(
    "name", ["entropy", "margin", "bald", "batch_bald", "power_bald", "badge", "epig", "margin_spread"]
)
def test_rules_on_class_probabilities_say_so_when_there_are_none(situation, name, rng):
    bare = Situation(situation.pool, Belief(situation.belief.embedding), situation.answers)
    with pytest.raises(NeedsDrawsError, match="class probabilities"):
        getattr(strategies, name)().select(bare, 3, rng)


@pytest.mark.parametrize("name", ["info_nn", "k_center", "typicality"])
def test_rules_on_distances_work_before_the_first_label(situation, name, rng):
    answers = no_answers(3, "label")
    pool = LabelTask(N_ITEMS, ["a", "b", "c"]).propose(situation.belief, answers, rng)
    rows = getattr(strategies, name)().select(Situation(pool, situation.belief, answers), 6, rng)
    assert len(set(rows.tolist())) == 6


# --- scores ------------------------------------------------------------------------------------------


def test_entropy_and_margin_are_those_of_the_mean_prediction(situation, rng):
    probs = np.exp(situation.belief.class_log_probs[:, situation.pool[:, 0]].astype(float)).mean(axis=0)
    plain_entropy = [-sum(p * np.log(p) for p in row) for row in probs]
    plain_margin = [sorted(row)[-2] - sorted(row)[-1] for row in probs]
    _, entropies = strategies.entropy().select_with_scores(situation, 3, rng)
    _, margins = strategies.margin().select_with_scores(situation, 3, rng)
    np.testing.assert_allclose(entropies, plain_entropy, atol=1e-5)
    np.testing.assert_allclose(margins, plain_margin, atol=1e-5)


def test_a_point_prediction_is_used_where_the_learner_has_one(situation, rng):
    class Draws:
        def __call__(self, rows):
            raise AssertionError("entropy needs no draws")

        def point(self, rows):
            return np.log(np.full((len(rows), 2), 0.5))

    belief = Belief(situation.belief.embedding, class_log_probs=Draws())
    _, scores = strategies.entropy().select_with_scores(Situation(situation.pool, belief, situation.answers), 2, rng)
    np.testing.assert_allclose(scores, np.log(2))


def test_bald_is_the_information_between_class_and_draw(situation, rng):
    _, scores = strategies.bald().select_with_scores(situation, 3, rng)
    for row in range(0, len(situation.pool), 17):
        draws = np.exp(situation.belief.class_log_probs[:, situation.pool[row, 0]].astype(float))
        mean = draws.mean(axis=0)
        plain = -(mean * np.log(mean)).sum() + (draws * np.log(draws)).sum(axis=1).mean()
        assert scores[row] == pytest.approx(plain, abs=1e-5)


def test_mu_is_the_largest_and_sigma_the_deviation_of_unlabelled_to_labelled_distances(situation, rng):
    prediction = ClassDistanceNoise()(situation, rng)
    embedding = situation.belief.embedding.astype(float)
    labelled = situation.answers.queries[:, 0]
    distances = [np.linalg.norm(embedding[i] - embedding[j]) for i in situation.pool[:, 0] for j in labelled]
    assert prediction.response.mu == pytest.approx(max(distances), rel=1e-5)
    assert prediction.sigma == pytest.approx(np.std(distances, ddof=1), rel=1e-4)


def test_info_nn_scores_are_the_same_fused_and_plain_and_for_any_order_of_candidates(situation, rng):
    prediction = ClassDistanceNoise(n_draws=64)(situation, rng)
    fused = prediction.information(situation.pool)
    np.testing.assert_allclose(fused, mutual_information(prediction(situation.pool)), atol=2e-6)
    turned = situation.pool[:, [0, 3, 1, 2]]
    np.testing.assert_allclose(prediction.information(turned), fused, atol=1e-7)
    np.testing.assert_allclose(prediction(turned), prediction(situation.pool)[:, :, [2, 0, 1]], atol=1e-6)
    assert (fused >= 0).all()
    assert (fused <= np.log(3)).all()


def test_other_response_settings_take_the_plain_way(situation, rng):
    learned = ResponseSettings(2.0, sharpness=2.0, lapse=0.1)
    belief = Belief(situation.belief.embedding, response=learned)
    prediction = ClassDistanceNoise(n_draws=32)(Situation(situation.pool, belief, situation.answers), rng)
    assert prediction.response == learned
    np.testing.assert_allclose(
        prediction.information(situation.pool), mutual_information(prediction(situation.pool)), atol=1e-9
    )
    assert ClassDistanceNoise(mu=3.0)(Situation(situation.pool, belief, situation.answers), rng).response.mu == 3.0


def test_all_pairs_are_for_few_items(situation, rng):
    published = ClassDistanceNoise(pairs="all")(situation, rng)
    embedding = situation.belief.embedding.astype(float)
    distances = [np.linalg.norm(embedding[i] - embedding[j]) for i in range(N_ITEMS) for j in range(i)]
    assert published.response.mu == pytest.approx(max(distances), rel=1e-5)
    assert published.sigma == pytest.approx(np.std(distances, ddof=1), rel=1e-4)


def test_nearest_pairs_are_those_that_queries_compare(situation, rng):
    prediction = ClassDistanceNoise(pairs="nearest")(situation, rng)
    embedding = situation.belief.embedding.astype(float)
    distances = np.array([[np.linalg.norm(embedding[q[0]] - embedding[c]) for c in q[1:]] for q in situation.pool])
    assert prediction.sigma == pytest.approx(distances.std(ddof=1), rel=1e-4)
    assert prediction.response.mu == pytest.approx(np.median(distances.min(axis=1)) ** 2, rel=1e-4)


# --- batches -----------------------------------------------------------------------------------------


def plain_farthest_first(embedding, items, labelled, size):
    centres, chosen = list(labelled), []
    for _ in range(size):
        distances = [
            -1.0 if i in chosen else min(np.linalg.norm(embedding[i] - embedding[c]) for c in centres) for i in items
        ]
        chosen.append(items[int(np.argmax(distances))])
        centres.append(chosen[-1])
    return chosen


def test_k_center_is_the_plain_greedy(situation, rng):
    rows = strategies.k_center().select(situation, 12, rng)
    items, labelled = situation.pool[:, 0].tolist(), situation.answers.queries[:, 0].tolist()
    assert situation.pool[rows, 0].tolist() == plain_farthest_first(
        situation.belief.embedding.astype(float), items, labelled, 12
    )


def test_batch_bald_is_the_plain_greedy(situation):
    rows = strategies.batch_bald(max_configurations=10**6).select(situation, 4, np.random.default_rng(0))
    log_probs = situation.belief.class_log_probs[:, situation.pool[:, 0]]
    joint, plain = empty_joint(len(log_probs)), []
    for _ in range(4):
        terms = conditional_information(joint, log_probs)
        terms[plain] = -np.inf
        plain.append(int(np.argmax(terms)))
        joint = extended(joint, log_probs[:, plain[-1]], np.random.default_rng(0), 10**6)
    assert rows.tolist() == plain


def test_power_bald_prefers_high_scores_but_not_always(situation):
    _, scores = strategies.bald().select_with_scores(situation, 1, np.random.default_rng(0))
    picks = [strategies.power_bald().select(situation, 5, np.random.default_rng(seed)) for seed in range(20)]
    assert np.mean([scores[rows].mean() for rows in picks]) > scores.mean() + scores.std() / 2
    assert len({tuple(sorted(rows.tolist())) for rows in picks}) > 5


def test_groups_share_the_batch_and_the_rest_goes_to_the_best_scores(rng):
    groups = np.array([0] * 10 + [1] * 10 + [2] * 10)
    scores = np.concatenate([np.arange(10) + 100, np.arange(10) + 50, np.arange(10)]).astype(float)
    rows = best_of_groups(scores, groups, 8, rng)  # 2 each, 2 left: one more of groups 0 and 1
    assert sorted(rows.tolist()) == [7, 8, 9, 17, 18, 19, 28, 29]
    assert best_of_groups(scores, groups, 2, rng).tolist() == [9, 19]  # fewer than groups: best of the best groups
    small = np.array([0] * 29 + [1])
    assert 29 in best_of_groups(scores, small, 10, rng)  # a group of one gives one, the other the rest


def test_clusters_come_from_k_means_until_every_class_has_enough_labels(situation, rng):
    few = Clustered(N_CLASSES, switch=10).groups(situation, np.random.default_rng(3))
    means = k_means(situation.belief.embedding, situation.pool[:, 0], N_CLASSES, np.random.default_rng(3))
    assert few.tolist() == means.tolist()
    enough = Clustered(N_CLASSES, switch=1).groups(situation, rng)
    embedding = situation.belief.embedding.astype(float)
    labelled, classes = situation.answers.queries[:, 0], situation.answers.responses
    for row in range(0, len(situation.pool), 13):
        distances = np.linalg.norm(embedding[labelled] - embedding[situation.pool[row, 0]], axis=1)
        votes = np.bincount(classes[np.argsort(distances)[:5]])
        assert votes[enough[row]] == votes.max()


def test_majority_breaks_ties_by_the_nearest():
    assert majority(np.array([[2, 1, 1, 0, 2], [3, 3, 0, 0, 0], [4, 3, 2, 1, 0]])).tolist() == [2, 0, 4]


def test_badge_distances_are_those_of_the_whole_gradients(rng):
    probs = rng.dirichlet(np.ones(3), 40).astype(np.float32)
    hidden = rng.normal(size=(40, 4)).astype(np.float32)
    gradients = (probs - np.eye(3)[probs.argmax(axis=1)])[:, :, None] * hidden[:, None, :]
    gradients = gradients.reshape(40, -1).astype(float)
    chosen = [int(np.argmax((gradients**2).sum(axis=1)))]
    plain_rng = np.random.default_rng(4)
    for _ in range(7):
        squared = np.array([min(((g - gradients[c]) ** 2).sum() for c in chosen) for g in gradients])
        squared[chosen] = 0
        chosen.append(int(np.searchsorted(np.cumsum(squared), plain_rng.random() * squared.sum(), side="right")))
    assert badge_seeds(probs, hidden, 8, np.random.default_rng(4)).tolist() == chosen


def test_badge_fills_the_batch_when_items_repeat(rng):
    probs, hidden = np.full((6, 2), 0.5, np.float32), np.ones((6, 3), np.float32)
    assert sorted(badge_seeds(probs, hidden, 6, rng).tolist()) == list(range(6))


def test_typical_items_are_dense_ones_of_clusters_without_a_label(rng):
    centres = np.array([[0, 0], [20, 0], [0, 20]])
    embedding = np.concatenate([centre + rng.normal(0, 1, (30, 2)) for centre in centres])
    labelled = np.array([0, 1, 2])  # all in the first cluster
    items = np.arange(3, 90)
    chosen = items[typical_items(embedding, items, labelled[:1], 2, rng)]
    assert {int(i) // 30 for i in chosen} == {1, 2}
    for item in chosen:
        cluster = np.arange(30) + 30 * (int(item) // 30)
        spread = [np.sort(np.linalg.norm(embedding[cluster] - embedding[i], axis=1))[:21].mean() for i in cluster]
        assert spread[int(item) % 30] == pytest.approx(min(spread), rel=0.02)


# --- what labels tell of other labels ------------------------------------------------------------------


def listed_epig(probs, targets, weights):
    """Mutual information with each target's label by listing all pairs of labels."""
    found = np.zeros(probs.shape[1])
    for i in range(probs.shape[1]):
        for j in range(targets.shape[1]):
            joint = np.einsum("s,sa,sb->ab", weights, probs[:, i], targets[:, j])
            apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
            found[i] += (joint * np.log(joint / apart)).sum() / targets.shape[1]
    return found


def test_epig_is_the_information_about_the_labels_of_the_pool(situation):
    _, scores = strategies.epig(n_targets=1000).select_with_scores(situation, 3, np.random.default_rng(0))
    probs = np.exp(situation.belief.class_log_probs[:, situation.pool[:, 0]].astype(float))
    np.testing.assert_allclose(scores, listed_epig(probs, probs, np.full(25, 1 / 25)), atol=1e-5)


def test_epig_looks_at_few_of_a_large_pool(situation):
    rows, scores = strategies.epig(candidates=10).select_with_scores(situation, 10, np.random.default_rng(0))
    assert np.isfinite(scores).sum() == 10
    assert np.isfinite(scores[rows]).all()
    with pytest.raises(ValueError, match="both are at least 1"):
        strategies.epig(candidates=0)


def test_pseudo_labels_are_drawn_and_draws_count_by_how_they_foresaw_them(rng):
    probs = rng.dirichlet(np.ones(3), (20, 12)).astype(np.float32)
    targets = rng.dirichlet(np.ones(3), (20, 5)).astype(np.float32)
    picks = pseudo_label_picks(probs, targets, 4, 2, np.random.default_rng(5))
    again, plain = np.random.default_rng(5), [0]
    weights = [np.full(20, 1 / 20), np.full(20, 1 / 20)]
    for _ in range(3):
        uniform = again.random((2, 1))[:, 0]
        gains = np.zeros(12)
        for world in range(2):
            likely = probs[:, plain[-1]].astype(float)
            chances = np.cumsum(weights[world] @ likely)
            label = int((uniform[world] * chances[-1] > chances).sum())
            weights[world] = weights[world] * likely[:, label]
            weights[world] /= weights[world].sum()
            gains += listed_epig(probs.astype(float), targets.astype(float), weights[world]) / 2
        gains[plain] = -1
        plain.append(int(np.argmax(gains)))
    assert picks.tolist() == plain


def test_pseudo_labels_avoid_copies_that_epig_would_take(rng):
    base = rng.dirichlet(np.full(2, 0.3), (60, 1)).astype(np.float32)
    other = rng.dirichlet(np.full(2, 0.6), (60, 1)).astype(np.float32)
    probs = np.concatenate([base, base, base, other], axis=1)  # three copies, and something else
    assert pseudo_label_picks(probs, probs[:, [0, 3]], 2, 20, rng).tolist() == [0, 3]


# --- drawn places --------------------------------------------------------------------------------------


def test_info_nn_on_draws_is_the_information_under_drawn_distances(situation, rng):
    _, scores = strategies.info_nn_draws().select_with_scores(situation, 3, rng)
    prediction = PlaceDraws()(situation, rng)
    draws = situation.belief.draws
    for row in range(0, len(situation.pool), 19):
        item, *candidates = situation.pool[row]
        probs = []
        for drawn in draws:
            weights = [
                (((drawn[item] - drawn[c]) ** 2).sum() + prediction.response.mu) ** -prediction.response.sharpness
                for c in candidates
            ]
            probs.append(np.array(weights) / sum(weights))
        mean = np.mean(probs, axis=0)
        plain = -(mean * np.log(mean)).sum() + np.mean([(p * np.log(p)).sum() for p in probs])
        assert scores[row] == pytest.approx(plain, abs=1e-5)


def test_info_nn_on_draws_needs_draws(situation, rng):
    bare = Situation(situation.pool, Belief(situation.belief.embedding), situation.answers)
    with pytest.raises(NeedsDrawsError, match="bayes_logistic"):
        strategies.info_nn_draws().select(bare, 3, rng)


def test_the_response_is_the_one_that_foresees_the_labels_best(rng):
    classes = np.repeat([0, 1, 2], 10)
    clear = 20.0 * np.eye(3)[classes] + rng.normal(0, 1, (30, 3))
    mixed = rng.normal(0, 1, (30, 3))
    assert fitted_response(clear, classes).sharpness > fitted_response(mixed, classes).sharpness
    alone = fitted_response(mixed[:3], np.array([0, 1, 2]))  # no class has a second item
    assert alone.mu > 0
    assert fitted_response(mixed[:1], np.array([0])).mu > 0


# --- spread, and what comes first ----------------------------------------------------------------------


def test_a_spread_batch_has_no_two_copies(rng):
    places = rng.normal(0, 10, (5, 3))
    embedding = np.repeat(places, 8, axis=0)  # eight copies of each
    logits = np.repeat(np.arange(5) / 10, 8)
    log_probs = np.log(np.stack([0.5 + logits / 10, 0.5 - logits / 10], axis=1))[None]
    queries = np.full((40, 3), -1, np.int32)
    queries[:, 0] = np.arange(40)
    copies = Situation(queries, Belief(embedding, class_log_probs=log_probs), no_answers(2, "label"))
    assert {int(row) // 8 for row in strategies.margin().select(copies, 5, rng)} == {0}
    assert {int(row) // 8 for row in strategies.margin_spread().select(copies, 5, rng)} == {0, 1, 2, 3, 4}


def test_the_default_starts_with_typical_items_and_goes_on_with_margin(situation):
    enough = strategies.typical_margin(n_classes=2).select(situation, 3, np.random.default_rng(0))  # 16 labels: too few
    typical = strategies.typicality().select(situation, 3, np.random.default_rng(0))
    assert enough.tolist() == typical.tolist()
    labelled = np.arange(40)
    queries = np.full((40, 4), -1, np.int32)
    queries[:, 0] = labelled
    more = Situation(
        situation.pool[situation.pool[:, 0] >= 40],
        situation.belief,
        Answers(queries, (labelled % N_CLASSES).astype(np.int32), "label"),
    )
    rows = strategies.typical_margin(N_CLASSES).select(more, 3, np.random.default_rng(0))
    assert rows.tolist() == strategies.margin_spread().select(more, 3, np.random.default_rng(0)).tolist()
    many_classes = strategies.typical_margin(n_classes=11, per_class=4).select(more, 3, np.random.default_rng(0))
    assert many_classes.tolist() == strategies.typicality().select(more, 3, np.random.default_rng(0)).tolist()


# --- pools of any size ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_chosen_where_nothing_is_wanted(situation, name, rng):
    assert len(getattr(strategies, name)().select(situation, 0, rng)) == 0


@pytest.mark.parametrize("name", ["info_nn", "info_nn_draws"])
def test_a_pool_without_candidates_gets_them_when_they_are_needed(situation, name):
    bare = situation.pool.copy()
    bare[:, 1:] = -1
    without = Situation(bare, situation.belief, situation.answers)
    strategy = getattr(strategies, name)()
    rows, scores = strategy.select_with_scores(situation, 5, np.random.default_rng(0))
    same, again = strategy.select_with_scores(without, 5, np.random.default_rng(0))
    np.testing.assert_allclose(again, scores, atol=1e-6)
    assert same.tolist() == rows.tolist()


def test_typical_items_of_a_large_pool_are_sought_in_a_sample(rng, monkeypatch):
    monkeypatch.setattr(class_batches, "TYPICAL_ITEMS", 50)
    embedding = np.concatenate([centre + rng.normal(0, 1, (300, 2)) for centre in ([0, 0], [50, 0], [0, 50])])
    chosen = typical_items(embedding, np.arange(900), np.empty(0, np.int64), 3, rng)
    assert {int(i) // 300 for i in chosen} == {0, 1, 2}
    many = typical_items(embedding, np.arange(900), np.empty(0, np.int64), 60, rng)
    assert len(set(many.tolist())) == 60
