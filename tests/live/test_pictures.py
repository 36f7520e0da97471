"""Pictures that stay in a folder: made small and safe, kept ready, and nothing from outside the folder."""

import io
import os

import numpy as np
import pytest
from PIL import Image

from infonn.errors import DataError
from infonn.live.pictures import PictureFolder, open_inside
from infonn.live.transfer import item_file, put_study
from infonn.live.uploads import items_in_place
from infonn.specs.settings import check_spec
from infonn.storage.memory import MemoryStorage


def save(path, size=(40, 30), colour="red"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    for number in range(4):
        save(folder / f"{number}.png")
    save(folder / "inner" / "deep.jpg", (3000, 1000))
    save(tmp_path / "secret.png")
    return folder


def test_a_picture_is_made_small_once_and_kept(pictures, tmp_path):
    folder = PictureFolder(pictures, tmp_path / "cache")
    found = folder.picture("inner/deep.jpg")
    assert Image.open(io.BytesIO(found.data)).size == (1600, 533)
    assert found.content_type == "image/jpeg"
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_bytes(b"image/jpeg\nas it was kept")
    assert folder.picture("inner/deep.jpg").data == b"as it was kept"
    save(pictures / "inner" / "deep.jpg", (50, 20))
    os.utime(pictures / "inner" / "deep.jpg", ns=(1, 1))
    assert Image.open(io.BytesIO(folder.picture("inner/deep.jpg").data)).size == (50, 20)


@pytest.mark.parametrize("path", ["../secret.png", "/etc/passwd", "inner/../../secret.png", "", "a\0b", ".."])
def test_nothing_outside_the_folder_is_read(pictures, path):
    with pytest.raises(DataError, match="outside the folder"):
        open_inside(pictures, path)


def test_links_are_refused_wherever_they_stand(pictures, tmp_path):
    (pictures / "link.png").symlink_to(tmp_path / "secret.png")
    (pictures / "way").symlink_to(tmp_path)
    for path in ("link.png", "way/secret.png"):
        with pytest.raises(DataError, match="is a link or leads through one"):
            open_inside(pictures, path)


def test_what_is_no_picture_is_a_sentence(pictures, tmp_path):
    (pictures / "broken.png").write_bytes(b"nothing")
    os.mkfifo(pictures / "pipe.png")
    folder = PictureFolder(pictures, tmp_path / "cache")
    with pytest.raises(DataError, match="cannot be read as an image"):
        folder.picture("broken.png")
    with pytest.raises(DataError, match="no plain file"):
        folder.picture("pipe.png")
    with pytest.raises(DataError, match=r"gone\.png cannot be opened"):
        folder.picture("gone.png")


def test_a_study_serves_its_pictures_from_the_folder_and_maps_its_features(pictures, tmp_path, rng, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    np.save(tmp_path / "features.npy", rng.normal(size=(5, 3)).astype(np.float32))
    items = items_in_place(pictures, None, tmp_path / "features.npy")
    assert isinstance(items.features, np.memmap)
    spec = {
        "study": {"name": "photos", "task": "labels"},
        "queries": {"classes": ["a", "b"]},
        "items": {"pictures": str(pictures), "mapped": str(tmp_path / "features.npy")},
    }
    storage = MemoryStorage()
    record = put_study(storage, spec, items, [])
    assert storage.features("photos") is None
    assert storage.files("photos") == []
    found = item_file(storage, record, check_spec(record.spec), "0.png")
    assert found is not None
    assert found.content_type == "image/png"
    assert item_file(storage, record, check_spec(record.spec), "../secret.png") is None


def test_a_named_picture_that_is_not_there_is_said(pictures, tmp_path):
    (tmp_path / "items.csv").write_text("name,image\none,0.png\ntwo,nine.png\n")
    with pytest.raises(DataError, match='"two" names nine.png, which is not in'):
        items_in_place(pictures, tmp_path / "items.csv")
    with pytest.raises(DataError, match="is no folder"):
        items_in_place(tmp_path / "items.csv")


def test_the_command_that_leaves_pictures_where_they_are(pictures, tmp_path, rng):
    from typer.testing import CliRunner

    from infonn.cli.main import app
    from infonn.storage.sql import SqlStorage

    np.save(tmp_path / "features.npy", rng.normal(size=(5, 3)).astype(np.float32))
    words = ["study", "create", "--pictures", pictures, "--features", tmp_path / "features.npy"]
    words += ["--classes", "heron,stork,crane", "--name", "birds", "--storage", f"sqlite:///{tmp_path}/s.db"]
    made = CliRunner().invoke(app, list(map(str, words)))
    assert made.exit_code == 0, made.output
    spec = SqlStorage(f"sqlite:///{tmp_path}/s.db").study("birds").spec
    assert spec["items"]["pictures"] == str(pictures)
    assert spec["strategy"]["name"] == "typical_margin"
    assert spec["queries"]["first"] == 0
    neither = CliRunner().invoke(app, ["study", "create", "--storage", f"sqlite:///{tmp_path}/s.db"])
    assert "Say what to ask about" in str(neither.exception)
