"""The data sets of the label panel: each trial draws its own pool and its own test items."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.datasets.images import Pictures, load

N_COPIES, N_COLUMNS = 20_000, 256  # of the digits resampled
N_MNIST, N_MNIST_TEST = 2000, 1000  # drawn anew in each trial
RARE_SHARE = 0.06  # of the items of a rare class stay
NETWORK_ITEMS, NETWORK_TEST, NETWORK_LABELS = 10_000, 2000, 3000  # that get features of a network, that it learns from
CACHE = Path(tempfile.gettempdir()) / "infonn-label-panel"


@dataclass(frozen=True)
class LabelSet:
    """Items to choose from, then test items: features and classes of both, the first `n_pool` rows are the pool."""

    features: FloatArray
    labels: IntArray
    n_pool: int
    n_classes: int

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(str(c) for c in range(self.n_classes))


def _joined(pool: FloatArray, labels: IntArray, test: FloatArray, test_labels: IntArray, n_classes: int) -> LabelSet:
    features = np.concatenate([pool, test]).astype(np.float32)
    return LabelSet(features, np.concatenate([labels, test_labels]).astype(np.int64), len(pool), n_classes)


def _split(data: tuple[FloatArray, IntArray], n_test: int, rng: Generator) -> LabelSet:
    features, labels = data
    order = rng.permutation(len(labels))
    test, pool = order[:n_test], order[n_test:]
    return _joined(features[pool], labels[pool], features[test], labels[test], int(labels.max()) + 1)


# --- digits ----------------------------------------------------------------------------------------------


def digits(rng: Generator) -> LabelSet:
    """scikit-learn's digits, 64 pixels each."""
    from sklearn.datasets import load_digits

    return _split(load_digits(return_X_y=True), 500, rng)


def near_copies(rng: Generator) -> LabelSet:
    """20,000 digits resampled with a little noise, 256 features: fifteen near copies of each."""
    plain = digits(rng)
    copied = rng.integers(0, plain.n_pool, N_COPIES)
    mixing = rng.standard_normal((plain.features.shape[1], N_COLUMNS)) / 8
    pool, test = plain.features[copied] @ mixing, plain.features[plain.n_pool :] @ mixing
    noise = 0.05 * pool.std()
    pool, test = (part + noise * rng.standard_normal(part.shape) for part in (pool, test))
    return _joined(pool, plain.labels[copied], test, plain.labels[plain.n_pool :], 10)


def rare_classes(rng: Generator) -> LabelSet:
    """Digits of which five classes are rare in the pool, and as frequent as the others in the test."""
    plain = digits(rng)
    rare = rng.permutation(10)[:5]
    labels = plain.labels[: plain.n_pool]
    stays = ~np.isin(labels, rare) | (rng.random(len(labels)) < RARE_SHARE)
    rows = np.concatenate([np.flatnonzero(stays), np.arange(plain.n_pool, len(plain.labels))])
    return LabelSet(plain.features[rows], plain.labels[rows], int(stays.sum()), 10)


# --- made up ---------------------------------------------------------------------------------------------


def blobs(rng: Generator) -> LabelSet:
    """50 classes, each a blob in 64 dimensions."""
    labels = rng.integers(0, 50, 4000)
    features = rng.standard_normal((50, 64))[labels] + 1.6 * rng.standard_normal((4000, 64))
    return _joined(features[:3000], labels[:3000], features[3000:], labels[3000:], 50)


def overlapping(rng: Generator) -> LabelSet:
    """Two classes in 10 dimensions that overlap: nobody gets above 84 % or so."""
    labels = rng.integers(0, 2, 3000)
    features = rng.standard_normal((3000, 10))
    features[:, 0] += 2.0 * labels
    return _joined(features[:2000], labels[:2000], features[2000:], labels[2000:], 2)


# --- MNIST -----------------------------------------------------------------------------------------------


def mnist_pixels(rng: Generator) -> LabelSet:
    """MNIST on 50 principal components of its pixels."""
    return _drawn(_kept("pixels", _mnist_components), 10, rng)


def mnist_low_to_high(rng: Generator) -> LabelSet:
    """The digits 5 to 9 on features of a network that learned to tell 0 to 4 apart."""
    return _drawn(_kept("low", lambda: _network_features(range(5))), 5, rng)


def mnist_high_to_low(rng: Generator) -> LabelSet:
    """The digits 0 to 4 on features of a network that learned to tell 5 to 9 apart."""
    return _drawn(_kept("high", lambda: _network_features(range(5, 10))), 5, rng)


