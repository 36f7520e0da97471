"""Features of pictures, and items of torch and Hugging Face datasets: against the real packages."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from PIL import Image

from infonn.adapters.torch_features import items_of, load_model, picture_features
from infonn.errors import DataError, InfonnError

NETWORK = """
import torch

class Means(torch.nn.Module):
    "The mean colour of every quarter of a picture."
    def forward(self, pictures):
        return torch.nn.functional.adaptive_avg_pool2d(pictures, 2)
"""


@pytest.fixture
def pictures(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(7):
        Image.new("RGB", (20 + i, 30), (30 * i, 255 - 30 * i, 90)).save(folder / f"p{i}.png")
    return sorted(folder.glob("*.png"))


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, batch: "torch.Tensor") -> "torch.Tensor":
        self.seen += len(batch)
        return batch.mean(dim=(2, 3))


def test_features_are_computed_once_and_mapped_from_their_file(pictures: list[Path], tmp_path: Path) -> None:
    model, steps = Counting(), list[int]()
    first = picture_features(
        model, pictures, tmp_path / "f.npy", size=16, batch=3, progress=lambda done, total: steps.append(done)
    )
    assert isinstance(first, np.memmap)
    assert first.shape == (7, 3)
    assert steps == [3, 6, 7]
    again = picture_features(model, pictures, tmp_path / "f.npy", size=16, batch=3)
    np.testing.assert_array_equal(again, first)
    assert model.seen == 7


def test_the_batch_size_changes_nothing(pictures: list[Path], tmp_path: Path) -> None:
    one = picture_features(Counting(), pictures, tmp_path / "1.npy", size=16, batch=1)
    all_ = picture_features(Counting(), pictures, tmp_path / "7.npy", size=16, batch=7)
    np.testing.assert_allclose(one, all_, rtol=1e-6)


def test_an_interrupted_run_goes_on_where_it_ended(pictures: list[Path], tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    model = Counting()
    with pytest.raises(KeyboardInterrupt):
        picture_features(model, pictures, tmp_path / "f.npy", size=16, batch=2, progress=stop)
    found = picture_features(model, pictures, tmp_path / "f.npy", size=16, batch=2)
    assert model.seen == 7
    whole = picture_features(Counting(), pictures, tmp_path / "g.npy", size=16)
    np.testing.assert_allclose(found, whole, rtol=1e-6)


def test_other_pictures_or_another_model_are_computed_anew(pictures: list[Path], tmp_path: Path) -> None:
    model = Counting()
    picture_features(model, pictures[:5], tmp_path / "f.npy", size=16)
    assert picture_features(model, pictures, tmp_path / "f.npy", size=16).shape == (7, 3)
    picture_features(model, pictures, tmp_path / "f.npy", size=16, name="another")
    assert model.seen == 5 + 7 + 7


def test_the_command_writes_features_by_a_class_in_this_folder(pictures: list[Path], tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETWORK)
    command = [sys.executable, "-m", "infonn", "features", "--model", "nets:Means", "--items", "pictures"]
    done = subprocess.run([*command, "--size", "16"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "7 pictures, 12 features each" in done.stdout
    assert np.load(tmp_path / "features.npy").shape == (7, 12)


@pytest.mark.parametrize("name", ["resnet18", "no_such_module:Net", "math:no_such", "math:tau"])
def test_a_model_that_cannot_be_made_is_one_sentence(name: str) -> None:
    with pytest.raises((InfonnError, TypeError)):
        load_model(name)


# --- datasets --------------------------------------------------------------------------------------


class Rows(torch.utils.data.Dataset):  # type: ignore[type-arg,misc]
    def __init__(self, rows: list[object]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> object:
        return self.rows[index]


def test_pictures_of_a_torch_dataset_become_files(tmp_path: Path) -> None:
    rows = [(torch.full((1, 4, 5), i / 10), i % 2) for i in range(11)]
    items = items_of(Rows(rows), tmp_path)
    assert items.names[:2] == ["00", "01"]
    assert items.folder == tmp_path
    with Image.open(tmp_path / "10.png") as image:
        assert image.size == (5, 4)
        assert image.getpixel((0, 0)) == (255, 255, 255)


def test_rows_of_numbers_become_features() -> None:
    items = items_of(Rows([(torch.tensor([i, 2.0]), 0) for i in range(3)]), names=["a", "b", "c"])
    np.testing.assert_array_equal(items.features, [[0, 2], [1, 2], [2, 2]])


def test_a_hugging_face_dataset_gives_text_or_pictures(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    texts = datasets.Dataset.from_dict({"text": ["good", "bad"], "label": [1, 0]})
    assert [item.text for item in items_of(texts).items] == ["good", "bad"]
    images = [Image.new("RGB", (3, 3), (i, 0, 0)) for i in range(2)]
    shown = datasets.Dataset.from_dict({"image": images}).cast_column("image", datasets.Image())
    assert [item.image for item in items_of(shown, tmp_path).items] == ["0.png", "1.png"]
    with pytest.raises(DataError, match="key="):
        items_of(datasets.Dataset.from_dict({"a": [1], "b": [2]}))


def test_a_named_network_of_torchvision_is_built_without_its_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        import torchvision
    except (ImportError, RuntimeError) as error:  # one built for another torch than this
        pytest.skip(f"torchvision cannot be used here: {error}")
    get_model = torchvision.models.get_model
    monkeypatch.setattr(torchvision.models, "get_model", lambda name, weights: get_model(name, weights=None))
    model = load_model("torchvision:resnet18")
    with torch.inference_mode():
        assert model(torch.zeros(1, 3, 64, 64)).shape == (1, 512)
