"""Ranked applicants: a generator with the shape of the paper's private admissions data, and a public stand-in.

The paper's table cannot be had. What it says of it: 133 applicants with 25 features; 22 admitted, of whom the top 18
are ranked one by one; the rest are sorted into 5 tiers, the last 4 admitted and 4 tiers of rejection; 7 classes. Its
434,470 triplets and 21,634,487 length-3 queries are not explained. With tiers of 4, 19, 28, 29 and 35 applicants the
rule of `comparable` gives 437,002 triplets and 21,160,134 queries, within 1 % and 3 % of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import BoolArray, FloatArray, IntArray
from infonn.datasets.admissions import admissions
from infonn.errors import DataError

N_APPLICANTS, N_ADMITTED, N_RANKED = 133, 22, 18
TIER_SIZES = (4, 19, 28, 29, 35)  # after the ranked ones; the first tier is admitted
FELLOWSHIPS = (7, 14)  # the first 7 with fellowship 1, the next 7 with fellowship 2, the other 8 without; our choice
CLASS_NAMES = (
    "admitted, fellowship 1",
    "admitted, fellowship 2",
    "admitted, no fellowship",
    "rejected, tier 1",
    "rejected, tier 2",
    "rejected, tier 3",
    "rejected, tier 4",
)


@dataclass(frozen=True)
class RankedApplicants:
    """Applicants from the first to the last: row 0 is ranked first."""

    features: FloatArray  # (133, features)
    tiers: IntArray  # (133,): 0 for the ranked ones, then 1 to 5
    classes: IntArray  # (133,): index into CLASS_NAMES
    triplets: IntArray  # (n, 3): reference, near, far

    @property
    def admitted(self) -> BoolArray:
        admitted: BoolArray = np.arange(len(self.features)) < N_ADMITTED
        return admitted


def simulated_applicants(rng: Generator, n_features: int = 25, noise: float = 1.0) -> RankedApplicants:
    """Applicants whose features tell of their merit, but not all of it.

    Merit is N(0, 1). 15 features are scores: merit times a loading from U(0, 1) plus a share of two interests that
    have nothing to do with merit, plus N(0, noise^2). 6 are marks of letters in steps of 1 from 1 to 5, 4 are yes or no
    (a fellowship was applied for, ...), both made from such scores by rounding.
    """
    merit = np.sort(rng.standard_normal(N_APPLICANTS))[::-1]
    loadings = rng.uniform(0, 1, n_features)
    interests = rng.standard_normal((N_APPLICANTS, 2)) @ rng.standard_normal((2, n_features))
    scores = np.outer(merit, loadings) + 0.5 * interests + noise * rng.standard_normal((N_APPLICANTS, n_features))
    n_letters, n_flags = 6 * n_features // 25, 4 * n_features // 25
    letters = slice(n_features - n_letters - n_flags, n_features - n_flags)
    flags = slice(n_features - n_flags, n_features)
    scores[:, letters] = np.clip(np.round(3 + scores[:, letters]), 1, 5)
    scores[:, flags] = scores[:, flags] > 0
    return rank_applicants(scores, merit)


def public_applicants(rng: Generator) -> RankedApplicants:
    """133 of the 500 applicants of the public table, drawn by `rng` and ranked by their chance of admission."""
    table = admissions()
    rows = rng.choice(len(table.features), N_APPLICANTS, replace=False)
    tie_break = 1e-6 * rng.random(N_APPLICANTS)  # chances are given to two digits
    return rank_applicants(table.features[rows], table.chances[rows] + tie_break)


def rank_applicants(features: FloatArray, merit: FloatArray) -> RankedApplicants:
    """Rank, tier and class 133 applicants by merit, and form the triplets."""
    if len(features) != N_APPLICANTS:
        raise DataError(f"{len(features)} applicants; the tiers are made for {N_APPLICANTS}.")
    order = np.argsort(-merit, kind="stable")
    tiers = np.repeat(np.arange(len(TIER_SIZES) + 1), (N_RANKED, *TIER_SIZES))
    places = np.arange(N_APPLICANTS)
    admitted_class = np.searchsorted(FELLOWSHIPS, places, side="right")
    classes = np.where(places < N_ADMITTED, admitted_class, tiers + 1)
    return RankedApplicants(features[order], tiers, classes, np.argwhere(comparable(tiers)).astype(np.int32))


def comparable(tiers: IntArray) -> BoolArray:
    """Which (reference, near, far) the ranking settles: (133, 133, 133). Applicants stand from first to last.

    1. Two ranked applicants are nearer than a third whose rank is further off, and than anyone in a tier.
    2. A ranked and an admitted but unranked applicant are nearer than anyone rejected.
    3. Two applicants of one tier are nearer than anyone outside it.
    4. A rejected applicant is nearer to the next lower tier than to tiers below that.
    """
    places = np.arange(len(tiers))
    gap = np.abs(places[:, None] - places[None, :])
    ranked, unranked = tiers == 0, tiers > 0
    rejected = tiers > 1
    reference, near, far = np.ix_(places, places, places)
    t_reference, t_near, t_far = tiers[reference], tiers[near], tiers[far]
    both_ranked = ranked[reference] & ranked[near]
    by_rank = both_ranked & (unranked[far] | (gap[reference, near] < gap[reference, far]))
    admitted_pair = (t_reference + t_near == 1) & rejected[far]
    same_tier = (t_reference == t_near) & unranked[reference] & (t_far != t_reference)
    next_tier = rejected[reference] & (t_near == t_reference + 1) & (t_far > t_near)
    distinct = (reference != near) & (near != far) & (reference != far)
    settled: BoolArray = (by_rank | admitted_pair | same_tier | next_tier) & distinct
    return settled
