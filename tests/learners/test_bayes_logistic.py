"""Bayesian logistic regression as a learner: it predicts, its draws are one belief, and features are never copied."""

import numpy as np
import pytest

from infonn.learners.classifiers import rows as module
from infonn.learners.classifiers.bayes_logistic import BayesLogistic
from infonn.learners.classifiers.rows import column_spread, rows_of
from infonn.queries import Answers, no_answers


def label_answers(items, classes):
    queries = np.full((len(items), 4), -1, np.int32)
    queries[:, 0] = items
    return Answers(queries, np.asarray(classes, np.int32), "label")


@pytest.fixture
def blobs(rng):
    truth = np.arange(300) % 3
    return (rng.normal(0, 2, (3, 6))[truth] + rng.normal(0, 1, (300, 6))).astype(np.float32), truth


def test_it_learns_and_its_draws_are_shared_by_all_items(blobs):
    features, truth = blobs
    learner = BayesLogistic(features, 3, n_draws=40)
    belief = learner.fit(label_answers(np.arange(30), truth[:30]), np.random.default_rng(0))
    rows = np.arange(30, 300)
    draws = belief.log_probs_of(rows)
    assert draws.shape == (40, 270, 3)
    np.testing.assert_allclose(np.exp(draws).sum(axis=-1), 1, atol=1e-4)
    assert (learner.predict_log_probs(belief, rows).argmax(axis=1) == truth[rows]).mean() > 0.9
    np.testing.assert_allclose(belief.log_probs_of(rows[5:9]), draws[:, 5:9], atol=1e-4)
    again = learner.fit(label_answers(np.arange(30), truth[:30]), np.random.default_rng(0))
    np.testing.assert_array_equal(again.log_probs_of(rows), draws)


def test_places_are_logits_less_their_mean(blobs):
    features, truth = blobs
    belief = BayesLogistic(features, 3, n_draws=5).fit(label_answers(np.arange(9), truth[:9]), np.random.default_rng(0))
    places = belief.draws_of(np.arange(20))
    np.testing.assert_allclose(places.sum(axis=-1), 0, atol=1e-3)
    logs = places - np.log(np.exp(places).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(logs, belief.log_probs_of(np.arange(20)), atol=1e-3)


def test_more_labels_leave_less_doubt(blobs):
    features, truth = blobs
    learner, rows = BayesLogistic(features, 3, scales=(4.0,)), np.arange(200, 300)
    few, many = (
        learner.fit(label_answers(np.arange(n), truth[:n]), np.random.default_rng(0)).draws_of(rows).std(axis=0).mean()
        for n in (6, 150)
    )
    assert many < few / 1.5


def test_no_label_and_one_class_are_no_obstacle(blobs):
    features, _ = blobs
    learner = BayesLogistic(features, 3)
    nothing = learner.fit(no_answers(3, "label"), np.random.default_rng(0))
    np.testing.assert_allclose(nothing.class_log_probs.point(np.arange(4)), np.log(1 / 3), atol=1e-6)
    assert np.isfinite(nothing.log_probs_of(np.arange(4))).all()
    one = learner.fit(label_answers([3, 4], [1, 1]), np.random.default_rng(0))
    assert (one.class_log_probs.point(np.array([3, 4])).argmax(axis=1) == 1).all()


@pytest.mark.parametrize("scale", [True, False])
def test_large_features_are_scaled_as_they_are_read(blobs, scale, monkeypatch, tmp_path):
    features, truth = blobs
    features = features * np.array([1, 10, 100, 1, 1, 0], np.float32) + 7  # the last one is constant
    answers = label_answers(np.arange(30), truth[:30])
    copied = BayesLogistic(features, 3, scale=scale).fit(answers, np.random.default_rng(0))
    np.save(tmp_path / "f.npy", features)
    monkeypatch.setattr(module, "COPIED", 0)
    mapped = np.load(tmp_path / "f.npy", mmap_mode="r")
    read = BayesLogistic(mapped, 3, scale=scale).fit(answers, np.random.default_rng(0))
    assert read.embedding is mapped
    rows = np.arange(300)
    np.testing.assert_allclose(read.class_log_probs.point(rows), copied.class_log_probs.point(rows), atol=1e-2)


def test_inputs_have_a_squared_length_of_two_on_average(blobs):
    features, _ = blobs
    for scale in (True, False):
        inputs = rows_of(features, scale).inputs(np.arange(300))
        assert (inputs**2).sum(axis=1).mean() == pytest.approx(2, rel=1e-3)


def test_mean_and_deviation_of_columns_are_plain_ones(rng, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 7)
    features = rng.normal(3, 2, (50, 4))
    mean, deviation = column_spread(features)
    np.testing.assert_allclose(mean, features.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(deviation, features.std(axis=0), rtol=1e-5)
