"""Softmax regression against scikit-learn, against fitting over and over, and against its dense curvature."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from infonn.maths import softmax as maths


def problem(rng, n=60, dims=4, n_classes=3):
    labels = np.arange(n) % n_classes
    features = rng.normal(0, 1, (n_classes, dims))[labels] + rng.normal(0, 1, (n, dims))
    return features, labels


def curvature(features, probs, scale):
    """The whole matrix, term by term: (dims * classes, dims * classes)."""
    n_dims, n_classes = features.shape[1], probs.shape[1]
    total = np.eye(n_dims * n_classes) / scale**2
    for x, p in zip(features, probs):
        total += np.kron(np.outer(x, x), np.diag(p) - np.outer(p, p))
    return total


def test_best_weights_are_those_of_scikit_learn(rng):
    features, labels = problem(rng)
    ours = maths.best_weights(features, labels, 3, scale=2.0)
    theirs = LogisticRegression(C=4.0, fit_intercept=False, tol=1e-8, max_iter=5000).fit(features, labels)
    np.testing.assert_allclose(maths.softmax(features @ ours), theirs.predict_proba(features), atol=2e-3)


def test_left_out_labels_are_foreseen_as_by_fitting_without_them(rng):
    features, labels = problem(rng, 45)
    weights = maths.best_weights(features, labels, 3, 1.5)
    plain = []
    for i in range(len(labels)):
        others = np.arange(len(labels)) != i
        fitted = maths.best_weights(features[others], labels[others], 3, 1.5)
        plain.append(maths.log_softmax(features[i] @ fitted)[labels[i]])
    seen = maths.log_softmax(features @ weights)[np.arange(45), labels].mean()
    foreseen = maths.left_out_log_prob(features, labels, weights, 1.5) / 45
    assert foreseen == pytest.approx(np.mean(plain), abs=0.06)  # blocks between classes are left out
    assert seen > foreseen + 0.05  # it is no copy of the fit


def test_draws_have_the_mean_and_spread_of_the_dense_curvature(rng):
    features, labels = problem(rng, 30, 3)
    weights = maths.best_weights(features, labels, 3, 2.0)
    draws = maths.weight_draws(features, weights, 2.0, 4000, rng, tolerance=1e-4)
    assert draws.shape == (3, 4000, 3)
    flat = draws.transpose(1, 0, 2).reshape(4000, -1)
    exact = np.linalg.inv(curvature(features, maths.softmax(features @ weights), 2.0))
    # Standard errors: deviation / 63 of a mean, about variance / 45 of a covariance; five of them.
    assert np.abs(flat.mean(axis=0) - weights.ravel()).max() < 5 * np.sqrt(exact.diagonal().max() / 4000)
    assert np.abs(np.cov(flat.T) - exact).max() < 5 * exact.diagonal().max() / 45


def test_the_scale_follows_the_labels(rng):
    features = rng.normal(size=(200, 3))
    clear = (features[:, 0] > 0).astype(int)
    noise = rng.integers(0, 2, 200)
    scales = (0.1, 1.0, 10.0)
    assert maths.learn_scale(features, clear, 2, scales)[0] == 10.0
    assert maths.learn_scale(features, noise, 2, scales)[0] == 0.1


def test_without_labels_weights_are_those_of_the_prior(rng):
    nothing = np.empty((0, 3))
    scale, weights = maths.learn_scale(nothing, np.empty(0, int), 4, (2.0,))
    assert (weights == 0).all()
    draws = maths.weight_draws(nothing, weights, scale, 2000, rng)
    assert draws.std() == pytest.approx(2.0, rel=0.05)
