"""Entropy, and what a response is expected to tell: nats, from log_probs (draws, queries, options).

The plain versions, for numpy and torch alike. The fused ones in `maths.kernels.information` are tested against these.
"""

from __future__ import annotations

import math

import numpy as np

from infonn.arrays import Array, library_of


def entropy(log_probs: Array) -> Array:
    """Nats of each distribution: (..., options) -> (...). An impossible option adds nothing."""
    xp = library_of(log_probs)
    probs = xp.exp(log_probs)
    return -(probs * xp.where(probs > 0, log_probs, 0.0)).sum(-1)


def mean_answer(log_probs: Array) -> Array:
    """Log of the answer's probabilities averaged over draws: (draws, ..., options) -> (..., options)."""
    xp = library_of(log_probs)
    largest = xp.amax(log_probs, 0)
    largest = xp.where(xp.isfinite(largest), largest, 0.0)  # padding is impossible under every draw
    with np.errstate(divide="ignore"):
        return largest + xp.log(xp.exp(log_probs - largest).sum(0)) - math.log(len(log_probs))


def mutual_information(log_probs: Array, corrected: bool = False) -> Array:
    """Nats each response is expected to tell about the belief: (draws, queries, options) -> (queries,).

    A ranking is a response whose options are the orders. With S independent draws the expected value is too
    small by about (S - 1) / S, as a variance around the sample's own mean is; `corrected` undoes that.
    """
    xp = library_of(log_probs)
    information = entropy(mean_answer(log_probs)) - entropy(log_probs).mean(0)
    return xp.clip(information, 0.0, None) * (correction(len(log_probs)) if corrected else 1.0)


def correction(n_draws: int) -> float:
    """S / (S - 1); one draw tells nothing, corrected or not."""
    return n_draws / max(1, n_draws - 1)
