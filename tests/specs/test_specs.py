"""Studies as data: defaults, near misses, and the same study from the same tables."""

import numpy as np
import pytest

from infonn.errors import DataError, InfonnError, InvalidQueryError, StudyError, UnknownNameError
from infonn.specs.build import create_study, load_study, open_storage
from infonn.specs.registry import CLASS_LEARNERS, LEARNERS, STRATEGIES, describe
from infonn.specs.settings import check_spec, read_spec

NAMES = [f"item {i}" for i in range(7)]


def test_defaults_fill_what_is_not_said() -> None:
    full = check_spec({"study": {"name": "a"}})
    assert full["study"] == {"name": "a", "task": "similarity", "seed": 0}
    assert full["strategy"] == {"name": "default"}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"studdy": {}}, 'Table "studdy" is unknown.*Did you mean "study"'),
        ({"budget": {"answer": 3}}, r'Key in \[budget\] "answer" is unknown.*Did you mean "answers"'),
        ({"budget": {"answers": "many"}}, r"\[budget\] answers is 'many'; it must be a whole number"),
        ({"budget": {"answers": True}}, "must be a whole number"),
        ({"study": 3}, r"\[study\] is 3; it must be a table"),
        ({"study": {"task": "label"}}, 'Task "label" is unknown.*Did you mean "labels"'),
        ({"queries": {"kind": "rank"}}, 'Kind of question "rank" is unknown.*Did you mean "ranking"'),
        ({"study": {"seed": -1}}, r"\[study\] seed is -1; it must be from 0 to"),
        ({"queries": {"first": -3}}, r"\[queries\] first is -3; it must be from 0 to"),
        ({"queries": {"pool_size": 0}}, r"\[queries\] pool_size is 0; it must be from 1 to"),
        ({"budget": {"batch": 0}}, r"\[budget\] batch is 0; it must be from 1 to"),
        ({"budget": {"answers": 0}}, r"\[budget\] answers is 0; it must be from 1 to"),
    ],
)
def test_wrong_tables_are_refused_with_the_near_miss(spec, sentence) -> None:
    with pytest.raises(InfonnError, match=sentence):
        check_spec(spec)


def test_an_unknown_strategy_names_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match='Strategy "infonn" is unknown. Known: .*Did you mean "info_nn"'):
        create_study(NAMES, strategy="infonn")


@pytest.mark.parametrize(("task", "learner"), [("similarity", "logistic"), ("labels", "mds")])
def test_a_learner_of_the_other_task_is_refused(task, learner) -> None:
    with pytest.raises(UnknownNameError, match=f'Learner "{learner}" is unknown'):
        create_study(NAMES, task=task, classes=["a", "b"], features=np.eye(7), learner=learner)


def test_an_unknown_setting_of_a_part_is_refused() -> None:
    with pytest.raises(UnknownNameError, match='Setting of strategy "info_nn" "powr" is unknown.*"power"'):
        create_study(NAMES, strategy={"name": "info_nn", "powr": 3})


def test_a_refused_study_leaves_nothing_behind() -> None:
    storage = open_storage("memory://")
    with pytest.raises(InfonnError):
        create_study(NAMES, storage=storage, strategy="infonn")
    assert storage.studies() == []


def test_more_candidates_than_items_are_refused() -> None:
    with pytest.raises(InvalidQueryError, match="Queries of 7 candidates need 8 items, and there are 7"):
        create_study(NAMES, candidates=7)


def test_features_that_are_not_numbers_are_refused() -> None:
    features = np.ones((7, 2))
    features[4, 1] = np.nan
    with pytest.raises(DataError, match="Feature 1 of item 4 is nan"):
        create_study(NAMES, features=features)
    with pytest.raises(DataError, match=r"there are 7 items, so \(7, columns\) is right"):
        create_study(NAMES, features=np.ones((6, 2)))


@pytest.mark.parametrize("features", [[[1], [1, 2], *[[1]] * 5], [["sweet"]] * 7])
def test_features_that_are_no_table_of_numbers_are_refused(features) -> None:
    with pytest.raises(DataError, match="one row of numbers per item"):
        create_study(NAMES, features=features)


def test_features_without_columns_are_refused() -> None:
    with pytest.raises(DataError, match=r"Features have shape \(7, 0\)"):
        create_study(NAMES, features=np.ones((7, 0)))


