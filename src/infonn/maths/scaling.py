"""Features brought to one scale, so that no column counts for more because of its unit."""

from __future__ import annotations

import numpy as np

from infonn.arrays import FloatArray


def column_scaling(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of every column; that of a constant column is 1, so that scaling makes it 0."""
    deviation = features.std(axis=0)
    return features.mean(axis=0), np.where(deviation > 0, deviation, deviation.dtype.type(1))


def scaled(features: FloatArray, like: FloatArray | None = None) -> FloatArray:
    """Every column with mean 0 and deviation 1 over the rows of `like`, or over its own; constant columns become 0."""
    mean, deviation = column_scaling(features if like is None else like)
    return (features - mean) / deviation
