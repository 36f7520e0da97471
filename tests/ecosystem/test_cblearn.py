"""cblearn's embeddings in our loop, and our posterior among its estimators: against the real package."""

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cblearn", reason="make test-ecosystem builds the environment that has it")

import sklearn.utils.estimator_checks
from cblearn.datasets import make_random_triplets
from cblearn.embedding._base import TripletEmbeddingMixin
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from infonn import create_study
from infonn.adapters.cblearn import EmbeddingOf, PosteriorEmbedding, learner_part
from infonn.errors import InfonnError
from infonn.maths.accuracy import triplet_accuracy
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, all_queries, no_answers, split_into_triplets
from infonn.specs.registry import setting_names

POINTS = np.random.default_rng(2).standard_normal((12, 2))
QUICK: dict[str, dict[str, Any]] = {
    "CKL": {},
    "FORTE": {"device": "cpu", "max_iter": 50},
    "GNMDS": {},
    "LORE": {},
    "OENN": {"device": "cpu", "max_iter": 20},
    "SOE": {"n_init": 2},
    "STE": {},
    "TSTE": {},
}


def true_answers(n: int = 300) -> Answers:
    queries = np.random.default_rng(0).permutation(all_queries(len(POINTS), 2))[:n]
    return Answers(queries, DistanceOracle(POINTS).answer(queries, np.random.default_rng(1)))


# --- theirs in our loop ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.filterwarnings("ignore")
def test_their_embedding_learns_our_answers(name: str) -> None:
    learner = EmbeddingOf(name, len(POINTS), QUICK[name])
    answers = true_answers()
    belief = learner.fit(answers, np.random.default_rng(0))
    assert belief.embedding.shape == (12, 2)
    if name != "OENN":  # trained for a few steps only
        assert triplet_accuracy(belief.embedding, split_into_triplets(answers)) > 0.85
    again = learner.fit(answers, np.random.default_rng(0), start=belief)
    assert np.isfinite(again.embedding).all()


def test_without_answers_their_embedding_is_a_guess() -> None:
    belief = EmbeddingOf("SOE", 5, {"n_components": 3}).fit(no_answers(2), np.random.default_rng(0))
    assert belief.embedding.shape == (5, 3)


def test_a_study_learns_with_their_embedding() -> None:
    learner = {"name": "cblearn:SOE", "n_init": 8}  # few answers: one start alone may end badly
    study = create_study([f"point {i}" for i in range(12)], candidates=2, learner=learner, seed=1)
    rounds = list(study.run(DistanceOracle(POINTS), rounds=2, size=20))
    assert rounds[-1].n_answers == 60
    assert triplet_accuracy(study.belief().embedding, split_into_triplets(true_answers())) > 0.75


def test_the_part_takes_the_settings_of_the_estimator_it_names() -> None:
    part = learner_part("TSTE")
    assert {"n_items", "n_components", "max_iter"} <= set(setting_names(part))
    assert part(n_items=4, max_iter=7) == EmbeddingOf("TSTE", 4, {"max_iter": 7})


def test_a_misspelt_embedding_is_named_with_its_near_miss() -> None:
    with pytest.raises(InfonnError, match="TSTE"):
        EmbeddingOf("TSTEE", 4)


# --- ours among theirs -----------------------------------------------------------------------------
# cblearn runs scikit-learn's checks on its estimators, with the tables that the checks make turned into triplets.
SKIPPED = {  # all four fail for cblearn's own estimators too, under the versions pinned here
    "check_methods_subset_invariance": "an embedding has a row per object, not per triplet",
    "check_methods_sample_order_invariance": "an embedding has a row per object, not per triplet",
    "check_n_features_in_after_fitting": "cblearn's own predict refuses rows of one column in other words",
    "check_positive_only_tag_during_fit": "cblearn's triplets are unsigned: below zero they are huge, not negative",
}


@pytest.fixture
def checks_make_triplets(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = sklearn.utils.estimator_checks
    table_for, target_for = checks._enforce_estimator_tags_X, checks._enforce_estimator_tags_y

    def triplets_for(estimator: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        table = table_for(estimator, X, *args, **kwargs)
        if not isinstance(estimator, TripletEmbeddingMixin):
            return table
        points = np.vstack([table] * 3) if len(table) == 1 else table  # a triplet needs three objects
        return make_random_triplets(points, size=len(table), result_format="list-order")

    def ones_for(estimator: Any, y: Any) -> Any:
        target = target_for(estimator, y)
        return np.ones(len(target)) if isinstance(estimator, TripletEmbeddingMixin) else target

    monkeypatch.setattr(checks, "_enforce_estimator_tags_X", triplets_for)
    monkeypatch.setattr(checks, "_enforce_estimator_tags_y", ones_for)


def name_of(check: Any) -> str:
    return getattr(check, "func", check).__name__


@pytest.mark.filterwarnings("ignore:Expects the same X queries")
@parametrize_with_checks([PosteriorEmbedding(n_chains=4)])
@pytest.mark.usefixtures("checks_make_triplets")
def test_our_posterior_passes_the_checks_of_their_estimators(estimator: Any, check: Any) -> None:
    if name_of(check) in SKIPPED:
        pytest.skip(SKIPPED[name_of(check)])
    check(estimator)


def triplets_of_points(size: int = 400) -> Any:
    return make_random_triplets(POINTS, size=size, result_format="list-order", random_state=3)


def test_our_posterior_finds_the_points_and_keeps_its_draws() -> None:
    model = PosteriorEmbedding(random_state=0).fit(triplets_of_points())
    assert model.score(triplets_of_points(1000)) > 0.95
    assert model.belief_.draws.shape[1:] == (12, 2)


def test_responses_say_which_way_a_triplet_goes() -> None:
    rows, counts = make_random_triplets(POINTS, size=400, result_format="list-count", random_state=3)
    model = PosteriorEmbedding(random_state=0).fit(rows, counts)
    assert model.score(rows, counts) > 0.95


def test_other_triplets_than_those_fitted_are_warned_about() -> None:
    triplets = triplets_of_points(60)
    model = PosteriorEmbedding(n_chains=4, random_state=0).fit(triplets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(triplets)
        model.transform(None)
    with pytest.warns(UserWarning, match="Expects the same X queries"):
        model.transform(triplets + 1)


def test_a_pipeline_clusters_what_we_embedded() -> None:
    triplets, ours = triplets_of_points(200), PosteriorEmbedding(n_chains=8, random_state=42)
    clusters = KMeans(3, random_state=42, n_init=5)
    piped = make_pipeline(ours, clusters).fit_predict(triplets)
    np.testing.assert_array_equal(piped, clusters.fit_predict(ours.fit_transform(triplets)))
