"""Food73: 73 dishes, how they taste, and 72,148 human judgements of which two taste more alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.datasets.shipped import read_table
from infonn.queries import Answers, queries_from_triplets

TASTES = ("salty", "savory", "sour", "bitter", "sweet", "spicy")


@dataclass(frozen=True)
class Food73:
    """Dishes by name; `tastes` (73, 6) sum to 1; `triplets` (72148, 3) are reference, near, far."""

    names: tuple[str, ...]
    tastes: FloatArray
    triplets: IntArray

    def queries(self, n_candidates: int = 3) -> Answers:
        """All NN answers the triplets imply: 1,047,251 of length 3. People contradict each other in some."""
        return _queries(n_candidates)


@lru_cache
def food73() -> Food73:
    """The shipped copy; its arrays are read-only."""
    items = read_table("food73/items.csv")
    percentages = np.array([items[taste] for taste in TASTES], float).T
    triplets = read_table("food73/triplets.csv.gz")
    rows = np.array([triplets[column] for column in ("reference", "near", "far")], np.int32).T
    food = Food73(
        tuple(items["name"]), percentages / percentages.sum(axis=1, keepdims=True), np.ascontiguousarray(rows)
    )
    food.tastes.setflags(write=False)
    food.triplets.setflags(write=False)
    return food


@lru_cache(maxsize=2)
def _queries(n_candidates: int) -> Answers:
    answers = queries_from_triplets(food73().triplets, n_candidates)
    answers.queries.setflags(write=False)
    answers.responses.setflags(write=False)
    return answers
