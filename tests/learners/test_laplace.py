"""The Laplace update against autograd, against the sum of all answers' information, and against training."""

import numpy as np
import pytest
import torch

from infonn.errors import DataError
from infonn.learners.networks.laplace import COVARIANCE, SEEN, WEIGHTS, Laplace, fisher_rows, updated
from infonn.learners.networks.losses import Likelihood
from infonn.learners.networks.network import Network
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries

RESPONSE = ResponseSettings(0.5, 2.0, 0.2)


def setting(n_units: int = 4, n_dims: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((8, n_units)), rng.standard_normal((n_units, n_dims)), draw_queries(6, 8, 3, rng)


def log_probs(weights, hidden, query):
    apart = torch.tensor(hidden[query[:1]] - hidden[query[1:]])
    return nearest_log_probs(((apart @ weights) ** 2).sum(-1), RESPONSE)


def test_fisher_information_is_that_of_autograd() -> None:
    hidden, weights, queries = setting()
    for query, rows in zip(queries, fisher_rows(hidden, weights, queries, RESPONSE)):
        leaf = torch.tensor(weights, requires_grad=True)
        logs = log_probs(leaf, hidden, query)
        slopes = np.stack([torch.autograd.grad(log, leaf, retain_graph=True)[0].numpy().ravel() for log in logs])
        exact = (np.exp(logs.detach().numpy())[:, None, None] * slopes[:, :, None] * slopes[:, None, :]).sum(axis=0)
        np.testing.assert_allclose(rows.T @ rows, exact, atol=1e-10)


def test_woodburys_update_is_the_inverse_of_the_sum() -> None:
    hidden, weights, queries = setting()
    covariance = np.linalg.inv(np.eye(8) * 3)
    rows = fisher_rows(hidden, weights, queries[:1], RESPONSE)[0]
    rng = np.random.default_rng(0)
    mean, after, _ = updated(hidden, weights, covariance, np.zeros((0, 8)), queries[0], 1, RESPONSE, rng)
    np.testing.assert_allclose(after, np.linalg.inv(3 * np.eye(8) + rows.T @ rows), atol=1e-12)
    leaf = torch.tensor(weights, requires_grad=True)
    log_probs(leaf, hidden, queries[0])[1].backward()
    np.testing.assert_allclose(mean, weights + (after @ leaf.grad.numpy().ravel()).reshape(4, 2), atol=1e-10)


def test_updated_draws_have_the_updated_covariance() -> None:
    # 100,000 draws: an entry's standard error is below sqrt(2 / 100,000) of the variances, 0.0015; tolerance 5 of them.
    hidden, weights, queries = setting()
    rng = np.random.default_rng(1)
    covariance = np.linalg.inv(3 * np.eye(8) + np.full((8, 8), 0.5))
    deviations = rng.standard_normal((100_000, 8)) @ np.linalg.cholesky(covariance).T
    before = covariance
    for query in queries:
        weights, covariance, deviations = updated(hidden, weights, covariance, deviations, query, 0, RESPONSE, rng)
    np.testing.assert_allclose(np.cov(deviations.T), covariance, atol=0.0075)
    assert np.abs(before - covariance).max() > 0.05  # a difference that the tolerance would not hide


def learner() -> tuple[Laplace, Answers]:
    rng = np.random.default_rng(3)
    features = rng.standard_normal((30, 5))
    queries = draw_queries(90, 30, 3, rng)
    answers = Answers(queries, DistanceOracle(features @ rng.standard_normal((5, 3))).answer(queries, rng))
    network = Network(features, (12, 6), Likelihood(ResponseSettings(1.0)), epochs=60, learning_rate=0.01)
    return Laplace(network, n_draws=32, train_after=5), answers


def test_an_answer_updates_without_training_and_the_fifth_trains() -> None:
    laplace, answers = learner()
    rng = np.random.default_rng(0)
    start = laplace.fit(answers.take(slice(0, 80)), rng)
    once = laplace.fit(answers.take(slice(0, 81)), rng, start)
    assert once.state["1.weight"] is start.state["1.weight"]  # the network stood still
    assert not np.array_equal(once.state[WEIGHTS], start.state[WEIGHTS])
    assert np.trace(once.state[COVARIANCE]) < np.trace(start.state[COVARIANCE])
    assert once.draws_of(np.arange(4)).shape == (32, 4, 6)
    trained = laplace.fit(answers.take(slice(0, 85)), rng, once)
    assert trained.state[SEEN].tolist() == [85, 85]
    assert not np.array_equal(trained.state["1.weight"], start.state["1.weight"])


def test_updates_one_by_one_give_what_updates_at_once_give() -> None:
    laplace, answers = learner()
    start = laplace.fit(answers.take(slice(0, 80)), np.random.default_rng(0))
    at_once = laplace.fit(answers.take(slice(0, 83)), np.random.default_rng(1), start)
    belief = start
    for n in (81, 82, 83):
        belief = laplace.fit(answers.take(slice(0, n)), np.random.default_rng(1), belief)
    np.testing.assert_allclose(belief.state[COVARIANCE], at_once.state[COVARIANCE], atol=1e-12)
    np.testing.assert_allclose(belief.embedding, at_once.embedding, atol=1e-12)


def test_rankings_and_ensembles_are_refused() -> None:
    laplace, answers = learner()
    with pytest.raises(DataError, match="nearest"):
        laplace.fit(Answers(answers.queries, answers.responses, "ranking"), np.random.default_rng(0))
    ensemble = Laplace(Network(np.random.default_rng(0).standard_normal((30, 5)), (4, 3), members=2, epochs=2))
    with pytest.raises(DataError, match="one network"):
        ensemble.fit(answers, np.random.default_rng(0))
