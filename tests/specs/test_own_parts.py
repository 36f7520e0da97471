"""Parts of one's own: given as objects, registered by name, or found as plugins of an installed package."""

import importlib.metadata
from dataclasses import dataclass

import numpy as np
import pytest

from infonn import Belief, Strategy, create_study, load_study, register_learner, register_strategy
from infonn.errors import MissingPartError, StudyError, UnknownNameError
from infonn.selection.batches import best
from infonn.specs import registry
from infonn.specs.build import open_storage

NAMES = [f"item {i}" for i in range(7)]


def far_apart(queries, situation, rng):
    return np.ptp(situation.belief.embedding[queries[:, 1:], 0], axis=1)


def mine(scale: float = 1.0) -> Strategy:
    return Strategy(lambda queries, situation, rng: scale * far_apart(queries, situation, rng), best)


@dataclass(frozen=True)
class Line:
    """Items by number."""

    n_items: int
    width: float = 1.0

    def fit(self, answers, rng, start=None):
        return Belief(self.width * np.arange(self.n_items, dtype=float)[:, None])


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})


def widest(study) -> set[int]:
    for question in study.ask(2):
        study.tell(question, 0)
    (question,) = study.ask()
    return {min(question.query[1:]), max(question.query[1:])}


def test_objects_are_taken_as_they_are() -> None:
    study = create_study(NAMES, learner=Line(7), strategy=mine(), first=2)
    assert widest(study) <= {0, 1, 5, 6}
    assert study.embedding()["x0"].tolist() == list(range(7))


def test_a_stored_study_of_own_parts_asks_for_them_again(tmp_path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    study = create_study(NAMES, learner=Line(7), storage=url)
    study.tell(study.ask()[0], 1)
    with pytest.raises(StudyError, match=r"made with a learner of its own \(Line\). Give it again"):
        load_study(url, "study")
    assert len(load_study(url, "study", learner=Line(7)).answers()) == 1
    again = create_study(NAMES, learner=Line(7), storage=url, load_if_exists=True)
    assert len(again.answers()) == 1


def test_registered_names_work_like_ours_settings_included() -> None:
    register_strategy("far_apart", mine)
    register_learner("line", Line)
    study = create_study(
        NAMES, learner={"name": "line", "width": 2.0}, strategy={"name": "far_apart", "scale": 3.0}, first=2
    )
    assert widest(study) <= {0, 1, 5, 6}
    assert study.embedding()["x0"].tolist() == [0, 2, 4, 6, 8, 10, 12]
    assert load_study(study.storage, "study").learner == Line(7, 2.0)
    with pytest.raises(UnknownNameError, match='Setting of learner "line" "widht" is unknown.*"width"'):
        create_study(NAMES, learner={"name": "line", "widht": 1.0})


def test_a_name_of_ours_cannot_be_taken_nor_a_thing_that_makes_nothing() -> None:
    with pytest.raises(StudyError, match="one of infonn's own names"):
        register_strategy("info_nn", mine)
    with pytest.raises(StudyError, match="give what makes it"):
        register_learner("line", 3)
    with pytest.raises(UnknownNameError, match='Task "label" is unknown'):
        register_learner("line", Line, task="label")


def test_plugins_of_installed_packages_are_found_by_name(monkeypatch) -> None:
    points = {
        "infonn.strategies": [("far", "strategies"), ("labels.sure", "strategies")],
        "infonn.learners": [("line", "learners")],
    }

    def entry_points(group):
        return [importlib.metadata.EntryPoint(name, "test_own_parts:mine", group) for name, _ in points[group]]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert registry.strategies_of("similarity")["far"] == "test_own_parts:mine"
    assert "sure" in registry.strategies_of("labels")
    assert "far" not in registry.strategies_of("labels")
    assert "line" in registry.learners_of("similarity")


def test_a_study_left_to_the_defaults_keeps_those_it_was_made_with(monkeypatch) -> None:
    storage = open_storage("memory://")
    create_study(NAMES, storage=storage)
    assert storage.study("study").spec["strategy"]["name"] == registry.DEFAULT_STRATEGIES["similarity"]
    monkeypatch.setitem(registry.DEFAULT_STRATEGIES, "similarity", "random")
    assert create_study(NAMES, storage=storage, load_if_exists=True).strategy_name == "info_nn"
    assert create_study(NAMES, storage=storage, name="later").strategy_name == "random"


def test_a_pool_of_ones_own_is_all_that_is_asked() -> None:
    pool = np.array([[0, 1, 2, 3], [4, 1, 2, 3]])
    study = create_study(NAMES, pool=pool)
    assert {tuple(question.query) for question in study.ask(5)} == {(0, 1, 2, 3), (4, 1, 2, 3)}


def test_a_part_of_a_package_that_is_not_there_says_so(monkeypatch) -> None:
    monkeypatch.setitem(registry.NEIGHBOURS, ("Learner", "elsewhere"), "no_such_package.adapter:part")
    with pytest.raises(MissingPartError, match='Learner "elsewhere:X" needs no_such_package, which is not installed'):
        create_study(NAMES, learner="elsewhere:X")
    with pytest.raises(UnknownNameError, match='"nowhere:X" is unknown'):
        create_study(NAMES, learner="nowhere:X")