Parts = tuple[FloatArray, IntArray, FloatArray, IntArray]  # features and classes, of the pool and of the test


def _drawn(parts: Parts, n_classes: int, rng: Generator) -> LabelSet:
    """As many items of the pool and of the test as a trial has."""
    features, labels, test, test_labels = parts
    pool = rng.choice(len(labels), min(N_MNIST, len(labels)), replace=False)
    tested = rng.choice(len(test_labels), min(N_MNIST_TEST, len(test_labels)), replace=False)
    return _joined(features[pool], labels[pool], test[tested], test_labels[tested], n_classes)


@lru_cache(maxsize=4)
def _kept(name: str, make: Callable[[], Parts]) -> Parts:
    """Features that take long to make, kept among the temporary files."""
    path = CACHE / f"{name}.npz"
    if not path.is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{name}.{np.random.SeedSequence().entropy}.npz")  # others may be making it too
        np.savez(beside, *make())
        beside.replace(path)
    with np.load(path) as kept:
        pool, labels, test, test_labels = (kept[f"arr_{i}"] for i in range(4))
    return pool, labels, test, test_labels


def _mnist_components() -> Parts:
    data = load("mnist")
    train, test = (
        images.reshape(len(images), -1).astype(np.float32) / 255 for images in (data.images, data.test_images)
    )
    mean = train.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((train - mean).T))
    axes = axes[:, ::-1][:, :50].astype(np.float32)
    return (train - mean) @ axes, data.labels, (test - mean) @ axes, data.test_labels


def _flat(images: IntArray) -> FloatArray:
    return images.reshape(len(images), -1).astype(np.float32) / 255


def _network_features(seen: range) -> Parts:
    """The last hidden layer of a network that learned the digits `seen`, for all other digits."""
    from dataclasses import replace

    from infonn.learners.classifiers.cnn import CNN, STRONG
    from infonn.queries import Answers

    data: Pictures = load("mnist")
    rng = np.random.default_rng(0)
    unseen = ~np.isin(data.labels, list(seen))
    taught = rng.choice(np.flatnonzero(~unseen), NETWORK_LABELS, replace=False)
    pool = rng.choice(np.flatnonzero(unseen), NETWORK_ITEMS, replace=False)
    test = rng.choice(np.flatnonzero(~np.isin(data.test_labels, list(seen))), NETWORK_TEST, replace=False)
    images = np.concatenate([data.images[taught], data.images[pool], data.test_images[test]])
    queries = np.full((NETWORK_LABELS, 3), -1, np.int32)
    queries[:, 0] = np.arange(NETWORK_LABELS)
    answers = Answers(queries, (data.labels[taught] - seen[0]).astype(np.int32), "label")
    learner = CNN(images, 5, replace(STRONG, steps=300, augment=None), n_draws=1)
    hidden = np.asarray(learner.fit(answers, rng).embedding[NETWORK_LABELS:], np.float32)
    first = 5 if seen[0] == 0 else 0
    return hidden[:NETWORK_ITEMS], data.labels[pool] - first, hidden[NETWORK_ITEMS:], data.test_labels[test] - first


# --- scikit-learn's other sets ---------------------------------------------------------------------------


def iris(rng: Generator) -> LabelSet:
    """150 flowers of three species, 4 measures."""
    from sklearn.datasets import load_iris

    return _split(load_iris(return_X_y=True), 50, rng)


def wine(rng: Generator) -> LabelSet:
    """178 wines of three growers, 13 measures."""
    from sklearn.datasets import load_wine

    return _split(load_wine(return_X_y=True), 58, rng)


def breast_cancer(rng: Generator) -> LabelSet:
    """569 tumours, benign or not, 30 measures."""
    from sklearn.datasets import load_breast_cancer

    return _split(load_breast_cancer(return_X_y=True), 169, rng)


SETS: dict[str, Callable[[Generator], LabelSet]] = {
    "digits": digits,
    "near copies": near_copies,
    "rare classes": rare_classes,
    "50 blobs": blobs,
    "overlap": overlapping,
    "MNIST pixels": mnist_pixels,
    "MNIST 0-4 to 5-9": mnist_low_to_high,
    "MNIST 5-9 to 0-4": mnist_high_to_low,
    "iris": iris,
    "wine": wine,
    "breast cancer": breast_cancer,
}
WITHOUT_FILES = tuple(name for name in SETS if not name.startswith("MNIST"))
