"""Dimensions are what was asked for: in a study, in its exports, on the owner's page; odd numbers are refused."""

import numpy as np
import pytest

from infonn import create_study
from infonn.beliefs import Belief, map_of
from infonn.errors import DataError, InvalidQueryError
from infonn.learners.posterior.learner import Posterior
from infonn.live.cold_fits import fit_cold
from infonn.oracles.distances import DistanceOracle
from infonn.storage.memory import MemoryStorage

NAMES = [f"item {i}" for i in range(12)]
QUICK = {"name": "posterior", "n_chains": 8, "moves": 2}


def answered(rng, n=40, **settings):
    study = create_study(NAMES, learner=QUICK | settings, first=n, storage=MemoryStorage())
    oracle = DistanceOracle(rng.standard_normal((12, 2)))
    questions = study.ask(n)
    for question, response in zip(questions, oracle.answer(np.array([q.query for q in questions]), rng)):
        study.tell(question, int(response))
    return study


@pytest.mark.parametrize("dims", [1, 2, 5, 14])
def test_a_study_has_the_columns_that_were_asked_for(rng, dims):
    study = answered(rng, dims=dims)
    table = study.embedding()
    assert table.shape == (12, dims)
    assert np.isfinite(table.to_numpy()).all()
    fit_cold(study.storage, study, 0)
    model = study.storage.load_model(study.name)[1]
    assert model["embedding"].shape == (12, dims)
    assert model["plane"].shape == (12, 2)


def test_without_dims_there_are_as_many_as_the_answers_support(rng):
    study = answered(rng, 150)
    belief = study.belief()
    assert study.embedding().shape[1] <= belief.draws.shape[2] < belief.embedding.shape[1]


def test_distances_of_the_map_are_near_the_mean_distances(rng):
    study = answered(rng, 150, dims=2)
    points = study.embedding().to_numpy()
    whole = study.belief().embedding
    pairs = np.triu_indices(12, 1)
    ours, theirs = (np.linalg.norm(p[pairs[0]] - p[pairs[1]], axis=1) for p in (points, whole))
    assert np.corrcoef(ours, theirs)[0, 1] > 0.95


def test_an_embedding_without_draws_stays_as_it_is(rng):
    points = rng.standard_normal((6, 5))
    np.testing.assert_array_equal(map_of(Belief(points)), points)
    np.testing.assert_array_equal(map_of(Belief(points, draws=rng.standard_normal((4, 6, 5)))), points)
    assert map_of(Belief(points), 2).shape == (6, 2)


@pytest.mark.parametrize("dims", [0, -1, 2.5, "two", True, float("nan"), 10**6])
def test_odd_dimensions_are_refused_when_the_study_is_made(dims):
    with pytest.raises(DataError, match=r"\[learner\] dims is .*; it must be (a whole number )?from 1 to 200\."):
        create_study(NAMES, learner=QUICK | {"dims": dims})


@pytest.mark.parametrize("dims", [0, -1, 2.5, "two"])
def test_a_learner_of_ones_own_making_refuses_them_too(dims):
    with pytest.raises(DataError, match="it must be a whole number, at least 1"):
        Posterior(12, dims=dims)


def test_answers_that_are_all_skipped_give_a_map_and_a_next_question():
    study = create_study(NAMES, learner=QUICK, first=4)
    for question in study.ask(5):
        study.tell(question, None, outcome="skipped")
    assert len(study.embedding()) == 12
    assert len(study.ask(2)) == 2


def test_a_pool_without_queries_is_refused():
    with pytest.raises(InvalidQueryError, match="The pool has no queries"):
        create_study(NAMES, pool=np.empty((0, 4), np.int32))
