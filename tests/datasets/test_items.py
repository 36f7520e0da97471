"""Items as people bring them."""

import numpy as np
import pytest

from infonn.datasets import items as module
from infonn.datasets.items import as_items, load_features, load_items
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


# --- features of any size --------------------------------------------------------------------------


def test_a_npy_file_is_mapped_and_not_read(tmp_path) -> None:
    np.save(tmp_path / "f.npy", np.arange(8, dtype=np.float32).reshape(4, 2))
    features = load_features(tmp_path / "f.npy")
    assert isinstance(features, np.memmap)
    assert features.dtype == np.float32
    items = as_items(["a", "b", "c", "d"], features)
    assert items.features is features


def test_parquet_brings_columns_or_lists(tmp_path) -> None:
    import pandas as pd

    pd.DataFrame({"name": ["a", "b"], "x": [1.0, 2.0], "y": [3, 4]}).to_parquet(tmp_path / "f.parquet")
    (tmp_path / "items.csv").write_text("name\na\nb\n")
    expected = [[1, 3], [2, 4]]
    np.testing.assert_array_equal(load_items(tmp_path / "items.csv", tmp_path / "f.parquet").features, expected)
    pd.DataFrame({"vector": [[1.0, 3.0], [2.0, 4.0]]}).to_parquet(tmp_path / "lists.parquet")
    np.testing.assert_array_equal(load_features(tmp_path / "lists.parquet"), expected)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"name": ["b", "a"], "x": [1.0, 2.0]}, 'Row 0 of .* is named "b"; item 0 is "a"'),
        ({"x": ["much", "little"]}, 'Column "x" of .* features are numbers'),
        ({"x": [[1.0], [1.0, 2.0, 3.0]]}, "differ in length"),
        ({"name": ["a", "b"]}, "has no column of numbers"),
        ({"x": [1.0, float("nan")]}, "Feature 0 of item 1 is nan"),
    ],
)
def test_a_wrong_parquet_file_gets_a_sentence(tmp_path, columns, sentence) -> None:
    import pandas as pd

    (tmp_path / "items.csv").write_text("name\na\nb\n")
    pd.DataFrame(columns).to_parquet(tmp_path / "f.parquet")
    with pytest.raises(DataError, match=sentence):
        load_items(tmp_path / "items.csv", tmp_path / "f.parquet")


def test_broken_files_of_features_get_a_sentence(tmp_path) -> None:
    (tmp_path / "f.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataError, match="cannot be read as a parquet file"):
        load_features(tmp_path / "f.parquet")
    np.savez(tmp_path / "f.npz", a=np.zeros(3))
    with pytest.raises(DataError, match="archive of several arrays"):
        load_features(tmp_path / "f.npz")
    np.save(tmp_path / "f.npy", np.array(["a", "b"]))
    with pytest.raises(DataError, match="one row of numbers per item"):
        load_features(tmp_path / "f.npy")


def test_complex_features_are_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="Features are complex numbers"):
        as_items(["a", "b"], np.ones((2, 2), complex))
    np.save(tmp_path / "f.npy", np.ones((2, 2), complex))
    with pytest.raises(DataError, match=r"f\.npy are complex numbers"):
        load_features(tmp_path / "f.npy")


def test_a_number_that_is_not_finite_is_found_far_down(monkeypatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 4)
    features = np.zeros((11, 3))
    features[9, 1] = np.inf
    with pytest.raises(DataError, match="Feature 1 of item 9 is inf"):
        as_items([str(i) for i in range(11)], features)


def test_a_tiff_or_a_link_in_the_folder_is_refused_by_name(tmp_path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "b.TIF").write_bytes(b"")
    with pytest.raises(DataError, match=r"b\.TIF is a picture that browsers do not show. Convert it"):
        load_items(tmp_path)
    (tmp_path / "b.TIF").unlink()
    (tmp_path / "c.png").symlink_to(tmp_path / "a.png")
    with pytest.raises(DataError, match=r"c\.png is a link; pictures lie in the folder itself"):
        load_items(tmp_path)
