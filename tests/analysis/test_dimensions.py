from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.random import default_rng

from infonn import create_study
from infonn.analysis.dimensions import choose_dims
from infonn.beliefs import Belief
from infonn.errors import StudyError
from infonn.maths.responses import ResponseSettings
from infonn.queries import Answers


def answers_in(truth: np.ndarray, n: int, seed: int = 0) -> Answers:
    rng = default_rng(seed)
    queries = np.array([rng.permutation(len(truth))[:4] for _ in range(n)], np.int32)
    squared = ((truth[queries[:, 1:]] - truth[queries[:, :1]]) ** 2).sum(axis=-1)
    return Answers(queries, squared.argmin(axis=1).astype(np.int32))


@dataclass(frozen=True)
class Knowing:
    """A learner that knows the places in every number of dimensions beforehand."""

    places: np.ndarray
    dims: int = 2

    def with_dims(self, dims: int) -> "Knowing":
        return replace(self, dims=dims)

    def fit(self, answers, rng, start=None) -> Belief:
        return Belief(self.places[:, : self.dims], response=ResponseSettings(mu=0.01, sharpness=4.0, lapse=0.02))


def loop_of(n_items: int, learner=None):
    loop = create_study([f"{i}" for i in range(n_items)], learner="mds").loop
    return loop if learner is None else replace(loop, learner=learner)


def test_the_fewest_dimensions_that_foresee_as_well_as_any_are_chosen() -> None:
    places = default_rng(1).standard_normal((12, 3)) * [1, 1, 0.01]  # the third adds next to nothing
    answers = answers_in(places[:, :2], 200)
    found = choose_dims(answers, loop_of(12, Knowing(places)), dims=(1, 2, 3), n_folds=4)
    assert found.chosen == 2
    assert found.losses.shape == found.accuracies.shape == (3, 4)
    assert found.accuracies[1].mean() == 1
    assert "<- chosen" in str(found)


def test_copies_of_a_question_never_stand_on_both_sides(monkeypatch) -> None:
    answers = answers_in(default_rng(1).standard_normal((10, 2)), 30)
    twice = Answers(np.concatenate([answers.queries] * 2), np.concatenate([answers.responses] * 2))
    loop, seen = loop_of(10), []
    fit = type(loop).fit

    def kept(self, part, rng, start=None):
        seen.append({tuple(query) for query in part.queries.tolist()})
        return fit(self, part, rng, start)

    monkeypatch.setattr(type(loop), "fit", kept)
    choose_dims(twice, loop, dims=(1,), n_folds=3)
    everything = {tuple(query) for query in answers.queries.tolist()}
    assert sum(len(everything - part) for part in seen) == len(everything)


def test_what_cannot_be_chosen_is_said() -> None:
    answers = answers_in(default_rng(1).standard_normal((10, 2)), 20)
    with pytest.raises(StudyError, match="20 answers are too few"):
        choose_dims(answers, loop_of(10))
    labels = create_study(["a", "b"], features=np.eye(2), task="labels", classes=["x", "y"], learner="logistic")
    with pytest.raises(StudyError, match="no dimensions to choose"):
        labels.choose_dims()
