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


@njit(inline="always", fastmath=REORDERED)
def fast_exp(x: np.float32) -> np.float32:
    """exp x of a float32 x <= 0, within 3e-7 relative of the exact one; below -87 that of -87, next to nothing.

    x = n log 2 + r with |r| <= log(2) / 2; a polynomial in r gives the rest, and n goes into the exponent.
    """
    x = max(np.float32(x), np.float32(-87.0))
    n = np.int32(x * np.float32(1.44269504) - np.float32(0.5))  # towards 0, so to the nearest for x <= 0
    r = x - np.float32(n) * np.float32(0.693359375) + np.float32(n) * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * (r * r) + r + np.float32(1)
    return p * np.int32((n + np.int32(127)) << np.int32(23)).view(np.float32)


IN_ORDER = {"contract"}  # said outright, since a function would take over what its first caller allows


@njit(fastmath=IN_ORDER)
def precise_log(x: float) -> float:
    """log x of a normal positive float64, to the last digits, as loops can vectorise it.

    x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and log(1 + f) by s = f / (2 + f), as in fdlibm.
    """
    bits = np.float64(x).view(np.uint64) + np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    exponent = np.uint64((bits >> np.uint64(52)) | np.uint64(0x4330000000000000)).view(np.float64) - (2.0**52 + 1023)
    f = np.uint64((bits & np.uint64(0x000FFFFFFFFFFFFF)) + np.uint64(0x3FE6A09E667F3BCD)).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    r = z * 1.479819860511658591e-01 + 1.531383769920937332e-01
    r = z * r + 1.818357216161805012e-01
    r = z * r + 2.222219843214978396e-01
    r = z * r + 2.857142874366239149e-01
    r = z * r + 3.999999999940941908e-01
    r = z * r + 6.666666666666735130e-01
    half = 0.5 * f * f
    return exponent * 6.93147180559945286e-01 + (f - (half - s * (half + z * r)))


@njit(fastmath=IN_ORDER)
def precise_exp(x: float) -> float:
    """exp x of x <= 0, to the last digits, as loops can vectorise it; below -708 that of -708, next to nothing."""
    shift = 1.5 * 2.0**52  # adding it rounds to a whole number, which then stands in the last bits
    shifted = max(x, -708.0) * 1.4426950408889634 + shift
    n = shifted - shift
    r = (max(x, -708.0) - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10
    p = 1 / 479001600.0
    p = p * r + 1 / 39916800.0
    p = p * r + 1 / 3628800.0
    p = p * r + 1 / 362880.0
    p = p * r + 1 / 40320.0
    p = p * r + 1 / 5040.0
    p = p * r + 1 / 720.0
    p = p * r + 1 / 120.0
    p = p * r + 1 / 24.0
    p = p * r + 1 / 6.0
    p = p * r + 0.5
    p = (p * r) * r + r + 1.0
    power = np.uint64((np.float64(shifted).view(np.uint64) + np.uint64(1023)) << np.uint64(52)).view(np.float64)
    return p * power
