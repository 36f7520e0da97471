"""Features as a linear classifier takes them: scaled when they are read, never copied whole; a constant beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.threads import in_threads
from infonn.maths.threads import one_thread

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

        def work(first: int, last: int) -> None:
            np.matmul(self._points(rows[first:last]), folded, out=product[first:last])
            product[first:last] += offset

        with one_thread():  # of a matrix product: its own threads would wait for each other at every chunk
            in_threads(work, len(rows), CHUNK, CHUNK)
        return product

    def _points(self, rows: IntArray) -> FloatArray:
        """The embedding's rows; neighbours in order are read where they lie, as most of a pool of millions are."""
        if len(rows) > 1 and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            return np.asarray(self.embedding[int(rows[0]) : int(rows[-1]) + 1], np.float32)
        return np.asarray(self.embedding[rows], np.float32)


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
    sums = np.zeros((-(-n // CHUNK), 2, columns))  # by chunk, so that the number of threads changes no digit

    def work(first: int, last: int) -> None:
        part = np.asarray(features[first:last], np.float32) - shift
        ones = np.ones(len(part), np.float32)
        sums[first // CHUNK, 0] = ones @ part  # a chunk is short enough for single precision
        part *= part
        sums[first // CHUNK, 1] = ones @ part

    with one_thread():
        in_threads(work, n, CHUNK, CHUNK)
    total, squares = sums.sum(axis=0)
    mean = total / max(1, n)
    deviation = np.sqrt(np.maximum(squares / max(1, n) - mean**2, 0))
    deviation[deviation < 1e-5 * np.abs(shift)] = 0  # rounding of a constant column
    return (shift + mean).astype(np.float32), deviation.astype(np.float32)
