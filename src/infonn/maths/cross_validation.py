"""Held-out losses of several settings, and which setting they speak for."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray


def grouped_folds(groups: IntArray, n_folds: int, rng: Generator) -> IntArray:
    """A fold for each entry, as even as groups allow; entries of one group are in one fold: (n,) -> (n,)."""
    unique, position, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = rng.permutation(len(unique))
    order = order[np.argsort(-sizes[order], kind="stable")]  # large ones first, each into the emptiest fold
    filled, fold_of = np.zeros(n_folds, np.int64), np.zeros(len(unique), np.int64)
    for group in order:
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of[position]


def one_standard_error(losses: FloatArray) -> tuple[int, FloatArray, FloatArray]:
    """The first setting, of simplest to richest, whose mean loss is within a standard error of the least.

    `losses` (settings, folds) -> its row, the means and their standard errors over folds (Breiman et al. 1984).
    """
    means = losses.mean(axis=1)
    errors = losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])
    best = int(means.argmin())
    chosen = int(np.flatnonzero(means <= means[best] + errors[best])[0])
    return chosen, means, errors
