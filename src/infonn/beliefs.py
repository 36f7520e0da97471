"""Belief: what the answers taught us about the items, and draws from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from infonn.arrays import Array, FloatArray, IntArray, to_numpy
from infonn.maths.accuracy import triplet_accuracy
from infonn.maths.placement import LANDMARKS, expected_accuracy, fewest_columns, in_columns, random_triplets
from infonn.maths.responses import ResponseSettings

HIDDEN = "items.hidden"
"""Key of a network's state: (members, items, units), what its last layer sees of each item."""

RowDraws = Callable[[IntArray], FloatArray]
"""Item rows -> (draws, rows, ...): for beliefs too large to hold whole."""


@runtime_checkable
class PointedDraws(Protocol):
    """Row draws of class log-probabilities beside which a point prediction stands, as of dropout switched off."""

    def __call__(self, rows: IntArray) -> FloatArray: ...

    def point(self, rows: IntArray) -> FloatArray:
        """(rows, classes): log-probabilities without noise."""
        ...


@dataclass(frozen=True)
class Belief:
    """What a learner knows: data only, so cheap to fake in a test and to ship to a worker.

    Criteria read draws through `draws_of` and `log_probs_of`, chunk by chunk, so that a million items
    never stand in memory times draws.
    """

    embedding: FloatArray  # (items, dims): the point estimate
    draws: FloatArray | RowDraws | None = None  # (draws, items, dims), or rows -> that
    class_log_probs: FloatArray | RowDraws | None = None  # (draws, items, classes), likewise
    response: ResponseSettings | None = None  # what the learner used or fitted
    state: Mapping[str, Array] | None = None  # what `start=` and embedding new items need

    def draws_of(self, rows: IntArray) -> FloatArray | None:
        """(draws, rows, dims), or None where the belief carries no draws."""
        return _rows_of(self.draws, rows)

    def log_probs_of(self, rows: IntArray) -> FloatArray | None:
        """(draws, rows, classes), or None where the belief knows no classes."""
        return _rows_of(self.class_log_probs, rows)


def map_of(belief: Belief, dims: int | None = None) -> FloatArray:
    """The places that people get to see: `belief.embedding` in `dims` columns, or in as many as its draws agree on.

    An embedding with the mean distances of its draws needs more columns than a draw has: those distances are no
    embedding's own. Whoever predicts uses it whole, and strategies use the draws; a map has the columns asked for.
    """
    points = to_numpy(belief.embedding)
    if dims is None:
        some = belief.draws_of(np.arange(min(len(points), 1)))
        if some is None or points.shape[1] <= some.shape[2]:
            return points
        dims = _supported(belief, points, some.shape[2])
    return points if points.shape[1] == dims else in_columns(points.astype(float), dims)


def triplet_accuracy_of(belief: Belief, triplets: IntArray | None = None) -> float:
    """Share of `triplets` that the embedding orders rightly; without any, the share that the belief's draws expect."""
    points = to_numpy(belief.embedding).astype(float)
    if triplets is not None:
        return triplet_accuracy(points, triplets)
    rows = _some_rows(len(points))
    draws = belief.draws_of(rows)
    assert draws is not None
    return expected_accuracy(points[rows], to_numpy(draws), random_triplets(len(rows)))


def _some_rows(n_items: int) -> IntArray:
    """All items, or 500 of them from first to last."""
    rows: IntArray = np.linspace(0, n_items - 1, min(n_items, LANDMARKS)).astype(np.int64)
    return rows


def _supported(belief: Belief, points: FloatArray, most: int) -> int:
    rows = _some_rows(len(points))
    return fewest_columns(points[rows].astype(float), to_numpy(belief.draws_of(rows)), most)


def _rows_of(draws: FloatArray | RowDraws | None, rows: IntArray) -> FloatArray | None:
    if draws is None:
        return None
    return draws(rows) if callable(draws) else draws[:, rows]


@dataclass(frozen=True)
class Examples:
    """Labelled items, and where every item stands: each class is shown by its item nearest to the one in question."""

    items: IntArray
    classes: IntArray
    embedding: FloatArray

    @cached_property
    def class_of(self) -> dict[int, int]:
        return dict(zip(self.items.tolist(), self.classes.tolist()))

    def nearest(self, item: int) -> dict[int, int]:
        """Class -> its labelled item nearest to `item`, which never stands for itself."""
        others = self.items != item
        items, classes = self.items[others], self.classes[others]
        squared = ((self.embedding[items] - self.embedding[item]) ** 2).sum(axis=1)
        far_to_near = np.argsort(-squared, kind="stable")
        return dict(zip(classes[far_to_near].tolist(), items[far_to_near].tolist()))
