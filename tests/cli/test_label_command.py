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
    assert "It does not know yet how accurate it is: 6 labels" in " ".join(third.output.split())
    labels = rows_of(out / "labels.csv")
    assert len(labels) == 18
    assert [row["purpose"] for row in labels].count("hold_out") == 6
    assert all(row["who"] and row["when"].endswith("Z") and row["counts"] == "true" for row in labels)
    predictions = rows_of(out / "predictions.csv")
    assert len(predictions) == 60
    assert np.mean([row["prediction"] == truth_of(row["item"]) for row in predictions]) > 0.9
    probs = np.array([[float(row[f"p({name})"]) for name in COLOURS] for row in predictions])
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-3)
    chosen = [row["item"] for row in rows_of(out / "next.csv")]
    fourth = run(*common, "--seed", 0, "--also", "parquet", "--also", "model", "--also", "folders")
    assert fourth.exit_code == 0, fourth.output
    assert [row["item"] for row in rows_of(out / "next.csv")] == chosen  # nothing was filled in: the same items again
    folders = {path.name: len(list(path.iterdir())) for path in (out / "by_class").iterdir()}
    assert set(folders) == set(COLOURS)
    assert sum(folders.values()) == 60
    import skops.io
    from pyarrow import parquet

    assert parquet.read_table(out / "predictions.parquet").num_rows == 60
    model = skops.io.load(out / "model.skops", trusted=[])
    assert list(model.classes_) == list(COLOURS)


def test_the_study_can_be_gone_on_with_elsewhere_and_keeps_its_strategy(photos, tmp_path):
    from infonn.specs.build import load_study

    out = tmp_path / "out"
    common = ("--items", photos, "--classes", CLASSES, "--out", out, "--next", 6)
    assert run(*common, "--strategy", "margin").exit_code == 0
    fill_in(out / "next.csv")
    assert run(*common).exit_code == 0  # no strategy named: the one it was made with
    study = load_study(f"sqlite:///{out}/study.db", "labels")
    assert study.strategy_name == "margin"
    assert len(study.answers()) + len(study.answers("hold_out")) == 6
    assert "strategy" in refusal(*common, "--strategy", "entropy")


def test_a_label_that_was_changed_takes_the_place_of_the_old_one(tmp_path):
    (tmp_path / "items.csv").write_text("name,x\n" + "".join(f"{i},{i}\n" for i in range(12)))
    labels = tmp_path / "ann.csv"
    common = ("--items", tmp_path / "items.csv", "--classes", "low,high", "--out", tmp_path / "out", "--labels", labels)
    labels.write_text("item,label\n0,low\n11,high\n1,high\n")
    assert "low 1, high 2" in run(*common).output
    labels.write_text("item,label\n0,low\n11,high\n1,low\n")
    assert "low 2, high 1" in run(*common).output
    rows = rows_of(tmp_path / "out" / "labels.csv")
    assert [(row["item"], row["label"], row["in_force"]) for row in rows if row["item"] == "1"] == [
        ("1", "high", "false"),
        ("1", "low", "true"),
    ]
    assert {row["who"] for row in rows} == {"ann"}


def test_people_who_disagree_are_resolved_by_the_rule_that_was_asked_for(tmp_path):
    (tmp_path / "items.csv").write_text("name,x\n" + "".join(f"{i},{i}\n" for i in range(12)))
    for person, label in (("ann", "low"), ("ben", "high"), ("cid", "high")):
        (tmp_path / f"{person}.csv").write_text(f"item,label\n0,low\n11,high\n5,{label}\n")
    files = [part for person in ("ben", "cid", "ann") for part in ("--import", tmp_path / f"{person}.csv")]
    common = ("--items", tmp_path / "items.csv", "--classes", "low,high", *files)
    message = refusal(*common, "--out", tmp_path / "out")
    assert 'ann.csv calls "5" low' in message
    assert "Say which label counts: majority, dawid_skene, last" in message
    assert "low 1, high 2" in run(*common, "--out", tmp_path / "by_majority", "--rule", "majority").output
    assert "low 2, high 1" in run(*common, "--out", tmp_path / "by_last", "--rule", "last").output
    assert run(*common, "--out", tmp_path / "by_model", "--rule", "dawid_skene").exit_code == 0
    who = [row["who"] for row in rows_of(tmp_path / "by_majority" / "labels.csv")]
    assert sorted(set(who)) == ["ann", "ben", "cid"]


def test_nothing_is_asked_for_and_nothing_was_labelled(tmp_path):
    (tmp_path / "items.csv").write_text("name,x\n" + "".join(f"{i},{i}\n" for i in range(12)))
    shown = run("--items", tmp_path / "items.csv", "--classes", "low,high", "--out", tmp_path / "out", "--next", 0)
    assert shown.exit_code == 0, shown.output
    assert "No labels yet" in shown.output
    assert rows_of(tmp_path / "out" / "next.csv") == []


def test_a_class_that_was_never_seen_is_named(tmp_path):
    (tmp_path / "items.csv").write_text("name,x\n" + "".join(f"{i},{i}\n" for i in range(30)))
    (tmp_path / "ann.csv").write_text(
        "item,label\n" + "".join(f"{i},{'low' if i < 15 else 'high'}\n" for i in range(0, 30, 2))
    )
    files = ("--items", tmp_path / "items.csv", "--labels", tmp_path / "ann.csv", "--out", tmp_path / "out")
    shown = run(*files, "--classes", "low,high,odd")
    assert "No label yet for odd: what was never seen is never predicted" in " ".join(shown.output.split())


def test_an_own_model_is_named_as_module_and_class(tmp_path):
    (tmp_path / "items.csv").write_text("name,x\n" + "".join(f"{i},{i}\n" for i in range(30)))
    (tmp_path / "ann.csv").write_text(
        "item,label\n" + "".join(f"{i},{'low' if i < 15 else 'high'}\n" for i in range(0, 30, 3))
    )
    common = ("--items", tmp_path / "items.csv", "--labels", tmp_path / "ann.csv", "--classes", "low,high")
    shown = run(
        *common, "--out", tmp_path / "out", "--model", "sklearn.neighbors:KNeighborsClassifier", "--also", "model"
    )
    assert shown.exit_code == 0, shown.output
    predicted = {row["item"]: row["prediction"] for row in rows_of(tmp_path / "out" / "predictions.csv")}
    assert (predicted["1"], predicted["28"]) == ("low", "high")
    assert (tmp_path / "out" / "model.skops").exists()
    assert "is not of the form module:Class" in refusal(*common, "--out", tmp_path / "other", "--model", "sklearn")
    assert not (tmp_path / "other" / "study.db").exists()


def test_what_cannot_be_shown_or_learned_from_is_refused(photos, tmp_path, rng):
    good = ("--items", photos, "--classes", CLASSES, "--out", tmp_path / "out")
    (photos / "scan.tif").write_bytes(b"II*")
    assert "scan.tif is a picture that browsers do not show" in refusal(*good)
    (photos / "scan.tif").unlink()
    (photos / "link.png").symlink_to(photos / "00.png")
    assert "link.png is a link; pictures lie in the folder itself" in refusal(*good)
    (photos / "link.png").unlink()
    features = rng.normal(size=(60, 3))
    features[7, 1] = np.nan
    np.save(tmp_path / "nan.npy", features)
    assert "Feature 1 of item 7 is nan" in refusal(*good, "--features", tmp_path / "nan.npy")
    np.save(tmp_path / "complex.npy", features + 1j)
    assert "are complex numbers" in refusal(*good, "--features", tmp_path / "complex.npy")


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
