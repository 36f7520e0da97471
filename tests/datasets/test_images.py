"""Loaders on tiny files in the official formats, and what they say about files that are not."""

import gzip
import struct
import tarfile

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from infonn.datasets import images
from infonn.datasets.images import DataError, digits, download, load, pixel_features, read_picture, read_pictures


def write_idx(path, array):
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    content = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_mnist(folder, rng, ending=".gz", n=6):
    folder.mkdir()
    pixels = rng.integers(0, 256, (n, 28, 28))
    for part in ("train", "t10k"):
        write_idx(folder / f"{part}-images-idx3-ubyte{ending}", pixels)
        write_idx(folder / f"{part}-labels-idx1-ubyte{ending}", np.arange(n))
    return pixels


@pytest.mark.parametrize("ending", [".gz", ""])
def test_mnist_is_read_from_idx_files(tmp_path, rng, ending, monkeypatch):
    pixels = write_mnist(tmp_path / "mnist", rng, ending)
    monkeypatch.setenv("INFONN_DATA", str(tmp_path))
    data = load("mnist", checked=False)
    np.testing.assert_array_equal(data.images, pixels)
    assert data.labels.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_file_that_is_not_the_official_one_is_named(tmp_path, rng):
    write_mnist(tmp_path / "mnist", rng)
    with pytest.raises(DataError, match="is not the official train-images-idx3-ubyte.gz"):
        load("mnist", tmp_path)


def test_a_cut_file_is_named(tmp_path, rng):
    write_mnist(tmp_path / "mnist", rng, "")
    path = tmp_path / "mnist" / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match="its header promises"):
        load("mnist", tmp_path, checked=False)


def test_a_missing_file_says_where_to_put_it(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"Put the official files of mnist there"):
        load("mnist", tmp_path)
    monkeypatch.delenv("INFONN_DATA", raising=False)
    with pytest.raises(DataError, match="Set INFONN_DATA"):
        load("cifar10")
    with pytest.raises(ValueError, match="Did you mean"):
        load("cifar")


def cifar_rows(rng, n=100):
    labels = rng.integers(0, 10, (n, 1))
    return np.hstack([labels, rng.integers(0, 256, (n, 3072))]).astype(np.uint8)


CIFAR_NAMES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]


def test_cifar10_is_the_same_from_binary_files_archive_and_sheets(tmp_path, rng):
    rows = {name: cifar_rows(rng) for name in CIFAR_NAMES}
    plain, archived, sheets = (tmp_path / kind for kind in ("plain", "archived", "sheets"))
    for folder in (plain, archived, sheets):
        (folder / "cifar10").mkdir(parents=True)
    for name, content in rows.items():
        (plain / "cifar10" / f"{name}.bin").write_bytes(content.tobytes())
        pixels = content[:, 1:].reshape(10, 10, 3, 32, 32).transpose(0, 3, 1, 4, 2).reshape(320, 320, 3)
        Image.fromarray(pixels).save(sheets / "cifar10" / f"{name}.webp", lossless=True)
    np.save(sheets / "cifar10" / "train_labels.npy", np.concatenate([rows[name][:, 0] for name in CIFAR_NAMES[:5]]))
    np.save(sheets / "cifar10" / "test_labels.npy", rows["test_batch"][:, 0])
    with tarfile.open(archived / "cifar10" / "cifar-10-binary.tar.gz", "w:gz") as tar:
        for name in CIFAR_NAMES:
            tar.add(plain / "cifar10" / f"{name}.bin", f"cifar-10-batches-bin/{name}.bin")
    first = load("cifar10", plain, checked=False)
    assert first.images.shape == (500, 32, 32, 3)
    assert first.images[0, 0, 1].tolist() == rows["data_batch_1"][0, 1:].reshape(3, 32, 32)[:, 0, 1].tolist()
    for folder in (archived, sheets):
        other = load("cifar10", folder, checked=False)
        np.testing.assert_array_equal(other.images, first.images)
        np.testing.assert_array_equal(other.labels, first.labels)
        np.testing.assert_array_equal(other.test_images, first.test_images)
    with pytest.raises(DataError, match="not the official data_batch_1.bin"):
        load("cifar10", sheets)


def test_svhn_is_read_from_mat_files_or_from_a_piece(tmp_path, rng):
    (tmp_path / "svhn").mkdir()
    pixels = rng.integers(0, 256, (10, 32, 32, 3)).astype(np.uint8)
    labels = np.array([10, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    np.savez(tmp_path / "svhn" / "train_first10.npz", images=pixels, labels=labels % 10)
    piece = load("svhn", tmp_path)
    assert len(piece.images) == 8
    assert "first 10 of 73,257" in piece.note
    for part in ("train", "test"):
        savemat(tmp_path / "svhn" / f"{part}_32x32.mat", {"X": pixels.transpose(1, 2, 3, 0), "y": labels[:, None]})
    data = load("svhn", tmp_path, checked=False)
    np.testing.assert_array_equal(data.images, pixels)
    assert data.labels.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_digits_need_no_file():
    data = digits()
    assert data.images.shape == (1297, 8, 8)
    assert data.images.dtype == np.uint8
    assert len(data.test_labels) == 500


def test_download_checks_what_it_gets_and_says_what_failed(tmp_path, monkeypatch):
    class Reply:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def read(self):
            return b"something else"

    monkeypatch.setattr(images.urllib.request, "urlopen", lambda *_, **__: Reply())
    with pytest.raises(DataError, match="not the official"):
        download("mnist", tmp_path)
    assert not list((tmp_path / "mnist").iterdir())

    def offline(*_, **__):
        raise OSError("no route")

    monkeypatch.setattr(images.urllib.request, "urlopen", offline)
    with pytest.raises(DataError, match="by hand"):
        download("svhn", tmp_path)


def test_pictures_of_any_size_become_squares(tmp_path):
    for name, size in (("wide.png", (40, 20)), ("high.jpg", (9, 33)), ("tiny.png", (1, 1))):
        Image.new("RGB", size, (200, 10, 10)).save(tmp_path / name)
    Image.new("L", (10, 10), 7).save(tmp_path / "grey.png")
    found = read_pictures(sorted(tmp_path.iterdir()), 16)
    assert found.shape == (4, 16, 16, 3)
    assert pixel_features(found).shape == (4, 4)


def test_what_is_no_picture_is_named(tmp_path):
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    with pytest.raises(DataError, match=r"broken.png cannot be read as a picture"):
        read_picture(tmp_path / "broken.png")


@pytest.mark.data
@pytest.mark.parametrize("name, shape", [("mnist", (60000, 28, 28)), ("cifar10", (50000, 32, 32, 3))])
def test_the_real_files_have_the_published_sums(name, shape):
    data = load(name)
    assert data.images.shape == shape
    assert len(data.test_labels) == 10000


@pytest.mark.data
def test_the_piece_of_svhn():
    assert load("svhn").images.shape == (866, 32, 32, 3)
