"""Which of the answers there are now a belief has seen, so that its chains may go on when some were taken back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from infonn.arrays import BoolArray, IntArray
from infonn.queries import Answers, row_keys

MOST_GONE = 0.05  # share of the answers seen that may have been taken back


def keys_of(answers: Answers) -> npt.NDArray[np.uint64]:
    """A number for each answer: (n,). Padding changes nothing, as it may change when longer queries come."""
    return row_keys(np.column_stack([answers.responses, answers.queries]))


def seen_first(seen: npt.NDArray[np.uint64], answers: Answers) -> tuple[IntArray, int, int] | None:
    """Rows of `answers` with those among the keys `seen` first, how many these are, and how many keys are gone.

    None where too many are gone for chains to follow.
    """
    known = _among(keys_of(answers), seen)
    n_known = int(known.sum())
    n_gone = len(seen) - n_known
    if n_gone > MOST_GONE * len(seen):
        return None
    return np.argsort(~known, kind="stable"), n_known, n_gone


def _among(keys: npt.NDArray[np.uint64], seen: npt.NDArray[np.uint64]) -> BoolArray:
    """Which of `keys` are in `seen`; one that is there twice counts for two."""
    order = np.argsort(keys, kind="stable")
    ordered, there = keys[order], np.sort(seen)
    occurrence = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    counts = np.searchsorted(there, ordered, "right") - np.searchsorted(there, ordered)
    found = np.empty(len(keys), bool)
    found[order] = occurrence < counts
    return found
