"""How far answers and maps can be trusted: agreement, the noise ceiling, Krippendorff's alpha, split halves.

Answers come as three arrays of equal length: which question (`units`), which person, which option.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import BoolArray, FloatArray, IntArray
from infonn.maths.distances import pairwise_distances

RESAMPLES, FEWEST_RESAMPLES = 500, 100  # fewer where there is much to resample
MOST_COMPARED = 40  # answers to one question whose pairs are counted: pairs grow with the square
FEWEST_PEOPLE = 5  # from which on people are resampled; with fewer, questions are
MOST_ITEMS = 1000  # whose distances are compared; more are drawn from


@dataclass(frozen=True)
class Judged:
    """Answers that can be compared: entry i is what person `people[i]` chose of the options of question `units[i]`.

    All three are numbered from 0; options are numbered alike for every answer to one question.
    """

    units: IntArray
    people: IntArray
    choices: IntArray

    def __len__(self) -> int:
        return len(self.units)

    @property
    def n_units(self) -> int:
        return int(self.units.max(initial=-1)) + 1

    @property
    def n_people(self) -> int:
        return int(self.people.max(initial=-1)) + 1

    @property
    def n_choices(self) -> int:
        return int(self.choices.max(initial=-1)) + 1

    def take(self, rows: IntArray | BoolArray) -> Judged:
        return Judged(self.units[rows], self.people[rows], self.choices[rows])

    def first_of_each_person(self) -> Judged:
        """Without a person's further answers to the same question."""
        pairs = np.stack([self.units, self.people], axis=1)
        return self.take(np.sort(np.unique(pairs, axis=0, return_index=True)[1]))


@dataclass(frozen=True)
class Share:
    """An estimate with its 95 % interval; of how many pairs or answers, and what was resampled for the interval."""

    value: float
    low: float
    high: float
    n: int
    over: str = "people"


# --- agreement -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pairs:
    """Pairs of answers to one question: the question, both people, and whether they chose the same."""

    units: IntArray
    first: IntArray
    second: IntArray
    same: BoolArray

    def __len__(self) -> int:
        return len(self.units)

    def take(self, rows: BoolArray) -> Pairs:
        return Pairs(self.units[rows], self.first[rows], self.second[rows], self.same[rows])


def pairs_of(judged: Judged) -> Pairs:
    """Every two answers to one question, once; of a question with very many answers, the first `MOST_COMPARED`."""
    order = np.argsort(judged.units, kind="stable")
    starts = np.flatnonzero(np.diff(judged.units[order], prepend=-1))
    ones, others = [], []
    for rows in np.split(order, starts[1:]):
        if len(rows) > 1:
            one, other = np.triu_indices(min(len(rows), MOST_COMPARED), 1)
            ones.append(rows[one])
            others.append(rows[other])
    first, second = (np.concatenate(rows) if rows else np.empty(0, np.int64) for rows in (ones, others))
    same = judged.choices[first] == judged.choices[second]
    return Pairs(judged.units[first], judged.people[first], judged.people[second], same)


@dataclass(frozen=True)
class Cells:
    """Pairs counted by who made them, or by question: how many there are and how many are the same.

    When people or questions are drawn again, a cell counts as often as all of `owners` were drawn.
    """

    owners: tuple[IntArray, ...]
    same: FloatArray
    total: FloatArray

    def share(self, drawn: FloatArray | None = None) -> float:
        """Share of pairs that are the same, where owner i was drawn `drawn[i]` times; NaN where none was."""
        weights = np.ones(len(self.total))
        for owner in self.owners if drawn is not None else ():
            weights = weights * drawn[owner]  # type: ignore[index]
        total = float(weights @ self.total)
        return float(weights @ self.same) / total if total > 0 else float("nan")


def cells_of(pairs: Pairs, over: str) -> Cells:
    """`over` "people": nobody is compared with a copy of themselves, and whoever was asked again counts once."""
    if over == "questions":
        keys, place = np.unique(pairs.units, return_inverse=True)
        owners: tuple[IntArray, ...] = (keys,)
    else:
        both = np.sort(np.stack([pairs.first, pairs.second], axis=1), axis=1)
        unique, place = np.unique(both, axis=0, return_inverse=True)
        alone = (unique[:, 0] == unique[:, 1]).all()
        owners = (unique[:, 0],) if alone else (unique[:, 0], unique[:, 1])
    every, same = (np.bincount(place.ravel()[rows], minlength=len(owners[0])) for rows in (slice(None), pairs.same))
    return Cells(owners, same.astype(float), every.astype(float))


def agreement(judged: Judged, oneself: bool, rng: Generator) -> Share | None:
    """How often two answers to one question are the same: of two people, or of one person asked again.

    People are resampled, and the pairs of two people count as often as both were drawn, so that nobody is compared
    with a copy; with fewer than `FEWEST_PEOPLE` questions are resampled. None where there is no pair.
    """
    pairs = pairs_of(judged)
    pairs = pairs.take((pairs.first == pairs.second) == oneself)
    if not len(pairs):
        return None
    over = _resampled(np.concatenate([pairs.first, pairs.second]))
    cells, n = cells_of(pairs, over), judged.n_people if over == "people" else judged.n_units
    low, high = _interval([cells.share(_draw(n, rng)) for _ in range(_resamples(len(cells.total)))])
    return Share(cells.share(), low, high, len(pairs), over)


# --- the noise ceiling -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ceiling:
    """Between which accuracies the best model lies that sees questions and not people; and a 95 % interval of both."""

    least: float
    most: float
    low: float
    high: float
    n: int
    over: str = "people"


