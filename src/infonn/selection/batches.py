"""Scores of the pool to a batch: distinct pool rows, best first; ties are broken at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.loop import BatchRule, Situation


def best(scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
    """The `size` highest scores, in time linear in the pool."""
    if size == 0:
        return np.empty(0, np.int64)
    last = np.partition(scores, len(scores) - size)[len(scores) - size]
    above, level = np.flatnonzero(scores > last), np.flatnonzero(scores == last)
    level = rng.choice(level, size - len(above), replace=False)
    return np.concatenate([above[_descending(scores[above], rng)], level])


def best_per_reference(scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
    """The best query of every reference, best first; then each reference's second best, and so on."""
    order = _descending(scores, rng)
    turns = turns_of_groups(situation.pool[order, 0])
    rows: IntArray = order[np.argsort(turns, kind="stable")[:size]]
    return rows


def turns_of_groups(groups: IntArray) -> IntArray:
    """How many of the same group stand before each entry: [7, 2, 7, 7, 2] -> [0, 0, 1, 2, 1]."""
    grouped = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[grouped], prepend=-1))
    turns = np.empty(len(groups), np.int64)
    turns[grouped] = np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
    return turns


@dataclass(frozen=True)
class RandomFill:
    """The paper's B' most informative (`n_best`), and B - B' drawn from the rest of the pool."""

    n_best: int
    rule: BatchRule = best

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        chosen = self.rule(scores, situation, min(self.n_best, size), rng)
        rest = np.setdiff1d(np.arange(len(scores)), chosen)
        return np.concatenate([chosen, rng.choice(rest, size - len(chosen), replace=False)])


@dataclass(frozen=True)
class PowerNoise:
    """A draw without replacement with chances score^beta (Kirsch et al. 2021): beta log score + Gumbel noise."""

    beta: float
    rule: BatchRule = best

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        with np.errstate(divide="ignore"):
            powered = self.beta * np.log(np.maximum(scores, 0.0))
        return self.rule(powered + rng.gumbel(size=len(scores)), situation, size, rng)


@dataclass(frozen=True)
class OneOrMany:
    """The best query where one is asked for, and another rule for batches."""

    many: BatchRule

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        return (best if size == 1 else self.many)(scores, situation, size, rng)


class BatchSettings(TypedDict, total=False):
    """What `batch_rule` takes, for strategies that leave the batch to it."""

    per_reference: bool  # the best query of every reference first
    n_best: int | None  # so many informative ones, the rest at random
    power: float | None  # beta of the power noise


def batch_rule(per_reference: bool = False, n_best: int | None = None, power: float | None = None) -> BatchRule:
    """The rules above, put together: noise on the scores, then the best, then the random fill."""
    if n_best is not None and n_best < 0:
        raise ValueError(f"n_best is {n_best}; it is how many of a batch are informative ones, at least 0.")
    if power is not None and not power > 0:
        raise ValueError(f"power is {power}; it must be above 0, and the higher the closer to the best scores.")
    rule: BatchRule = best_per_reference if per_reference else best
    if power is not None:
        rule = PowerNoise(power, rule)
    return rule if n_best is None else RandomFill(n_best, rule)


def _descending(scores: FloatArray, rng: Generator) -> IntArray:
    return np.lexsort((rng.random(len(scores)), -scores))
