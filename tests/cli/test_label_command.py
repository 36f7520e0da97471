"""`infonn label` on a folder made here: the whole loop, and a sentence for everything that can be wrong."""

import csv

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from infonn.cli.main import app
from infonn.errors import DataError, InfonnError

CLASSES = "red,green,blue"
COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200)}


@pytest.fixture
def photos(tmp_path):
    """60 pictures, a third of each colour, of odd sizes."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(60):
        colour = list(COLOURS)[i % 3]
        size = (int(rng.integers(20, 60)), int(rng.integers(20, 60)))
        pixels = np.clip(rng.normal(COLOURS[colour], 40, (*size, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:02d}.png")
    return folder


def truth_of(name):
    return list(COLOURS)[int(name) % 3]


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(*arguments):
    return CliRunner().invoke(app, ["label", *map(str, arguments)])


def fill_in(path):
    rows = rows_of(path)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "label"])
        writer.writerows([row["item"], truth_of(row["item"])] for row in rows)
    return [row["item"] for row in rows]


def test_the_loop_from_no_label_at_all_to_predictions(photos, tmp_path):
    out = tmp_path / "out"
    common = ("--items", photos, "--classes", CLASSES, "--out", out, "--next", 9)
    first = run(*common)
    assert first.exit_code == 0, first.output
    assert "No labels yet" in first.output
    assert (out / "next.png").stat().st_size > 5000
    asked = fill_in(out / "next.csv")
    assert len(set(asked)) == 9
    assert {truth_of(name) for name in asked} == {"red", "green", "blue"}  # typical items of different kinds
    second = run(*common)
    assert "9 labels" in second.output
    later = fill_in(out / "next.csv")
    assert not set(asked) & set(later)
    third = run(*common)
    assert "Accuracy by cross-validation" in third.output
    assert len(rows_of(out / "labels.csv")) == 18
    predictions = rows_of(out / "predictions.csv")
    assert len(predictions) == 42
    assert np.mean([row["prediction"] == truth_of(row["item"]) for row in predictions]) > 0.9
    confidences = [float(row["confidence"]) for row in predictions]
    assert confidences == sorted(confidences, reverse=True)
    fourth = run(*common, "--seed", 0)
    assert rows_of(out / "next.csv")  # nothing was filled in: the same items again
    assert fourth.exit_code == 0


def test_own_features_and_labels_and_a_pool_smaller_than_the_batch(tmp_path, rng):
    items = tmp_path / "items.csv"
    items.write_text("name,text\n" + "".join(f"{i:02d},thing {i}\n" for i in range(12)))
    np.save(tmp_path / "features.npy", rng.normal(size=(12, 3)))
    labels = tmp_path / "labels.csv"
    labels.write_text("item,label\n" + "".join(f"{i:02d},{truth_of(i)}\n" for i in range(8)))
    common = ["--items", items, "--classes", CLASSES, "--features", tmp_path / "features.npy", "--labels", labels]
    shown = run(*common, "--out", tmp_path / "out")
    assert shown.exit_code == 0, shown.output
    assert "Only 4 items are left" in shown.output
    with labels.open("a") as file:
        file.writelines(f"{i:02d},{truth_of(i)}\n" for i in range(8, 12))
    assert "Every item has a label" in run(*common, "--out", tmp_path / "out").output


def test_nothing_is_predicted_before_two_classes_have_a_label(tmp_path, rng):
    np.save(tmp_path / "features.npy", rng.normal(size=(6, 3)))
    (tmp_path / "items.csv").write_text("name\n" + "".join(f"{i}\n" for i in range(6)))
    (tmp_path / "labels.csv").write_text("item,label\n0,red\n1,red\n")
    files = ("--items", tmp_path / "items.csv", "--features", tmp_path / "features.npy")
    shown = run(*files, "--classes", CLASSES, "--labels", tmp_path / "labels.csv", "--out", tmp_path / "out")
    assert shown.exit_code == 0, shown.output
    assert not (tmp_path / "out" / "predictions.csv").exists()
    assert {row["prediction"] for row in rows_of(tmp_path / "out" / "next.csv")} == {""}


def test_names_with_brackets_are_shown_as_they_are(tmp_path):
    names = ["img [copy]", "a [/b]", "plain", "[red]"]
    (tmp_path / "items.csv").write_text("name,x,y\n" + "".join(f"{name},{i},{i * i}\n" for i, name in enumerate(names)))
    (tmp_path / "labels.csv").write_text("item,label\nplain,[b]\n[red],c\n")
    shown = run(
        "--items", tmp_path / "items.csv", "--classes", "[b],c", "--labels", tmp_path / "labels.csv", "--out", tmp_path
    )
    assert shown.exit_code == 0, shown.output
    assert "2 labels: [b] 1, c 1." in shown.output
    assert "img [copy]" in shown.output
    assert "a [/b]" in shown.output


def refusal(*arguments):
    result = run(*arguments)
    assert isinstance(result.exception, InfonnError), result.output
    return str(result.exception)


def test_everything_that_can_be_wrong_is_said_in_a_sentence_and_nothing_is_lost(photos, tmp_path):
    out = tmp_path / "out"
    good = ("--items", photos, "--out", out)
    assert 'Class "red" occurs twice' in refusal(*good, "--classes", "red,green,red")
    assert "at least 2" in refusal(*good, "--classes", "red")
    assert "does not exist" in refusal("--items", tmp_path / "nothing", "--classes", CLASSES)
    labels = tmp_path / "labels.csv"
    cases = {
        "item,label\n99,red\n": 'labels "99", and there is no such item',
        "item,label\n01,purple\n": 'has the label "purple". The classes are red, green, blue',
        "item,label\n01,red\n02,red\n01,green\n": 'Line 4 of .*calls "01" green; an earlier line calls it red',
        "name,class\n01,red\n": "it needs item and label",
    }
    for text, words in cases.items():
        labels.write_text(text)
        with pytest.raises(DataError, match=words):
            raise DataError(refusal(*good, "--classes", CLASSES, "--labels", labels))
    labels.write_text("item,label\n01,red\n")
    other = tmp_path / "other.csv"
    other.write_text("item,label\n01.png,green\n")
    message = refusal(*good, "--classes", CLASSES, "--labels", labels, "--labels", other)
    assert 'calls "01" green' in message
    assert "labels.csv calls it red" in message
    np.save(tmp_path / "features.npy", np.zeros((59, 4)))
    assert "(59, 4)" in refusal(*good, "--classes", CLASSES, "--features", tmp_path / "features.npy")
    assert 'Did you mean "info_nn"' in refusal(*good, "--classes", CLASSES, "--strategy", "infonn")
    (photos / "broken.png").write_bytes(b"nothing")
    assert "broken.png cannot be read as a picture" in refusal(*good, "--classes", CLASSES)
    assert not (out / "labels.csv").exists()


def test_a_picture_that_cannot_be_shown_does_not_stop_who_brings_features(photos, tmp_path, rng):
    (photos / "00.png").write_bytes(b"nothing")
    np.save(tmp_path / "features.npy", rng.normal(size=(60, 4)))
    out = tmp_path / "out"
    shown = run(
        "--items", photos, "--classes", CLASSES, "--features", tmp_path / "features.npy", "--out", out, "--next", 60
    )
    assert shown.exit_code == 0, shown.output
    assert (out / "next.png").exists()
