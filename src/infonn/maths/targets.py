"""What a label tells of the labels of other items (EPIG), under draws that may count unequally."""

from __future__ import annotations

import numpy as np

from infonn.arrays import FloatArray

MOST_CLASSES = 10  # beyond these, the least likely classes of an item count as one


def label_target_information(probs: FloatArray, targets: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Nats that each label tells of one target's label, on average: (draws, n, k), (draws, t, l) -> (n,).

    `weights` (draws,) are the shares of the draws, equal where there are none. The plain version, for equal ones, is
    `maths.pairs.target_information`. The table of all pairs of labels is never held.
    """
    from infonn.maths.kernels.joint import mean_surprise

    n_draws, n, k = probs.shape
    shares = np.full(n_draws, 1 / n_draws, np.float32) if weights is None else np.asarray(weights, np.float32)
    weighted = shares[:, None] * targets.reshape(n_draws, -1)  # (draws, targets * classes)
    n_targets = targets.shape[1]
    equal = np.full(weighted.shape[1], 1 / n_targets, np.float32)
    columns = np.ascontiguousarray(probs.reshape(n_draws, -1))
    joint = mean_surprise(equal, np.ascontiguousarray(weighted.T), columns).reshape(n, k).sum(axis=1)
    alone = _entropy(np.tensordot(shares, probs, 1))
    beside = _entropy(np.tensordot(shares, targets, 1)).mean()
    information: FloatArray = np.maximum(alone + beside - joint, 0.0)
    return information


def merged_classes(probs: FloatArray, most: int = MOST_CLASSES) -> FloatArray:
    """Each item's likeliest classes on average, the others as one: (draws, n, k) -> (draws, n, at most `most`).

    What a merged label tells is at most what the label tells, and nearly as much.
    """
    if probs.shape[2] <= most:
        return probs
    order = np.argsort(-probs.mean(axis=0), axis=1)[:, : most - 1]
    likeliest = np.take_along_axis(probs, order[None], axis=2)
    rest = np.maximum(1 - likeliest.sum(axis=2, keepdims=True), 0)
    return np.concatenate([likeliest, rest], axis=2)


def _entropy(probs: FloatArray) -> FloatArray:
    found: FloatArray = -(probs * np.log(np.maximum(probs, 1e-30))).sum(axis=-1)
    return found
