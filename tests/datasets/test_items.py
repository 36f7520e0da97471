"""Items as people bring them."""

import numpy as np
import pytest

from infonn.datasets.items import as_items, load_items
from infonn.errors import DataError


def test_names_alone_are_items() -> None:
    assert as_items(["a", "b"]).names == ["a", "b"]


def test_a_csv_brings_texts_and_features(tmp_path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("name,text,sweet,sour\napple,an apple,0.9,0.2\nlemon,,0.1,0.9\n")
    items = load_items(path)
    assert [item.text for item in items.items] == ["an apple", None]
    np.testing.assert_array_equal(items.features, [[0.9, 0.2], [0.1, 0.9]])


def test_a_folder_of_images_is_a_set_of_items(tmp_path) -> None:
    (tmp_path / "cats").mkdir()
    for name in ("b.png", "cats/a.JPG", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    items = load_items(tmp_path)
    assert items.names == ["b", "cats/a"]
    assert items.items[1].image == "cats/a.JPG"


def test_features_may_stand_in_a_file_of_their_own(tmp_path) -> None:
    np.save(tmp_path / "f.npy", np.arange(4.0).reshape(2, 2))
    (tmp_path / "items.csv").write_text("name\na\nb\n")
    np.testing.assert_array_equal(load_items(tmp_path / "items.csv", tmp_path / "f.npy").features, [[0, 1], [2, 3]])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("title\na\n", "it needs a column `name`"),
        (",name\n0,a\n1,b\n", "each needs a name of its own. From pandas: to_csv"),
        ("name,name\na,b\nc,d\n", "each needs a name of its own"),
        ("name,sweet\na,very\n", 'Line 2 of .*: column "sweet" is "very"'),
        ("name,sweet\na\n", "Line 2 of .* does not have the 2 columns"),
        ("name\na\n \n", "Line 3 of .* has no name"),
        ("name\na\na\n", 'Item name "a" occurs more than once'),
        ("name,sweet\na,nan\n", "Feature 0 of item 0 is nan"),
    ],
)
def test_wrong_files_get_a_sentence(tmp_path, content, sentence) -> None:
    path = tmp_path / "items.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=sentence):
        load_items(path)


def test_missing_files_and_empty_folders_get_a_sentence(tmp_path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        load_items(tmp_path / "no.csv")
    with pytest.raises(DataError, match="holds no images"):
        load_items(tmp_path)
    (tmp_path / "items.csv").write_text("name\na\nb\n")
    (tmp_path / "f.npy").write_bytes(b"not an array")
    with pytest.raises(DataError, match="cannot be read as a .npy"):
        load_items(tmp_path / "items.csv", tmp_path / "f.npy")
