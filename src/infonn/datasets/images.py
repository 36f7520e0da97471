"""Pictures with classes: MNIST, CIFAR-10 and SVHN from their official files, scikit-learn's digits, a folder of yours.

Data sets are looked for in the folder that INFONN_DATA names, each under its own name. The official files are checked
by their published md5 sums; CIFAR-10 may also lie there as lossless .webp sheets of 100 x 100 pictures.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.errors import DataError, MissingPartError, unknown_name

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
DIGITS = tuple(str(digit) for digit in range(10))

MD5 = {  # of the official files
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
    "cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530",
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
    "train_32x32.mat": "e26dedcc434d2e4c54c9b2d4a06d8373",
    "test_32x32.mat": "eb5a983be6a315427106f1b164d9cef3",
}
SOURCES = {  # where the official files are
    "mnist": ("https://ossci-datasets.s3.amazonaws.com/mnist/", tuple(name for name in MD5 if "ubyte" in name)),
    "cifar10": ("https://www.cs.toronto.edu/~kriz/", ("cifar-10-binary.tar.gz",)),
    "svhn": ("http://ufldl.stanford.edu/housenumbers/", ("train_32x32.mat", "test_32x32.mat")),
}


@dataclass(frozen=True)
class Pictures:
    """Pictures as bytes, (n, height, width) or (n, height, width, 3), with their classes; a pool and a test set."""

    images: IntArray
    labels: IntArray
    test_images: IntArray
    test_labels: IntArray
    classes: Sequence[str]
    note: str = ""  # what differs from the official data


def load(name: str, folder: str | Path | None = None, checked: bool = True) -> Pictures:
    """The data set of that name: digits, mnist, cifar10, svhn. `folder` stands in for INFONN_DATA.

    `checked` False reads files whatever their md5 sum.
    """
    if name not in LOADERS:
        raise unknown_name("Data set", name, LOADERS)
    if name == "digits":
        return digits()
    root = folder if folder is not None else os.environ.get("INFONN_DATA")
    if not root:
        raise DataError(
            f"{name} needs its files. Set INFONN_DATA to a folder that holds {name}/, or fetch them with "
            f'infonn.datasets.images.download("{name}", folder).'
        )
    place = Path(root) / name
    return LOADERS[name](place if place.is_dir() else Path(root), checked)


def digits(n_test: int = 500, seed: int = 0) -> Pictures:
    """scikit-learn's 1,797 digits of 8 x 8, which need no file; `n_test` of them are the test set."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = np.minimum(data.images * 16, 255).astype(np.uint8)
    labels = data.target.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    test, rest = np.sort(order[:n_test]), np.sort(order[n_test:])
    return Pictures(images[rest], labels[rest], images[test], labels[test], DIGITS)


# --- official files --------------------------------------------------------------------------------------


def _mnist(folder: Path, checked: bool) -> Pictures:
    train = _idx(folder, "train-images-idx3-ubyte", checked), _idx(folder, "train-labels-idx1-ubyte", checked)
    test = _idx(folder, "t10k-images-idx3-ubyte", checked), _idx(folder, "t10k-labels-idx1-ubyte", checked)
    for images, labels in (train, test):
        _check_sizes("MNIST", images, labels)
    return Pictures(train[0], train[1].astype(np.int64), test[0], test[1].astype(np.int64), DIGITS)


def _idx(folder: Path, name: str, checked: bool) -> IntArray:
    """An IDX file, gzip or plain: two zero bytes, the type (8: bytes), the number of axes, their sizes, the data."""
    path = _find(folder, (f"{name}.gz", name), "mnist")
    raw = path.read_bytes()
    if checked:
        _check_sum(path.name, raw, path)
    content = gzip.decompress(raw) if path.suffix == ".gz" else raw
    zero, kind, n_axes = struct.unpack(">HBB", content[:4])
    if zero or kind != 8:
        raise DataError(f"{path} is not an IDX file of bytes.")
    shape = struct.unpack(f">{n_axes}I", content[4 : 4 + 4 * n_axes])
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
    if values.size != np.prod(shape):
        raise DataError(f"{path} holds {values.size} bytes of data; its header promises {shape}.")
    return values.reshape(shape)


def _cifar10(folder: Path, checked: bool) -> Pictures:
    names = [f"data_batch_{i}" for i in range(1, 6)]
    batches = [_cifar10_batch(folder, name, checked) for name in names]
    test_images, test_labels = _cifar10_batch(folder, "test_batch", checked)
    images = np.concatenate([images for images, _ in batches])
    labels = np.concatenate([labels for _, labels in batches])
    return Pictures(images, labels.astype(np.int64), test_images, test_labels.astype(np.int64), CIFAR10_CLASSES)


def _cifar10_batch(folder: Path, name: str, checked: bool) -> tuple[IntArray, IntArray]:
    """10,000 pictures: the official binary form (a label byte, then 3 x 32 x 32), on its own, in its archive, or as
    a .webp sheet with the labels beside it."""
    for path in (folder / f"{name}.bin", folder / "cifar-10-batches-bin" / f"{name}.bin"):
        if path.is_file():
            return _from_binary(path.read_bytes(), f"{name}.bin", path, checked)
    archive = folder / "cifar-10-binary.tar.gz"
    if archive.is_file():
        with tarfile.open(archive) as tar:
            member = tar.extractfile(f"cifar-10-batches-bin/{name}.bin")
            assert member is not None
            return _from_binary(member.read(), f"{name}.bin", archive, checked)
    sheet = _find(folder, (f"{name}.webp",), "cifar10")
    pixels = read_picture(sheet)
    side = pixels.shape[0] // 32
    images = pixels.reshape(side, 32, side, 32, 3).transpose(0, 2, 1, 3, 4).reshape(-1, 32, 32, 3)
    kind, first = ("test", 0) if name == "test_batch" else ("train", (int(name[-1]) - 1) * len(images))
    labels = np.load(_find(folder, (f"{kind}_labels.npy",), "cifar10"))[first : first + len(images)]
    _check_sizes("CIFAR-10", images, labels)
    if checked:
        flat = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
        _check_sum(f"{name}.bin", np.hstack([labels[:, None].astype(np.uint8), flat]).tobytes(), sheet)
    return images, labels


