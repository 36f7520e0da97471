"""Features as a linear classifier takes them: scaled when they are read, never copied whole; a constant beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infonn.arrays import FloatArray, IntArray

CHUNK = 1 << 13  # items whose scaled features stand in memory at once
COPIED = 1 << 27  # numbers (half a gigabyte) up to which a scaled copy is worth its memory


@dataclass(frozen=True)
class Rows:
    """Inputs (item - mean) / deviation / length and a last 1, so that an input's squared length is 2 on average.

    `embedding` is the items less their mean over their deviation, as far as that is a copy worth its memory.
    """

    embedding: FloatArray
    mean: FloatArray
    factor: FloatArray  # what an embedding's row less `mean` is multiplied by

    def inputs(self, rows: IntArray) -> FloatArray:
        """(rows, columns + 1)."""
        points = (np.asarray(self.embedding[rows], np.float32) - self.mean) * self.factor
        return np.hstack([points, np.ones((len(rows), 1), np.float32)])

    def times(self, rows: IntArray, weights: FloatArray) -> FloatArray:
        """Inputs times `weights` (columns + 1, n), in float32: (rows, n), a chunk at a time."""
        folded = np.asarray(self.factor[:, None] * weights[:-1], np.float32)
        offset = np.asarray(weights[-1] - self.mean @ folded, np.float32)
        product = np.empty((len(rows), weights.shape[1]), np.float32)
        for first in range(0, len(rows), CHUNK):
            part = slice(first, first + CHUNK)
            product[part] = np.asarray(self.embedding[rows[part]], np.float32) @ folded
        product += offset
        return product


def rows_of(features: FloatArray, scale: bool) -> Rows:
    """Rows of `features`, each column with deviation 1 where `scale`; of large ones no scaled copy is made."""
    mean, deviation = column_spread(features)
    width = np.where(deviation > 0, deviation, 1.0) if scale else np.ones_like(deviation)
    length = max(float(((deviation / width) ** 2).sum()) ** 0.5, 1e-12)
    if scale and features.size <= COPIED:
        scaled = ((np.asarray(features, np.float32) - mean) / width).astype(np.float32)
        return Rows(scaled, np.zeros_like(mean), np.full_like(mean, 1 / length))
    raw = features if features.dtype == np.float32 else np.asarray(features, np.float32)
    return Rows(raw, mean, (1 / (width * length)).astype(np.float32))


def column_spread(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each column, in two passes over chunks: (columns,), (columns,) float32."""
    total = np.zeros(features.shape[1])
    for first in range(0, len(features), CHUNK):
        total += np.asarray(features[first : first + CHUNK], float).sum(axis=0)
    mean = total / max(1, len(features))
    squares = np.zeros(features.shape[1])
    for first in range(0, len(features), CHUNK):
        squares += ((np.asarray(features[first : first + CHUNK], float) - mean) ** 2).sum(axis=0)
    return mean.astype(np.float32), np.sqrt(squares / max(1, len(features))).astype(np.float32)
