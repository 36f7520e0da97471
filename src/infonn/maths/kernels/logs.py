"""A logarithm that loops can vectorise: the compiler turns it into a few multiply-adds on many numbers at once."""

from __future__ import annotations

import numpy as np
from numba import njit

REORDERED = {"reassoc", "contract", "arcp", "nsz"}  # sums in any order; infinities stay infinities


@njit(inline="always", fastmath=REORDERED)
def fast_log(x: np.float32) -> np.float32:
    """log x of a normal positive float32, within 7e-8 relative or 5e-8 absolute of the exact one.

    x = 2^e (1 + f) with 1 + f in [2/3, 4/3); a polynomial in f gives the rest.
    """
    bits = np.float32(x).view(np.int32)
    exponent = (bits - np.int32(0x3F2AAAAB)) >> np.int32(23)
    f = np.int32(bits - (exponent << np.int32(23))).view(np.float32) - np.float32(1)
    p = np.float32(-0.130310059)
    p = p * f + np.float32(0.140869141)
    p = p * f + np.float32(-0.121483520)
    p = p * f + np.float32(0.139814854)
    p = p * f + np.float32(-0.166846126)
    p = p * f + np.float32(0.200120345)
    p = p * f + np.float32(-0.249996200)
    p = p * f + np.float32(0.333331972)
    p = p * f + np.float32(-0.5)
    return np.float32(exponent) * np.float32(0.693147182) + (p * (f * f) + f)
