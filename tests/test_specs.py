"""Studies as data: defaults, near misses, and the same study from the same tables."""

import numpy as np
import pytest

from infonn.errors import DataError, InfonnError, InvalidQueryError, StudyError, UnknownNameError
from infonn.specs import LEARNERS, STRATEGIES, check_spec, create_study, describe, load_study, open_storage, read_spec

NAMES = [f"item {i}" for i in range(7)]


def test_defaults_fill_what_is_not_said() -> None:
    full = check_spec({"study": {"name": "a"}})
    assert full["study"] == {"name": "a", "task": "similarity", "seed": 0}
    assert full["strategy"] == {"name": "info_nn"}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"studdy": {}}, 'Table "studdy" is unknown.*Did you mean "study"'),
        ({"budget": {"answer": 3}}, r'Key in \[budget\] "answer" is unknown.*Did you mean "answers"'),
        ({"budget": {"answers": "many"}}, r"\[budget\] answers is 'many'; it must be a whole number"),
        ({"budget": {"answers": True}}, "must be a whole number"),
        ({"study": 3}, r"\[study\] is 3; it must be a table"),
    ],
)
def test_wrong_tables_are_refused_with_the_near_miss(spec, sentence) -> None:
    with pytest.raises(InfonnError, match=sentence):
        check_spec(spec)


def test_an_unknown_strategy_names_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match='Strategy "infonn" is unknown. Known: .*Did you mean "info_nn"'):
        create_study(NAMES, strategy="infonn")


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


def test_a_repeated_name_is_refused() -> None:
    with pytest.raises(DataError, match='Item name "pear" occurs more than once'):
        create_study(["pear", "plum", "pear", "fig"])


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
    for kind, table in (("Strategy", STRATEGIES), ("Learner", LEARNERS)):
        assert all(len(line) > 20 for line in describe(kind, table).values())


def test_a_spec_is_read_from_toml(tmp_path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('[study]\nname = "x"\n[learner]\nname = "mds"\nn_dims = 3\n')
    assert read_spec(path)["learner"] == {"name": "mds", "n_dims": 3}
    path.write_text("[study\n")
    with pytest.raises(DataError, match="is not TOML"):
        read_spec(path)
    with pytest.raises(DataError, match="does not exist"):
        read_spec(tmp_path / "none.toml")


def test_an_unknown_storage_is_refused() -> None:
    with pytest.raises(UnknownNameError, match='Storage "sqllite" is unknown'):
        open_storage("sqllite:///a.db")
    with pytest.raises(StudyError, match="is no URL"):
        open_storage("a.db")
