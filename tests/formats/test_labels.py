"""Labels in files: read back, joined where people disagree, and refused with a sentence."""

import pytest

from infonn.errors import DataError, UnknownNameError
from infonn.formats.labels import joined_labels, read_labels

NAMES, CLASSES = ["a", "b", "c"], ["cat", "dog"]


def test_labels_are_read_with_or_without_the_ending_of_a_file(tmp_path):
    (tmp_path / "l.csv").write_text("item,label\na.png,cat\nb,dog\nc,\n")
    assert read_labels(tmp_path / "l.csv", NAMES, CLASSES) == {0: 0, 1: 1}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("name,label\na,cat\n", "it needs item and label"),
        ("item,label\nz,cat\n", 'Line 2 of .* labels "z", and there is no such item'),
        ("item,label\na,bird\n", 'has the label "bird". The classes are cat, dog'),
        ("item,label\na,cat\na,dog\n", 'Line 3 of .* calls "a" dog; an earlier line calls it cat'),
    ],
)
def test_wrong_labels_get_a_sentence(tmp_path, content, sentence):
    (tmp_path / "l.csv").write_text(content)
    with pytest.raises(DataError, match=sentence):
        read_labels(tmp_path / "l.csv", NAMES, CLASSES)


def test_files_that_agree_are_joined():
    assert joined_labels({"x": {0: 0}, "y": {0: 0, 2: 1}}, NAMES, CLASSES) == {0: 0, 2: 1}
    assert joined_labels({}, NAMES, CLASSES, "majority") == {}


def test_files_that_disagree_ask_for_a_rule():
    parts = {"x": {0: 0, 1: 1}, "y": {0: 1, 1: 1}, "z": {0: 1}}
    with pytest.raises(DataError, match=r"calls it cat\. Say which label counts: majority, dawid_skene, last\."):
        joined_labels(parts, NAMES, CLASSES)
    assert joined_labels(parts, NAMES, CLASSES, "majority") == {0: 1, 1: 1}
    assert joined_labels(parts, NAMES, CLASSES, "dawid_skene") == {0: 1, 1: 1}
    assert joined_labels({"x": {0: 1}, "y": {0: 0}}, NAMES, CLASSES, "last") == {0: 0}
    with pytest.raises(UnknownNameError, match='Did you mean "majority"'):
        joined_labels(parts, NAMES, CLASSES, "majorty")
