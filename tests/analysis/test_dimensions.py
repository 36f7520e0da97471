import numpy as np
import pytest
from numpy.random import default_rng

from infonn import create_study
from infonn.analysis.dimensions import choose_dims
from infonn.errors import StudyError
from infonn.queries import Answers


def answers_in(truth: np.ndarray, n: int, seed: int = 0) -> Answers:
    rng = default_rng(seed)
    queries = np.array([rng.permutation(len(truth))[:4] for _ in range(n)], np.int32)
    squared = ((truth[queries[:, 1:]] - truth[queries[:, :1]]) ** 2).sum(axis=-1)
    return Answers(queries, squared.argmin(axis=1).astype(np.int32))


def loop_of(n_items: int):
    return create_study([f"{i}" for i in range(n_items)], learner={"name": "posterior", "n_chains": 4}).loop


def test_the_true_number_of_dimensions_is_chosen() -> None:
    answers = answers_in(default_rng(1).standard_normal((12, 2)), 200)
    found = choose_dims(answers, loop_of(12), dims=(1, 2, 3), n_folds=3)
    assert found.chosen == 2
    assert found.losses.shape == found.accuracies.shape == (3, 3)
    assert "<- chosen" in str(found)


def test_copies_of_a_question_never_stand_on_both_sides(monkeypatch) -> None:
    answers = answers_in(default_rng(1).standard_normal((10, 2)), 30)
    twice = Answers(np.concatenate([answers.queries] * 2), np.concatenate([answers.responses] * 2))
    loop, seen = create_study([f"{i}" for i in range(10)], learner="mds").loop, []
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
