"""Pools of labels, scored by workers that read the features from their file: the same choice as here."""

import numpy as np
import pytest
from numpy.random import default_rng

from infonn.contracts import loop as contract
from infonn.contracts.loop import Situation, Strategy
from infonn.engines import pack
from infonn.learners.classifiers.bayes_logistic import BayesLogistic
from infonn.loop import Loop
from infonn.queries import Answers
from infonn.selection import class_strategies
from infonn.selection.batches import best
from infonn.tasks.labels import LabelTask

N_ITEMS, N_CLASSES = 5000, 3
STRATEGIES = ("margin", "entropy", "bald", "info_nn", "epig")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A learner whose features are mapped from a file, and labels of a few items; pieces are small, so many."""
    monkeypatch.setattr(contract, "PIECE", 1 << 11)
    monkeypatch.setattr("infonn.learners.classifiers.rows.COPIED", 0)  # features are used as they are in the file
    rng = default_rng(0)
    labels = rng.integers(0, N_CLASSES, N_ITEMS)
    features = (rng.standard_normal((N_ITEMS, 16)) + 2 * np.eye(N_CLASSES, 16)[labels]).astype(np.float32)
    np.save(tmp_path / "features.npy", features)
    learner = BayesLogistic(np.load(tmp_path / "features.npy", mmap_mode="r"), N_CLASSES)
    queries = np.full((40, 4), -1, np.int32)
    queries[:, 0] = rng.permutation(N_ITEMS)[:40]
    return learner, Answers(queries, labels[queries[:, 0]].astype(np.int32), "label")


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_chooses_the_same_items_everywhere(name, elsewhere, study) -> None:
    learner, answers = study
    belief = learner.fit(answers, default_rng(1))
    task = LabelTask(N_ITEMS, ("a", "b", "c"))
    loop = Loop(task, learner, getattr(class_strategies, name)(), "label")
    here = loop.choose(belief, answers, answers.queries, 5, default_rng(2))
    there = loop.choose(belief, answers, answers.queries, 5, default_rng(2), elsewhere.map)
    np.testing.assert_array_equal(there[0], here[0])
    np.testing.assert_array_equal(there[1], here[1])


def test_features_stay_in_their_file(study) -> None:
    learner, answers = study
    belief = learner.fit(answers, default_rng(1))
    sent = len(pack(Situation(answers.queries[:0], belief, answers)))
    assert sent < 20_000 < learner.features.nbytes


def test_a_criterion_that_looks_at_the_whole_pool_is_never_split(elsewhere, study) -> None:
    learner, answers = study
    seen: list[int] = []

    def rank(queries, situation, rng):
        seen.append(len(queries))
        return queries[:, 0].argsort().astype(float)

    pool = LabelTask(N_ITEMS, ("a", "b", "c")).propose(learner.fit(answers, default_rng(1)), answers, default_rng(0))
    situation = Situation(pool, learner.fit(answers, default_rng(1)), answers)
    Strategy(rank, best).select(situation, 3, default_rng(0), elsewhere.map)
    assert seen == [len(pool)]
