"""Which of the answers there are now a belief has seen, so that its chains may go on when some were taken back."""

from __future__ import annotations

import numpy as np

from infonn.arrays import IntArray
from infonn.queries import Answers

MOST_GONE = 0.05  # share of the answers seen that may have been taken back
_FACTOR = 0x9E3779B97F4A7C15  # odd, with bits everywhere


def keys_of(answers: Answers) -> IntArray:
    """A number for each answer: (n,). Padding changes nothing, as it may change when longer queries come."""
    columns = np.column_stack([answers.responses, answers.queries]).astype(np.int64) + 1
    factors = [pow(_FACTOR, place, 2**64) for place in range(1, columns.shape[1] + 1)]
    keys: IntArray = (columns.astype(np.uint64) * np.array(factors, np.uint64)).sum(axis=1, dtype=np.uint64)
    return keys


def seen_first(seen: IntArray, answers: Answers) -> tuple[IntArray, int, int] | None:
    """Rows of `answers` with those among the keys `seen` first, how many these are, and how many keys are gone.

    None where too many are gone for chains to follow.
    """
    known = _among(keys_of(answers), seen)
    n_known = int(known.sum())
    n_gone = len(seen) - n_known
    if n_gone > MOST_GONE * len(seen):
        return None
    return np.argsort(~known, kind="stable"), n_known, n_gone


def _among(keys: IntArray, seen: IntArray) -> IntArray:
    """Which of `keys` are in `seen`; one that is there twice counts for two."""
    order = np.argsort(keys, kind="stable")
    ordered, there = keys[order], np.sort(seen)
    occurrence = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    counts = np.searchsorted(there, ordered, "right") - np.searchsorted(there, ordered)
    found = np.empty(len(keys), bool)
    found[order] = occurrence < counts
    return found
