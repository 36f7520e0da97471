"""The data sets that a `study.toml` can name: items, and what a simulation may know about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray
from infonn.datasets.items import ItemSet
from infonn.queries import Answers
from infonn.records import Item


@dataclass(frozen=True)
class NamedData:
    """Items; their true embedding (items, dims) where it is known; answers people gave where they are on record."""

    items: ItemSet
    truth: FloatArray | None = None
    recorded: Answers | None = None


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


def _item_set(names: object, features: FloatArray | None = None) -> ItemSet:
    """Items of these names; a name that comes again gets a number."""
    seen: dict[str, int] = {}
    items = []
    for name in map(str, names):  # type: ignore[call-overload]
        seen[name] = seen.get(name, 0) + 1
        items.append(Item(name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return ItemSet(tuple(items), None if features is None else np.array(features))
