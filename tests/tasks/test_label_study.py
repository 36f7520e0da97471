"""A study that asks for labels, built by name."""

import numpy as np
import pytest

from infonn.errors import DataError, UnknownNameError
from infonn.specs.build import create_study
from infonn.specs.registry import CLASS_STRATEGIES


@pytest.fixture
def things(rng):
    truth = np.arange(60) % 3
    return [f"thing {i}" for i in range(60)], rng.normal(0, 3, (3, 5))[truth] + rng.normal(size=(60, 5)), truth


@pytest.mark.parametrize("strategy", sorted(CLASS_STRATEGIES))
def test_a_study_asks_for_labels_and_learns_the_classes(things, strategy):
    names, features, truth = things
    study = create_study(
        names, features=features, task="labels", classes=["a", "b", "c"], strategy=strategy, first=6, seed=1
    )
    for _ in range(3):
        for question in study.ask(6):
            assert [option.label for option in question.options] == ["a", "b", "c"]
            assert question.kind == "label"
            study.tell(question, int(truth[question.query[0]]))
    answers = study.answers()
    assert len(set(answers.queries[:, 0].tolist())) == 18
    belief = study.belief()
    predicted = belief.class_log_probs.point(np.arange(60)).argmax(axis=1)
    assert (predicted == truth).mean() > 0.7


def test_options_show_the_labelled_item_that_stands_for_a_class(things):
    names, features, truth = things
    study = create_study(names, features=features, task="labels", classes=["a", "b", "c"], first=9)
    for question in study.ask(9):
        study.tell(question, int(truth[question.query[0]]))
    shown = [option for question in study.ask(3) for option in question.options if option.item is not None]
    assert shown
    assert all(["a", "b", "c"][truth[option.item]] == option.label for option in shown)


def test_labels_need_features_and_classes(things):
    names, features, _ = things
    with pytest.raises(DataError, match="needs features"):
        create_study(names, task="labels", classes=["a", "b"])
    with pytest.raises(DataError, match="at least 2"):
        create_study(names, features=features, task="labels")
    with pytest.raises(UnknownNameError, match="batch_bald"):
        create_study(names, features=features, task="labels", classes=["a", "b"], strategy="batchbald")
