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
    raw_mean: FloatArray
    raw_factor: FloatArray  # the same for features as they were given

    def inputs(self, rows: IntArray) -> FloatArray:
        """(rows, columns + 1)."""
        points = (np.asarray(self.embedding[rows], np.float32) - self.mean) * self.factor
        return np.hstack([points, np.ones((len(rows), 1), np.float32)])

    def inputs_of(self, features: FloatArray) -> FloatArray:
        """(n, columns + 1) of items that are not among these, from features as they are given."""
        points = (np.asarray(features, np.float32) - self.raw_mean) * self.raw_factor
        return np.hstack([points, np.ones((len(points), 1), np.float32)])

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
    factor = (1 / (width * length)).astype(np.float32)
    if scale and features.size <= COPIED:
        scaled = ((np.asarray(features, np.float32) - mean) / width).astype(np.float32)
        return Rows(scaled, np.zeros_like(mean), np.full_like(mean, 1 / length), mean, factor)
    raw = features if features.dtype == np.float32 else np.asarray(features, np.float32)
    return Rows(raw, mean, factor, mean, factor)


def column_spread(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each column, in one pass over chunks: (columns,), (columns,) float32.

    Sums are taken less the first chunk's mean, so that no digits are lost far from the origin.
    """
    n, columns = features.shape
    shift = np.asarray(features[:CHUNK], float).mean(axis=0).astype(np.float32) if n else np.zeros(columns, np.float32)
    total, squares = np.zeros(columns), np.zeros(columns)
    for first in range(0, n, CHUNK):
        part = np.asarray(features[first : first + CHUNK], np.float32) - shift
        total += part.sum(axis=0, dtype=float)
        squares += np.einsum("ij,ij->j", part, part)  # a chunk is short enough for single precision
    mean = total / max(1, n)
    deviation = np.sqrt(np.maximum(squares / max(1, n) - mean**2, 0))
    deviation[deviation < 1e-5 * np.abs(shift)] = 0  # rounding of a constant column
    return (shift + mean).astype(np.float32), deviation.astype(np.float32)
