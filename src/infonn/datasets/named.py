"""The data sets that a `study.toml` can name: items, and what a simulation may know about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, IntArray
from infonn.datasets.items import ItemSet
from infonn.queries import Answers
from infonn.records import Item


@dataclass(frozen=True)
class NamedData:
    """Items, and as far as it is known: their true embedding (items, dims), answers people gave, their true classes.

    `labels` (items,) are positions in `classes`.
    """

    items: ItemSet
    truth: FloatArray | None = None
    recorded: Answers | None = None
    labels: IntArray | None = None
    classes: Sequence[str] = ()


def food73(candidates: int) -> NamedData:
    """73 dishes with six tastes, and people's recorded judgements of which taste alike."""
    from infonn.datasets.food import food73 as load

    food = load()
    return NamedData(_item_set(food.names, food.tastes), recorded=food.queries(candidates))


def alien_eggs(candidates: int) -> NamedData:
    """30 egg shapes on a line from spiky to smooth, and people's recorded answers (two candidates)."""
    from infonn.datasets.eggs import alien_eggs as load

    eggs = load()
    recorded = eggs.chosen_by("RandomSampling").joined(eggs.chosen_by("Test")) if candidates == 2 else None
    return NamedData(_item_set(eggs.names), eggs.smoothness[:, None] / eggs.smoothness.std(), recorded)


def gaussian(n_items: int = 20, n_dims: int = 2, seed: int = 0) -> NamedData:
    """Points of a normal distribution, without features: the paper's MDS experiments."""
    from infonn.datasets.synthetic import gaussian_points

    return NamedData(_item_set(range(n_items)), gaussian_points(n_items, n_dims, default_rng(seed)))


def mahalanobis(n_items: int = 100, n_dims: int = 10, seed: int = 0) -> NamedData:
    """Normal features judged by a random Mahalanobis metric: the paper's synthetic experiment."""
    from infonn.datasets.synthetic import mahalanobis_items

    made = mahalanobis_items(default_rng(seed), n_items, n_dims)
    return NamedData(_item_set(range(n_items), made.features), made.features @ np.linalg.cholesky(made.metric))


def digits(n_items: int = 1797, seed: int = 0) -> NamedData:
    """Small handwritten digits and their classes: 64 pixels each, which need no file."""
    from sklearn.datasets import load_digits

    data = load_digits()
    rows = np.sort(default_rng(seed).permutation(len(data.target))[:n_items])
    items = _item_set([f"digit {row}" for row in rows], data.data[rows])
    return NamedData(items, labels=data.target[rows].astype(np.int64), classes=tuple(str(c) for c in range(10)))


def _item_set(names: object, features: FloatArray | None = None) -> ItemSet:
    """Items of these names; a name that comes again gets a number."""
    seen: dict[str, int] = {}
    items = []
    for name in map(str, names):  # type: ignore[call-overload]
        seen[name] = seen.get(name, 0) + 1
        items.append(Item(name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return ItemSet(tuple(items), None if features is None else np.array(features))
