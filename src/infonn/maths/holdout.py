"""How accurate a classifier is on the items without a label, from labels of items that were drawn at random.

Labels that a strategy chose are no random sample: they say nothing of the rest. So a share of the labels goes to items
drawn at random, which the classifier never learns from. The rest itself changes as hard items are chosen from it;
that the hold-out cannot know, but the classifier's own certainty can: the estimate moves by as much as the
classifier is surer of the rest than of the hold-out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from infonn.arrays import BoolArray, FloatArray, IntArray

FEWEST = 20  # hold-out labels below which an accuracy is not told
SHARE = 0.2  # of all labels


@dataclass(frozen=True)
class AccuracyEstimate:
    """Share of the unlabelled items that are predicted rightly, with a 95 % interval; None where nothing is known."""

    n_held_out: int
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    n_right: int | None = None  # of the hold-out

    def __str__(self) -> str:
        if self.accuracy is None or self.low is None or self.high is None:
            return (
                f"It does not know yet how accurate it is: {self.n_held_out} labels of items drawn at random, "
                f"and at least {FEWEST} are needed."
            )
        return (
            f"Accuracy on the unlabelled items: {self.accuracy:.0%}, 95 % interval {self.low:.0%} to {self.high:.0%} "
            f"({self.n_held_out} items drawn at random)."
        )


def estimate_accuracy(
    right: BoolArray, certainty: FloatArray, rest_certainty: FloatArray, level: float = 0.95
) -> AccuracyEstimate:
    """Accuracy on the unlabelled rest from hold-out items: which were predicted rightly (n,), and how sure it was.

    `certainty` (n,) and `rest_certainty` (m,) are probabilities of the predicted class on the hold-out and on the
    rest. The interval is Wilson's for the hold-out, moved by the difference of their means, and a little wider where
    the rest is so small that its own accuracy is a matter of luck.
    """
    from scipy.stats import binomtest

    n, n_rest = len(right), len(rest_certainty)
    if n < FEWEST or not n_rest:
        return AccuracyEstimate(n)
    share = float(np.mean(right))
    wilson = binomtest(int(np.sum(right)), n).proportion_ci(level, method="wilson")
    moved = float(np.mean(rest_certainty) - np.mean(certainty))
    stretch = math.sqrt(1 + n / n_rest)
    low, high = (share + moved + stretch * (end - share) for end in (wilson.low, wilson.high))
    return AccuracyEstimate(n, _clipped(share + moved), _clipped(low), _clipped(high), int(np.sum(right)))


def _clipped(share: float) -> float:
    return min(max(share, 0.0), 1.0)


# --- which items -----------------------------------------------------------------------------------------


def hold_out_due(n_labels: int, n_held_out: int, size: int, share: float = SHARE) -> int:
    """How many of the next `size` labels go to the hold-out, so that it keeps its share of all labels.

    `n_labels` counts every label so far, those of the hold-out too. At first the share is a third, where it is not 0,
    so that something can be told of the accuracy from 60 labels on.
    """
    n = n_labels + size
    wanted = max(share * n, min(FEWEST, n / 3)) if share else 0.0
    return min(size, max(0, math.ceil(wanted - 1e-9) - n_held_out))


def copy_groups(features: FloatArray, chunk: int = 1 << 13) -> IntArray:
    """A number for each item, (items, columns) -> (items,): items with the same features, to 6 digits, share one.

    Rows are compared by 64 bits of a sum of their digits times random odd numbers.
    """
    factors = default_rng(0).integers(-(2**62), 2**62, features.shape[1] + 1) * 2 + 1
    keys = np.empty(len(features), np.int64)
    for first in range(0, len(features), chunk):
        rows = np.asarray(features[first : first + chunk], np.float32)
        with np.errstate(divide="ignore"):
            digits = 6 - np.ceil(np.log10(np.abs(rows).max(axis=1, initial=0)))
        digits = np.where(np.isfinite(digits), digits, 0).astype(np.int64)  # relative to the row's largest number
        rounded = np.rint(rows * (10.0**digits)[:, None]).astype(np.int64)
        keys[first : first + chunk] = rounded @ factors[:-1] + digits * factors[-1]
    _, firsts, number = np.unique(keys, return_index=True, return_inverse=True)
    by_first: IntArray = np.argsort(np.argsort(firsts))[number]
    return by_first


def originals(groups: IntArray) -> IntArray:
    """The first item of each item's group, (items,) -> (items,): the one that is asked in place of its copies."""
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    found: IntArray = first[number]
    return found
