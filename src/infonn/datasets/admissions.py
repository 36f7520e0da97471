"""Graduate admission: 500 applicants and their chances, a public stand-in for the paper's private table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from infonn.arrays import FloatArray
from infonn.datasets.shipped import read_table

FEATURES = ("gre", "toefl", "university_rating", "sop", "lor", "cgpa", "research")


@dataclass(frozen=True)
class Admissions:
    """`features` (500, 7) as published, in the order of `FEATURES`; `chances` (500,) of being admitted, 0 to 1."""

    features: FloatArray
    chances: FloatArray


@lru_cache
def admissions() -> Admissions:
    """The shipped copy."""
    table = read_table("admissions/graduate_admission_v1.1.csv")
    features = np.array([table[name] for name in FEATURES], float).T
    return Admissions(np.ascontiguousarray(features), np.array(table["chance_of_admit"], float))
