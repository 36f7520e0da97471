"""Normal draws that all queries share, so that scores differ by query and not by luck."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray

DrawMethod = Literal["sobol", "monte_carlo"]

DEFAULT_DRAWS = 128  # scrambled Sobol: a smaller error than 1,000 independent draws for each query
SOBOL_DIMENSIONS = 21201  # as many as direction numbers are known for
SOBOL_BITS = 30
FEW_COLUMNS, FEW_BITS = 8, 12  # points that are kept from one selection to the next


def normal_draws(n_draws: int, n_columns: int, rng: Generator, method: DrawMethod = "sobol") -> FloatArray:
    """Standard normal draws, one column for each item (or coordinate of an item): (n_draws, n_columns).

    Sobol points are scrambled by `rng`. More columns than the sequence has dimensions come from further
    scrambled sequences, each with its points in an order of its own, so that no two columns run in step.
    """
    if method == "monte_carlo":
        return rng.standard_normal((n_draws, n_columns))
    if method != "sobol":
        raise ValueError(f'Draws by "{method}" are unknown. Known: "sobol", "monte_carlo".')
    blocks = []
    for first in range(0, n_columns, SOBOL_DIMENSIONS):
        block = _sobol_normals(n_draws, min(SOBOL_DIMENSIONS, n_columns - first), rng)
        blocks.append(block if first == 0 else block[rng.permutation(n_draws)])
    return np.hstack(blocks) if blocks else np.empty((n_draws, 0))


def _points(bits: int, n_columns: int) -> IntArray:
    """The first 2^bits points of the sequence as numbers of that many bits: (points, columns)."""
    from scipy.stats import qmc

    points: IntArray = (qmc.Sobol(n_columns, scramble=False).random_base2(bits) * 2**bits).astype(np.int32)
    points.flags.writeable = False
    return points


_few_points = lru_cache(maxsize=16)(_points)  # which every selection of a small pool would make anew


def _sobol_normals(n_draws: int, n_columns: int, rng: Generator) -> FloatArray:
    """Owen's linear scramble (Matousek 1998) and a digital shift, applied to the points and not, as SciPy does it,
    to all direction numbers: the first 2^m points have m bits, so few draws cost little."""
    from scipy.special import ndtri

    bits = max(1, (n_draws - 1).bit_length())
    points = (_few_points if n_columns <= FEW_COLUMNS and bits <= FEW_BITS else _points)(bits, n_columns)
    scrambled = np.tile(rng.integers(0, 2**SOBOL_BITS, n_columns, dtype=np.int32), (2**bits, 1))
    for bit in range(bits):
        leading = np.int32(1 << (SOBOL_BITS - 1 - bit))
        image = leading | rng.integers(0, leading, n_columns, dtype=np.int32)  # of this bit: random below it
        scrambled ^= image * (points >> (bits - 1 - bit) & 1)
    normals: FloatArray = ndtri((scrambled[:n_draws] + 0.5) * 0.5**SOBOL_BITS)  # mid-cell: never 0, so never infinite
    return normals
