"""Draws of the places of many items, made for the rows that are asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infonn.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class LinearDraws:
    """Draws of a linear metric."""

    features: FloatArray  # (items, features)
    weights: FloatArray  # (draws, features, dims)

    def __call__(self, rows: IntArray) -> FloatArray:
        drawn: FloatArray = self.features[rows] @ self.weights
        return drawn


@dataclass(frozen=True)
class PlacedDraws:
    """Draws of places by features and offsets; items that no chain moved have the offsets of `own_noise`."""

    factor: FloatArray  # (items, directions)
    weights: FloatArray  # (draws, directions, dims)
    moved: IntArray  # (moved,), ascending
    offsets: FloatArray  # (draws, moved, dims)
    own: FloatArray  # (draws, 1, dims): deviation of an item's own part

    def __call__(self, rows: IntArray) -> FloatArray:
        rows = np.asarray(rows)
        places = np.minimum(np.searchsorted(self.moved, rows), len(self.moved) - 1)
        offsets = self.offsets[:, places]
        still = self.moved[places] != rows
        if still.any():
            offsets[:, still] = own_noise(len(self.weights), rows[still], self.weights.shape[2])
        return self.factor[rows] @ self.weights + self.own * offsets


def own_noise(n_draws: int, items: IntArray, n_dims: int) -> FloatArray:
    """Standard normal numbers that belong to the items: (draws, items, dims), whichever items are asked for."""
    places = np.asarray(items, np.uint64)[:, None] * np.uint64(n_dims) + np.arange(n_dims, dtype=np.uint64)
    keys = places * np.uint64(2 * n_draws) + 2 * np.arange(n_draws, dtype=np.uint64)[:, None, None]
    radius = np.sqrt(-2 * np.log(_uniform(keys)))
    return radius * np.cos(2 * np.pi * _uniform(keys + np.uint64(1)))


def _uniform(keys: np.ndarray) -> FloatArray:
    """In (0, 1), never an end: splitmix64 of the keys."""
    with np.errstate(over="ignore"):
        bits = (keys + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits = bits ^ (bits >> np.uint64(31))
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * (1.0 / 9007199254740992.0)
