"""scikit-activeml's strategies in our loop, and ours in theirs: against the real package."""

import warnings

import numpy as np
import pytest

pytest.importorskip("skactiveml", reason="make test-ecosystem builds the environment that has it")

from skactiveml.classifier import ParzenWindowClassifier
from skactiveml.exceptions import MappingError
from sklearn.datasets import make_blobs

from infonn import create_study
from infonn.adapters.scikit_activeml import InfonnSampling, QueryStrategyOf, strategy_part
from infonn.contracts.loop import Situation
from infonn.errors import InfonnError
from infonn.learners.classifiers.sklearn_classifier import SklearnClassifier
from infonn.queries import Answers
from infonn.specs.registry import CLASS_STRATEGIES, setting_names
from infonn.tasks.labels import LabelTask

FEATURES, CLASSES = make_blobs(80, 4, centers=3, cluster_std=2.0, random_state=3)

# Everything in skactiveml.pool that picks samples for classification, but for the wrappers; what it has to be told.
THEIRS: dict[str, dict[str, object]] = {
    "Badge": {},
    "BatchBALD": {},
    "Clue": {"cluster_algo_dict": {"random_state": 0}},  # its clusters are not seeded by its random_state
    "ContrastiveAL": {},
    "CoreSet": {},
    "DiscriminativeAL": {},
    "Falcun": {},
    "GreedyBALD": {},
    "MaxHerding": {},
    "ProbCover": {"n_classes": 3},
    "QueryByCommittee": {},
    "Quire": {"classes": [0, 1, 2]},
    "RandomSampling": {},
    "TypiClust": {},
    "UncertaintySampling": {"method": "entropy"},
}
WITH_A_CLASSIFIER: dict[str, dict[str, object]] = {
    "DropQuery": {"cluster_algo_dict": {"random_state": 0}},
    "MonteCarloEER": {},
    "ProbabilisticAL": {},
}


def situation(n_labels: int = 12) -> Situation:
    labelled = np.random.default_rng(5).permutation(len(FEATURES))[:n_labels]
    queries = np.full((n_labels, 4), -1, np.int32)
    queries[:, 0] = labelled
    answers = Answers(queries, CLASSES[labelled].astype(np.int32), "label")
    belief = SklearnClassifier(FEATURES, 3).fit(answers, np.random.default_rng(0))
    pool = LabelTask(len(FEATURES), ["a", "b", "c"]).propose(belief, answers, np.random.default_rng(1))
    return Situation(pool, belief, answers)


def check_choice(strategy: QueryStrategyOf, here: Situation, size: int = 7) -> None:
    rows, scores = strategy.select_with_scores(here, size, np.random.default_rng(2))
    assert len(set(rows.tolist())) == size
    assert rows.min() >= 0
    assert rows.max() < len(here.pool)
    assert scores.shape == (len(here.pool),)
    assert not np.isnan(scores).any()
    again, _ = strategy.select_with_scores(here, size, np.random.default_rng(2))
    np.testing.assert_array_equal(rows, again)


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.filterwarnings("ignore")
def test_their_strategy_chooses_distinct_rows_of_our_pool(name: str) -> None:
    check_choice(QueryStrategyOf(name, THEIRS[name]), situation())


@pytest.mark.parametrize("name", WITH_A_CLASSIFIER)
@pytest.mark.filterwarnings("ignore")
def test_a_strategy_that_trains_its_classifier_takes_one_of_theirs(name: str) -> None:
    check_choice(QueryStrategyOf(name, WITH_A_CLASSIFIER[name], "ParzenWindowClassifier"), situation(), size=3)


@pytest.mark.filterwarnings("ignore")
def test_a_strategy_that_trains_its_classifier_says_what_it_needs() -> None:
    with pytest.raises(InfonnError, match='classifier="ParzenWindowClassifier"'):
        QueryStrategyOf("MonteCarloEER").select(situation(), 2, np.random.default_rng(0))


def test_their_entropy_of_our_belief_is_our_entropy() -> None:
    here = situation()
    _, theirs = QueryStrategyOf("UncertaintySampling", {"method": "entropy"}).select_with_scores(
        here, 1, np.random.default_rng(0)
    )
    from infonn.selection.class_strategies import entropy

    _, ours = entropy().select_with_scores(here, 1, np.random.default_rng(0))
    np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-5)


def test_a_strategy_that_names_an_item_twice_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    import skactiveml.pool

    class Stutters(skactiveml.pool.RandomSampling):  # type: ignore[misc]
        def query(self, X, y, candidates=None, batch_size=1, return_utilities=False):  # type: ignore[no-untyped-def]
            utilities = np.zeros((batch_size, len(X)))
            return np.full(batch_size, candidates[0]), utilities

    monkeypatch.setattr(skactiveml.pool, "Stutters", Stutters, raising=False)
    rows = QueryStrategyOf("Stutters").select(situation(), 4, np.random.default_rng(0))
    assert rows.tolist() == [0, 1, 2, 3]