def noise_ceiling(judged: Judged, rng: Generator) -> Ceiling | None:
    """How accurate the best model can be, given how people disagree; None where no question has two people's answers.

    If p are the shares of all people who choose each option, the best a model can do is foresee max p. Expected at most
    that: foreseeing an answer by the majority of the others. At least that: the majority foreseen with one's own answer
    counted, and, for any p, the root of two people's agreement, as max p <= sqrt(sum p^2).
    """
    judged = judged.first_of_each_person()
    judged = judged.take(np.bincount(judged.units, minlength=judged.n_units)[judged.units] > 1)
    if not len(judged):
        return None
    over = _resampled(judged.people)
    cells, owner = cells_of(pairs_of(judged), over), judged.people if over == "people" else judged.units
    least, most = ceiling_bounds(judged, np.ones(len(judged)), cells.share())
    bounds = np.empty((_resamples(len(judged)), 2))
    for row in range(len(bounds)):
        drawn = _draw(int(owner.max()) + 1, rng)
        bounds[row] = ceiling_bounds(judged, drawn[owner], cells.share(drawn))
    return Ceiling(least, most, _interval(bounds[:, 0])[0], _interval(bounds[:, 1])[1], len(judged), over)


def ceiling_bounds(judged: Judged, weights: FloatArray, agreed: float) -> tuple[float, float]:
    """Least and most of the ceiling, where answer i counts `weights[i]` times and two people agree on `agreed`."""
    votes = np.zeros((judged.n_units, judged.n_choices))
    np.add.at(votes, (judged.units, judged.choices), weights)
    others = votes[judged.units]
    rows = np.arange(len(judged))
    others[rows, judged.choices] -= weights  # one answer a person: the rest is others'
    told = others.sum(axis=1) > 1e-9
    top = others.max(axis=1, keepdims=True)
    leading = others > top - 1e-9
    right = leading[rows, judged.choices] / leading.sum(axis=1)  # of equals, either is foreseen as often
    counted = weights * told
    total = counted.sum()
    if not total > 0:
        return np.nan, np.nan
    shared = np.unique(judged.units[told & (weights > 0)])
    with_own = votes[shared].max(axis=1).sum() / votes[shared].sum()
    return float((counted * right).sum() / total), float(min(with_own, np.sqrt(agreed)))


# --- Krippendorff's alpha --------------------------------------------------------------------------------------


def krippendorff_alpha(judged: Judged) -> float:
    """Agreement beyond chance for nominal choices (Krippendorff 2011): 1 for all alike, 0 for chance.

    Questions with one answer tell nothing; NaN where everybody chose one and the same option throughout.
    """
    counts = _counts(judged)
    return float(_alphas(np.ones((1, len(counts))), counts)[0])


def alpha_with_interval(judged: Judged, rng: Generator) -> Share | None:
    """Alpha over questions that several people answered, one answer each; questions are resampled for the interval."""
    counts = _counts(judged.first_of_each_person())
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        return None
    value = float(_alphas(np.ones((1, len(counts))), counts)[0])
    if np.isnan(value):
        return None
    drawn = np.stack([_draw(len(counts), rng) for _ in range(_resamples(len(counts)))])
    low, high = _interval(_alphas(drawn, counts))
    return Share(value, low, high, len(counts), "questions")


def _counts(judged: Judged) -> FloatArray:
    """How often each option was chosen: (units, options)."""
    counts = np.zeros((judged.n_units, judged.n_choices))
    np.add.at(counts, (judged.units, judged.choices), 1)
    return counts


def _alphas(weights: FloatArray, counts: FloatArray) -> FloatArray:
    """Alpha where question u counts `weights[:, u]` times: (resamples, units), (units, options) -> (resamples,)."""
    counts = np.where(counts.sum(axis=1, keepdims=True) > 1, counts, 0)
    answers = counts.sum(axis=1)
    differing = (answers**2 - (counts**2).sum(axis=1)) / np.maximum(answers - 1, 1)
    n = weights @ answers
    margins = weights @ counts
    expected = n**2 - (margins**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * (weights @ differing) / expected, np.nan)


# --- split halves ----------------------------------------------------------------------------------------------


def halves(groups: IntArray, rng: Generator) -> tuple[BoolArray, BoolArray]:
    """Which entries belong to either half of the groups, drawn at random; entries of one group stay together."""
    numbers = rng.permutation(np.unique(groups))
    first = np.isin(groups, numbers[: len(numbers) // 2])
    return first, ~first


def distance_correlation(one: FloatArray, other: FloatArray, rng: Generator) -> float:
    """Rank correlation of the distances between items in two embeddings of the same items, (items, dims) each."""
    from scipy.stats import spearmanr

    rows = np.arange(len(one))
    if len(rows) > MOST_ITEMS:
        rows = np.sort(rng.choice(rows, MOST_ITEMS, replace=False))
    above = np.triu_indices(len(rows), 1)
    return float(spearmanr(pairwise_distances(one[rows])[above], pairwise_distances(other[rows])[above]).statistic)


def spearman_brown(correlation: float) -> float:
    """The reliability of the whole from the correlation of its halves (Spearman 1910, Brown 1910)."""
    return 2 * correlation / (1 + correlation)


# --- inside ----------------------------------------------------------------------------------------------------


def _resampled(people: IntArray) -> str:
    return "people" if len(np.unique(people)) >= FEWEST_PEOPLE else "questions"


def _resamples(n: int) -> int:
    """How often `n` things are resampled."""
    return int(np.clip(10_000_000 / max(n, 1), FEWEST_RESAMPLES, RESAMPLES))


def _draw(n: int, rng: Generator) -> FloatArray:
    """How often each of `n` is drawn, with replacement."""
    return np.bincount(rng.integers(0, n, n), minlength=n).astype(float)


def _interval(values: FloatArray | list[float]) -> tuple[float, float]:
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)
