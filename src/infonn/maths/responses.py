"""How likely each option is, given distances: Plackett-Luce over (d^2 + mu)^-sharpness, with a lapse rate.

The nearest of some candidates is chosen by their distances to the reference. The odd one of three is the one that the
nearest pair leaves out: a pair is chosen among the three as a candidate is, by the distance within it.

The one home of the response model: learners, criteria and oracles call it, with numpy arrays or torch
tensors. Everything is in logs, finite for equal, zero and huge distances; padding has probability 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infonn.arrays import Array, library_of
from infonn.errors import DataError
from infonn.queries import Kind, orders


@dataclass(frozen=True)
class ResponseSettings:
    """How people answer: weights (d^2 + mu)^-sharpness, mixed with a share `lapse` of random answers."""

    mu: float
    sharpness: float = 1.0
    lapse: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.mu < np.inf:
            raise DataError(
                f"mu is {self.mu}; it must be above 0, so that no distance has infinite weight, and finite."
            )
        if not 0 < self.sharpness < np.inf:
            raise DataError(f"sharpness is {self.sharpness}; it must be above 0 and finite.")
        if not 0 <= self.lapse < 1:
            raise DataError(f"lapse is {self.lapse}; it is a share of answers, at least 0 and below 1.")


def log_weights(squared_distances: Array, settings: ResponseSettings) -> Array:
    """log (d^2 + mu)^-sharpness; -inf for padding, whose distance is infinite."""
    xp = library_of(squared_distances)
    return -settings.sharpness * xp.log(squared_distances + settings.mu)


def option_log_probs(
    squared_distances: Array, settings: ResponseSettings, kind: Kind, lapse: Array | None = None
) -> Array:
    """log P(option) by the distances that options go by (`distances.option_squared_distances`)."""
    log_probs = ranking_log_probs if kind == "ranking" else nearest_log_probs
    return log_probs(squared_distances, settings, lapse)


def nearest_log_probs(squared_distances: Array, settings: ResponseSettings, lapse: Array | None = None) -> Array:
    """log P(candidate is chosen as nearest): (..., k) -> (..., k). Eq. 1 of the paper at sharpness 1, lapse 0.

    `lapse` stands in for the settings' one: an array that broadcasts, where studies differ in it.
    """
    weights = log_weights(squared_distances, settings)
    log_probs = weights - _logsumexp(weights)
    return _with_lapse(log_probs, _counts(squared_distances), settings.lapse if lapse is None else lapse)


def ranking_log_probs(squared_distances: Array, settings: ResponseSettings, lapse: Array | None = None) -> Array:
    """log P(order) for all orders of k candidates: (..., k) -> (..., k!), in the order of `queries.orders`.

    The nearest is chosen first, then the nearest of those left, and so on. Rankings are never padded.
    """
    xp = library_of(squared_distances)
    weights = log_weights(squared_distances, settings)
    table = orders(weights.shape[-1])
    ranked = weights[..., xp.asarray(np.array(table))]  # (..., k!, k)
    total = 0.0
    for first in range(weights.shape[-1] - 1):
        total = total + ranked[..., first] - _logsumexp(ranked[..., first:])[..., 0]
    return _with_lapse(total, float(len(table)), settings.lapse if lapse is None else lapse)


def _with_lapse(log_probs: Array, n_options: Array, lapse: Array) -> Array:
    """(1 - lapse) p + lapse / options; what was impossible stays so."""
    if isinstance(lapse, (int, float)) and lapse == 0:
        return log_probs
    xp = library_of(log_probs)
    share = xp.zeros_like(log_probs) + lapse
    mixed = xp.logaddexp(log_probs + xp.log1p(-share), xp.log(share / n_options))
    return xp.where(xp.isneginf(log_probs), log_probs, mixed)


def _counts(squared_distances: Array) -> Array:
    xp = library_of(squared_distances)
    return xp.isfinite(squared_distances).sum(-1)[..., None] * 1.0


def _logsumexp(values: Array) -> Array:
    """Over the last axis, which is kept; -inf entries add nothing."""
    xp = library_of(values)
    largest = xp.amax(values, -1)[..., None]
    return largest + xp.log(xp.exp(values - largest).sum(-1)[..., None])
