"""Another oracle, wrong at a given rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.loop import Oracle
from infonn.errors import DataError, InvalidQueryError
from infonn.queries import Kind, option_counts, option_items, orders, question_keys, rank_of_orders


@dataclass(frozen=True)
class Corrupted:
    """A share of the questions gets a uniformly drawn *wrong* option in place of the oracle's answer.

    Which questions, and which option, follows from the seed and the question alone: asking again, in another
    order, or with the candidates the other way round changes nothing.
    """

    oracle: Oracle
    share: float
    seed: int = 0
    kind: Kind = "nearest"
    n_classes: int = 0  # of label questions

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise DataError(f"share is {self.share}; it is the share of corrupted answers, 0 to 1.")
        if self.kind == "label" and self.n_classes < 2:
            raise InvalidQueryError(f"{self.n_classes} classes; corrupting labels needs at least 2.")

    def answer(self, queries: IntArray, rng: Generator) -> IntArray:
        """The oracle's responses, corrupted."""
        responses = self.oracle.answer(queries, rng)
        if not len(queries):
            return responses
        keys = question_keys(queries, self.kind)
        seed = np.array([self.seed], np.uint64)
        wrong = uniform_of(keys, seed * np.uint64(2)) < self.share
        labels = self.kind == "label"
        counts = np.full(len(queries), self.n_classes) if labels else option_counts(queries, self.kind)
        shift = 1 + (uniform_of(keys, seed * np.uint64(2) + np.uint64(1)) * (counts - 1)).astype(np.int32)
        corrupted = _shifted(queries, responses, shift, counts, self.kind)
        return np.where(wrong, corrupted, responses).astype(np.int32)


def _shifted(queries: IntArray, responses: IntArray, shift: IntArray, counts: IntArray, kind: Kind) -> IntArray:
    """The option `shift` places on, counted with the items that stand for options in ascending order."""
    if kind == "label":
        return (responses + shift) % counts
    items = option_items(queries, kind)
    items = np.where(items < 0, np.iinfo(np.int32).max, items)
    ascending = np.argsort(items, axis=1)  # place -> position
    place = np.argsort(ascending, axis=1)  # position -> place
    rows = np.arange(len(queries))
    if kind != "ranking":
        return ascending[rows, (place[rows, responses] + shift) % counts]
    table = orders(items.shape[1])
    canonical = rank_of_orders(np.take_along_axis(place, table[responses], axis=1))
    return rank_of_orders(np.take_along_axis(ascending, table[(canonical + shift) % counts], axis=1))


def uniform_of(keys: npt.NDArray[np.uint64], salt: npt.NDArray[np.uint64]) -> FloatArray:
    """A number in [0, 1) for each key, as if drawn at random, but always the same for the same key and salt."""
    mixed = keys ^ _scatter(salt + np.uint64(0x9E3779B97F4A7C15))
    return (_scatter(_scatter(mixed)) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _scatter(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of SplitMix64: one-to-one, and every bit in depends on every bit out."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