def _from_binary(content: bytes, name: str, path: Path, checked: bool) -> tuple[IntArray, IntArray]:
    if checked:
        _check_sum(name, content, path)
    if not content or len(content) % 3073:
        raise DataError(f"{path} has {len(content)} bytes; a CIFAR-10 batch is rows of 3,073.")
    rows = np.frombuffer(content, np.uint8).reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0]


def _svhn(folder: Path, checked: bool) -> Pictures:
    """The official .mat files; else the piece of the training set that may be there, its last fifth as test set."""
    if (folder / "train_32x32.mat").is_file():
        train, test = (_svhn_mat(folder, f"{part}_32x32.mat", checked) for part in ("train", "test"))
        return Pictures(*train, *test, DIGITS)
    pieces = sorted(folder.glob("train_first*.npz"))
    if not pieces:
        _find(folder, ("train_32x32.mat",), "svhn")
    with np.load(pieces[0], allow_pickle=False) as piece:
        images, labels = piece["images"], piece["labels"].astype(np.int64)
    _check_sizes("SVHN", images, labels)
    cut = len(images) * 4 // 5  # by position: neighbours are crops of one photograph
    note = f"only the first {len(images)} of 73,257 training pictures; the last fifth of them is the test set"
    return Pictures(images[:cut], labels[:cut], images[cut:], labels[cut:], DIGITS, note)


def _svhn_mat(folder: Path, name: str, checked: bool) -> tuple[IntArray, IntArray]:
    from scipy.io import loadmat

    path = _find(folder, (name,), "svhn")
    if checked:
        _check_sum(name, path.read_bytes(), path)
    data = loadmat(path)
    images = np.ascontiguousarray(data["X"].transpose(3, 0, 1, 2))
    labels = data["y"].ravel().astype(np.int64) % 10  # the digit 0 is written as 10
    _check_sizes("SVHN", images, labels)
    return images, labels


LOADERS: dict[str, Callable[[Path, bool], Pictures]] = {
    "digits": lambda folder, checked: digits(),
    "mnist": _mnist,
    "cifar10": _cifar10,
    "svhn": _svhn,
}


def _find(folder: Path, names: Sequence[str], dataset: str) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(
        f"{names[0]} is not in {folder}. Put the official files of {dataset} there, or fetch them with "
        f'infonn.datasets.images.download("{dataset}", folder).'
    )


def _check_sum(name: str, content: bytes, path: Path) -> None:
    wanted = MD5.get(name)
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if wanted is not None and found != wanted:
        raise DataError(f"{path} is not the official {name}: its md5 sum is {found}, and {wanted} was published.")


def _check_sizes(name: str, images: IntArray, labels: IntArray) -> None:
    if len(images) != len(labels):
        raise DataError(f"{name} has {len(images)} pictures and {len(labels)} labels; there must be one for each.")


def download(name: str, folder: str | Path) -> Path:
    """Fetch the official files into `folder`/`name`, checked; files that are there already stay. Needs the internet."""
    if name not in SOURCES:
        raise unknown_name("Data set", name, SOURCES)
    address, files = SOURCES[name]
    place = Path(folder) / name
    place.mkdir(parents=True, exist_ok=True)
    for file in files:
        if (place / file).is_file():
            continue
        try:
            with urllib.request.urlopen(address + file, timeout=60) as reply:
                content = reply.read()
        except OSError as error:
            raise DataError(
                f"{address}{file} cannot be fetched ({error}). Put the file into {place} by hand."
            ) from error
        _check_sum(file, content, place / file)
        with tempfile.NamedTemporaryFile(dir=place, delete=False) as part:
            part.write(content)
        Path(part.name).replace(place / file)
    return place


# --- pictures of yours -----------------------------------------------------------------------------------


def read_picture(path: str | Path, size: int | None = None) -> IntArray:
    """One picture as bytes (height, width, 3); with `size`, its middle square scaled to (size, size, 3)."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError as error:
        raise MissingPartError("Reading pictures needs Pillow: pip install pillow.") from error
    try:
        with Image.open(path) as opened:
            picture: Any = ImageOps.exif_transpose(opened).convert("RGB")
            if size is not None:
                picture = ImageOps.fit(picture, (size, size))
            return np.asarray(picture)
    except (OSError, UnidentifiedImageError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} cannot be read as a picture: {error}") from error


def read_pictures(paths: Sequence[str | Path], size: int = 32) -> IntArray:
    """Many pictures, whatever their sizes, as (n, size, size, 3)."""
    return np.stack([read_picture(path, size) for path in paths]) if paths else np.empty((0, size, size, 3), np.uint8)


def pixel_features(images: IntArray, n_columns: int = 32) -> FloatArray:
    """Principal components of the pixels, the first with deviation 1: plain features for those who bring none."""
    flat = images.reshape(len(images), -1).astype(np.float32) / 255
    left, scales, _ = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
    largest = max(float(scales[0]) if len(scales) else 0.0, 1e-6)
    found: FloatArray = (left * (scales / largest))[:, :n_columns] * np.sqrt(len(images))
    return found