def test_a_repeated_name_is_refused() -> None:
    with pytest.raises(DataError, match='Item name "pear" occurs more than once'):
        create_study(["pear", "plum", "pear", "fig"])


def test_an_item_without_a_name_is_refused() -> None:
    with pytest.raises(DataError, match="Item 2 has no name"):
        create_study(["pear", "plum", " ", "fig"])


def test_too_few_items_for_any_question_are_refused() -> None:
    with pytest.raises(InvalidQueryError, match="there are 2. A study needs at least 3 items"):
        create_study(["pear", "plum"], candidates=2)


def test_numbers_of_numpy_are_numbers() -> None:
    study = create_study(NAMES, candidates=np.int64(2), seed=np.int64(3))
    assert len(study.ask()[0].names) == 3


@pytest.mark.parametrize(
    ("strategy", "sentence"),
    [
        ({"name": "info_nn", "n_draws": 0}, "n_draws is 0; it must be from 1"),
        ({"name": "info_nn_distances", "sigma": -1.0}, "sigma is -1.0; a standard deviation is at least 0"),
        ({"name": "info_nn_embedding", "mu": 0.0}, "mu is 0.0; it must be above 0"),
        ({"name": "info_ranking", "method": "sobel"}, 'Method of drawing "sobel" is unknown.*Did you mean "sobol"'),
        ({"name": "entropy", "power": -1.0}, "power is -1.0; it must be above 0"),
        ({"name": "info_nn_targets", "n_targets": 0}, "n_targets is 0; it must be from 1"),
        ({"name": "entropy", "n_best": -1}, "n_best is -1; .* at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_asked(strategy, sentence) -> None:
    with pytest.raises(InfonnError, match=sentence):
        create_study(NAMES, strategy=strategy)


def test_a_part_of_ones_own_is_told_where_it_goes() -> None:
    with pytest.raises(StudyError, match=r"learner is <object .*an object with the method fit"):
        create_study(NAMES, learner=object())


def test_a_stored_study_of_other_items_is_refused() -> None:
    storage = open_storage("memory://")
    create_study(NAMES, storage=storage)
    with pytest.raises(StudyError, match='item 2 is "item 2" there and "pear" here'):
        create_study([*NAMES[:2], "pear", *NAMES[3:]], storage=storage, load_if_exists=True)
    with pytest.raises(StudyError, match="exists with 7 items, and here are 6"):
        create_study(NAMES[:6], storage=storage, load_if_exists=True)


def test_a_stored_study_goes_on_and_other_settings_are_refused(tmp_path) -> None:
    url = f"jsonl:///{tmp_path}/s.jsonl"  # three slashes and an absolute path
    study = create_study(NAMES, storage=url, name="fruit")
    study.tell(study.ask()[0].id, 0)
    study.storage.close()
    with pytest.raises(StudyError, match='Study "fruit" exists already'):
        create_study(NAMES, storage=url, name="fruit")
    with pytest.raises(StudyError, match="exists with other settings"):
        create_study(NAMES, storage=url, name="fruit", candidates=4, load_if_exists=True)
    assert len(create_study(NAMES, storage=url, name="fruit", load_if_exists=True).answers()) == 1
    assert len(load_study(url, "fruit").answers()) == 1


def test_every_named_part_says_what_it_is() -> None:
    for kind, table in (("Strategy", STRATEGIES), ("Learner", LEARNERS), ("Learner", CLASS_LEARNERS)):
        assert all(len(line) > 20 for line in describe(kind, table).values())


def test_a_spec_is_read_from_toml(tmp_path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('[study]\nname = "x"\n[learner]\nname = "mds"\nn_dims = 3\n')
    assert read_spec(path)["learner"] == {"name": "mds", "dims": 3}
    path.write_text("[study\n")
    with pytest.raises(DataError, match="is not TOML"):
        read_spec(path)
    with pytest.raises(DataError, match="does not exist"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(DataError, match="cannot be read as a study"):
        read_spec(tmp_path)


def test_an_unknown_storage_is_refused() -> None:
    with pytest.raises(UnknownNameError, match='Storage "sqllite" is unknown'):
        open_storage("sqllite:///a.db")
    with pytest.raises(StudyError, match="is no URL"):
        open_storage("a.db")
