"""Which of three is the odd one: the two others are the nearest pair.

The pair is chosen as a nearest candidate is, among the three distances of the triple: P(k is odd) is in proportion to
the weight of d(i, j), the distance between the two others. So one response model serves both kinds of question.
"""

from __future__ import annotations

import numpy as np

from infonn.arrays import Array, FloatArray, IntArray
from infonn.maths.responses import ResponseSettings, nearest_log_probs

_OTHERS = ((1, 2), (0, 2), (0, 1))  # of the three, by place


def opposite_squared_distances(embedding: FloatArray, triples: IntArray) -> FloatArray:
    """Squared distance between the two others, for each of three items: (..., items, dims), (n, 3) -> (..., n, 3)."""
    corners = embedding[..., triples, :]  # (..., n, 3, dims)
    return np.stack([((corners[..., i, :] - corners[..., j, :]) ** 2).sum(axis=-1) for i, j in _OTHERS], axis=-1)


def odd_log_probs(opposite: Array, settings: ResponseSettings) -> Array:
    """log P(item is the odd one), by the squared distances between the two others: (..., 3) -> (..., 3)."""
    return nearest_log_probs(opposite, settings)
