"""Learners through scikit-learn: its own checks where they apply, and its tools."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import estimator_checks

from infonn.errors import DataError, InvalidQueryError, UnknownNameError
from infonn.estimators import Embedding
from infonn.oracles.distances import DistanceOracle
from infonn.queries import draw_queries

N = 12
NETWORK = {"layers": [8, 2], "epochs": 120, "learning_rate": 0.02}


@pytest.fixture
def data(rng):
    features = rng.normal(size=(N, 3))
    queries = draw_queries(120, N, 3, rng)
    squared = ((features[queries[:, 1:], :2] - features[queries[:, :1], :2]) ** 2).sum(-1)
    return features, queries, squared.argmin(axis=1)


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_mixin_order,
        estimator_checks.check_valid_tag_types,
    ],
)
@pytest.mark.parametrize("learner", ["default", "mds", "network"])
def test_scikit_learns_own_checks_pass(check, learner):
    check("Embedding", Embedding(learner))


@pytest.mark.parametrize("learner", ["mds", "network"])
def test_an_embedding_agrees_with_what_it_learned(learner, data):
    features, queries, responses = data
    settings = NETWORK if learner == "network" else None
    model = Embedding(learner, features=features, settings=settings, random_state=0)
    assert model.fit(queries, responses) is model
    assert model.embedding_.shape == (N, 2)
    assert model.score(queries, responses) > 0.85
    assert np.mean(model.predict(queries) == responses) > 0.7
    again = clone(model).fit(queries, responses)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    np.testing.assert_array_equal(clone(model).fit_transform(queries, responses), model.embedding_)
    np.testing.assert_array_equal(model.transform(np.array([3, 1])), model.embedding_[[3, 1]])


def test_it_learns_as_a_study_does_unless_told_otherwise(data):
    _, queries, responses = data
    model = Embedding(settings={"n_chains": 8}, random_state=0).fit(queries, responses)
    assert type(model.learner_).__name__ == "Posterior"
    assert model.belief_.draws.shape[:2] == (8, N)
    assert model.score(queries, responses) > 0.9


@pytest.mark.parametrize("dims", [1, 2, 3, 20])
def test_columns_are_what_was_asked_for(data, dims):
    _, queries, responses = data
    model = Embedding(settings={"dims": dims, "n_chains": 8, "moves": 2}, random_state=0).fit(queries, responses)
    assert model.embedding_.shape == (N, dims)
    assert model.transform(np.array([2])).shape == (1, dims)
    assert model.belief_.embedding.shape[1] > 3  # what predicts


def test_without_dims_columns_are_those_that_the_answers_support(data):
    _, queries, responses = data  # of two columns of the features
    model = Embedding(settings={"n_chains": 16}, random_state=0).fit(queries, responses)
    assert model.embedding_.shape[1] in (1, 2, 3)


def test_a_network_places_new_items_and_mds_says_that_it_cannot(data):
    features, queries, responses = data
    network = Embedding("network", features=features, settings=NETWORK, random_state=0).fit(queries, responses)
    np.testing.assert_allclose(network.transform(features), network.embedding_, atol=1e-5)
    mds = Embedding("mds", random_state=0).fit(queries, responses)
    with pytest.raises(DataError, match=r'"mds" places only items.*learner="posterior" or "network"'):
        mds.transform(features)
    quick = {"n_chains": 8, "leaps": 4}
    posterior = Embedding("posterior", features=features, settings=quick, random_state=0).fit(queries, responses)
    assert posterior.transform(features[:2] + 0.1).shape == (2, posterior.embedding_.shape[1])
    with pytest.raises(DataError, match="numbered 0 to 11; 3 to 12 were given"):
        mds.transform(np.array([3, 12]))


def test_scikit_learns_tools_take_it(data):
    _, queries, responses = data
    model = Embedding("mds", n_items=N, random_state=0)
    scores = cross_val_score(model, queries, responses, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.6
    grid = GridSearchCV(model, {"settings": [{"dims": 1}, {"dims": 2}]}, cv=3).fit(queries, responses)
    assert grid.best_params_["settings"] == {"dims": 2}


def test_rankings_are_learned_and_predicted(rng):
    line = np.arange(7.0)[:, None]
    queries = draw_queries(150, 7, 3, rng)
    from infonn.queries import rank_of_orders

    squared = ((line[queries[:, 1:]] - line[queries[:, :1]]) ** 2).sum(-1) + 1e-3 * rng.random((150, 3))
    responses = rank_of_orders(np.argsort(squared, axis=1))
    model = Embedding("mds", kind="ranking", settings={"dims": 1}, random_state=1).fit(queries, responses)
    assert model.score(queries, responses) > 0.7
    assert model.predict(queries).max() < 6


def test_odd_ones_are_learned_and_predicted(rng):
    line = np.arange(7.0)[:, None] ** 1.3  # no two pairs are equally far apart
    triples = draw_queries(150, 7, 2, rng)
    responses = DistanceOracle(line, "odd_one_out").answer(triples, rng)
    settings = {"dims": 1, "n_chains": 16}
    model = Embedding("posterior", kind="odd_one_out", settings=settings, random_state=1).fit(triples, responses)
    assert (model.predict(triples) == responses).mean() > 0.9
    with pytest.raises(InvalidQueryError, match="among 3 items"):
        model.predict(draw_queries(5, 7, 3, rng))


def test_what_is_wrong_is_said(data):
    features, queries, responses = data
    with pytest.raises(NotFittedError):
        Embedding().predict(queries)
    with pytest.raises(NotFittedError):
        Embedding().transform(features)
    with pytest.raises(InvalidQueryError, match="item 4 occurs twice"):
        Embedding(n_items=9).fit([[1, 4, 4]], [0])
    with pytest.raises(InvalidQueryError, match="out of range"):
        Embedding(n_items=5).fit(queries, responses)
    with pytest.raises(UnknownNameError, match='Did you mean "network"'):
        Embedding("netwrk", features=features).fit(queries, responses)
    with pytest.raises(UnknownNameError, match='Kind of question "rank" is unknown.*Did you mean "ranking"'):
        Embedding(kind="rank").fit(queries, responses)
    with pytest.raises(
        UnknownNameError, match='Learner "logistic" is unknown. Known: mds, network, network_laplace, posterior'
    ):
        Embedding("logistic", features=features).fit(queries, responses)
    with pytest.raises(DataError, match="How many items are there"):
        Embedding().fit(np.empty((0, 4), int), [])
    for dims, right in (
        (0, "from 1 to 200"),
        (-1, "from 1 to 200"),
        (2.5, "a whole number"),
        ("two", "a whole number"),
    ):
        with pytest.raises(DataError, match=rf"dims is .*{right}"):
            Embedding(settings={"dims": dims}).fit(queries, responses)
    for n_items in (0, -3, 2.5, True):
        with pytest.raises(DataError, match=r"n_items is .*whole number, at least 1"):
            Embedding(n_items=n_items).fit(queries, responses)
    with pytest.raises(InvalidQueryError, match="rows of different lengths"):
        Embedding().fit([[0, 1, 2], [0, 1, 2, 3]], [0, 0])
    with pytest.raises(DataError, match=r"Feature 1 of item 2 is nan"):
        Embedding(features=np.where(np.arange(3 * N).reshape(N, 3) == 7, np.nan, 1.0)).fit(queries, responses)
    with pytest.raises(DataError, match=r"there are 9 items"):
        Embedding("mds", features=features[:5], n_items=9).fit([[0, 1, 2]], [0])
    with pytest.raises(DataError, match="these items have none"):
        Embedding("network").fit(queries, responses)