def test_a_misspelt_strategy_is_named_with_its_near_miss() -> None:
    with pytest.raises(InfonnError, match="UncertaintySampling"):
        QueryStrategyOf("UncertaintySamplin")


def test_the_part_takes_the_settings_of_the_class_it_names() -> None:
    part = strategy_part("UncertaintySampling")
    assert setting_names(part) == ["n_classes", "classifier", "method", "cost_matrix"]
    assert part(method="entropy").settings == {"method": "entropy"}


def test_a_study_asks_what_their_strategy_chose() -> None:
    names = [f"item {i}" for i in range(len(FEATURES))]
    chosen = {"name": "skactiveml:UncertaintySampling", "method": "entropy"}
    study = create_study(
        names, features=FEATURES, task="labels", classes=["a", "b", "c"], strategy=chosen, first=10, seed=4
    )
    for _ in range(20):
        question = study.ask()[0]
        study.tell(question, int(CLASSES[question.query[0]]))
    belief = study.belief()
    probs = np.exp(belief.class_log_probs.point(np.arange(len(FEATURES))))  # type: ignore[union-attr]
    assert (probs.argmax(axis=1) == CLASSES).mean() > 0.8


def test_a_strategy_that_needs_the_classes_is_told_them() -> None:
    names = [f"item {i}" for i in range(len(FEATURES))]
    study = create_study(
        names, features=FEATURES, task="labels", classes=["a", "b", "c"], strategy="skactiveml:Quire", first=10
    )
    for _ in range(12):
        question = study.ask()[0]
        study.tell(question, int(CLASSES[question.query[0]]))
    assert question.strategy_used == "skactiveml:Quire"


# --- ours in theirs --------------------------------------------------------------------------------


def half_labelled(n_labels: int = 15) -> np.ndarray:
    labels = np.full(len(FEATURES), np.nan)
    labels[:n_labels] = CLASSES[:n_labels]
    return labels


@pytest.mark.parametrize("name", CLASS_STRATEGIES)
@pytest.mark.parametrize("n_labels", [0, 15, 79])
def test_our_strategy_keeps_the_promises_of_a_pool_strategy(name: str, n_labels: int) -> None:
    labels, kept = half_labelled(n_labels), FEATURES.copy()
    size = min(5, len(FEATURES) - n_labels)
    strategy = InfonnSampling(name, classes=[0, 1, 2], random_state=1)
    chosen, utilities = strategy.query(FEATURES, labels, batch_size=size, return_utilities=True)
    assert len(set(chosen.tolist())) == size
    assert np.isnan(labels[chosen]).all()
    assert utilities.shape == (size, len(FEATURES))
    assert np.isnan(utilities[0]).sum() == n_labels
    np.testing.assert_array_equal(strategy.query(FEATURES, labels, batch_size=size), chosen)
    np.testing.assert_array_equal(FEATURES, kept)


def test_our_strategy_takes_candidates_by_index_and_no_others() -> None:
    strategy = InfonnSampling("margin", random_state=0)
    chosen = strategy.query(FEATURES, half_labelled(), candidates=[40, 41, 42], batch_size=2)
    assert set(chosen.tolist()) <= {40, 41, 42}
    with pytest.raises(MappingError):
        strategy.query(FEATURES, half_labelled(), candidates=FEATURES[40:42])


def test_our_strategy_takes_labels_that_are_words() -> None:
    words = np.array(["cat", "dog", "owl"], dtype=object)[CLASSES]
    words[20:] = None
    chosen = InfonnSampling("info_nn", missing_label=None, random_state=0).query(FEATURES, words, batch_size=3)
    assert len(set(chosen.tolist())) == 3
    assert chosen.min() >= 20


def test_a_loop_of_theirs_runs_with_our_strategy() -> None:
    labels = np.full(len(FEATURES), np.nan)
    for _ in range(6):
        chosen = InfonnSampling("info_nn", classes=[0, 1, 2], random_state=0).query(FEATURES, labels, batch_size=4)
        labels[chosen] = CLASSES[chosen]
    model = ParzenWindowClassifier(classes=[0, 1, 2]).fit(FEATURES, labels)
    assert model.score(FEATURES, CLASSES) > 0.8


def test_a_million_samples_are_a_pool_like_any_other() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((1_000_000, 4)).astype(np.float32)
    labels = np.full(len(features), np.nan)
    labels[:30] = (features[:30, 0] > 0).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = InfonnSampling("margin", random_state=0).query(features, labels, batch_size=1000)
    assert len(set(chosen.tolist())) == 1000
