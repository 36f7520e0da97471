"""Tables of response weights: for one reference, each candidate's weight under every draw, in single precision.

With weights w and their sum T, the entropy of an answer is log T + sum(w log(1/w)) / T; so a table of w and of
w log(1/w) leaves a few additions and one logarithm for each query and draw. Loops run over draws, which stand side
by side in memory, and logarithms are short polynomials, so that the compiler turns all of it into vector code.

Numba's cache watches the file of the kernel that is called, not this one: after a change here, empty __pycache__.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Sums may be reordered into vector lanes. Not nnan, not ninf: what overflows must stay visible.
FAST = {"reassoc", "nsz", "contract", "arcp", "afn"}
OPTIONS = {"nogil": True, "cache": True, "fastmath": FAST, "error_model": "numpy", "boundscheck": False}

DRAW_BLOCK = 128  # draws that a table holds at once: it stays in the processor's nearer caches, see `mantissa`
WEIGHT, SURPRISE = 0, 1  # what a table (slots, 2, draws) holds of a candidate: w, and w log(1/w)
MOST_LOG = np.float32(69.0)  # weights between 1e-30 and 1e30 have sums and reciprocals in single precision
NOBODY = np.int32(2147483647)  # stands for padding while candidates are sorted
LN2 = np.float32(0.6931471805599453)
ONE = np.float32(1)


@njit(**OPTIONS)
def mantissa(x, exponent):  # type: ignore[no-untyped-def]
    """x / 2^exponent of a positive normal number, in [sqrt(1/2), sqrt(2)) with the exponent that `exponent_of` gives.

    So log x1 + log x2 + ... is (e1 + e2 + ...) log 2 + log(m1 m2 ...): one logarithm for a block of draws. Of
    DRAW_BLOCK = 128 such numbers the product stays between 2^-64 and 2^64, which single precision holds.
    """
    return np.int32(np.float32(x).view(np.int32) - np.int32(exponent << np.int32(23))).view(np.float32)


@njit(**OPTIONS)
def exponent_of(x):  # type: ignore[no-untyped-def]
    """The power of two that goes with `mantissa`."""
    return np.int32(np.int32(np.float32(x).view(np.int32) - np.int32(0x3F3504F3)) >> np.int32(23))


@njit(**OPTIONS)
def log32(x):  # type: ignore[no-untyped-def]
    """log(x) for positive normal numbers, within 2e-7: exponent, and 2 artanh((m - 1) / (m + 1)) of the rest."""
    exponent = exponent_of(x)
    m = mantissa(x, exponent)
    s = (m - ONE) / (m + ONE)
    z = s * s
    series = z * (np.float32(1 / 3) + z * (np.float32(1 / 5) + z * (np.float32(1 / 7) + z * np.float32(1 / 9))))
    return np.float32(exponent) * LN2 + np.float32(2) * (s + s * series)


@njit(**OPTIONS)
def exp32(x):  # type: ignore[no-untyped-def]
    """exp(x) for |x| <= MOST_LOG, within 2e-7 of itself: a power of two, and the series of the rest."""
    power = np.floor(x / LN2 + np.float32(0.5))
    # ln 2 in two parts, so that the rest keeps its digits
    r = x - power * np.float32(0.693359375) + power * np.float32(2.12194440e-4)
    series = ONE + r * (np.float32(1 / 5) + r * (np.float32(1 / 30) + r * np.float32(1 / 210)))
    series = ONE + r * (ONE + r * (np.float32(1 / 2) + r * (np.float32(1 / 6) + r * np.float32(1 / 24) * series)))
    return series * np.int32((np.int32(power) + np.int32(127)) << np.int32(23)).view(np.float32)


@njit(**OPTIONS)
def order_by_reference(queries, n_items):  # type: ignore[no-untyped-def]
    """Rows of `queries`, all of one reference together."""
    starts = np.zeros(n_items + 1, np.int64)
    for row in range(len(queries)):
        starts[queries[row, 0] + 1] += 1
    for item in range(n_items):
        starts[item + 1] += starts[item]
    order = np.empty(len(queries), np.int32)
    for row in range(len(queries)):
        reference = queries[row, 0]
        order[starts[reference]] = row
        starts[reference] += 1
    return order


@njit(**OPTIONS)
def assign_slots(queries, rows, places, slot_of, pairs, slots):  # type: ignore[no-untyped-def]
    """Give each (candidate, place) of these rows, which share a reference, a row of the table; slot 0 is padding.

    Candidates are taken in the order of their numbers, so the order in which they stand cannot change a score.
    `places` is 1 where draws belong to items, else the number of candidates. Fills `slots` (rows, candidates) and
    `pairs` (slots, 2: item and place), and returns how many slots there are.
    """
    n_candidates = queries.shape[1] - 1
    n_slots = 1
    for i in range(len(rows)):
        for c in range(n_candidates):
            item = queries[rows[i], 1 + c]
            slots[i, c] = item if item >= 0 else NOBODY
        for end in range(n_candidates - 1, 0, -1):  # sorted by exchanges without a branch; padding goes to the end
            for c in range(end):
                a, b = slots[i, c], slots[i, c + 1]
                slots[i, c], slots[i, c + 1] = min(a, b), max(a, b)
        for c in range(n_candidates):
            item = slots[i, c]
            if item == NOBODY:
                slots[i, c] = 0
                continue
            place = c if places > 1 else 0
            key = np.int64(item) * places + place
            if slot_of[key] == 0:
                slot_of[key] = n_slots
                pairs[n_slots, 0] = item
                pairs[n_slots, 1] = place
                n_slots += 1
            slots[i, c] = slot_of[key]
    for slot in range(1, n_slots):  # clean for the next reference
        slot_of[np.int64(pairs[slot, 0]) * places + pairs[slot, 1]] = 0
    return n_slots


@njit(**OPTIONS)
def fill_table(reference, pairs, first, n, points, normals, column, settings, table):  # type: ignore[no-untyped-def]
    """w and w log(1/w) of a reference's candidates, for draws first to first + n: table (slots, 2, draws).

    `points` is (items, dims, draws) of drawn embeddings; or (items, dims, 1) with `normals` (columns, draws) to be
    added to the distance. Squared distances are measured in `scale`, which no probability notices. Where single
    precision cannot hold a weight it becomes NaN, and so does every score that reads it.
    """
    sigma, mu, sharpness, scale = settings
    shrink = 1 / np.sqrt(scale)
    offset, power = np.float32(mu / scale), np.float32(sharpness)
    for slot in range(1, len(pairs)):  # slot 0, padding, stays 0
        item, place = pairs[slot, 0], pairs[slot, 1]
        weights, spread = table[slot, WEIGHT], table[slot, SURPRISE]
        if len(normals):
            squared = 0.0
            for d in range(points.shape[1]):
                squared += (points[item, d, 0] - points[reference, d, 0]) ** 2
            distance, deviation = np.float32(np.sqrt(squared) * shrink), np.float32(sigma * shrink)
            drawn = normals[column[item] if len(column) else place, first : first + n]
            if sharpness == 1.0:
                for i in range(n):  # the usual case, in one pass
                    away = distance + deviation * drawn[i]
                    u = away * away + offset
                    surprise = log32(u)
                    weight = _held(ONE / u, surprise)
                    weights[i] = weight
                    spread[i] = weight * surprise
                continue
            for i in range(n):
                weights[i] = (distance + deviation * drawn[i]) ** 2
        else:
            for i in range(n):
                weights[i] = np.float32(0)
            for d in range(points.shape[1]):
                there, here = points[item, d, first : first + n], points[reference, d, first : first + n]
                for i in range(n):
                    difference = np.float32((there[i] - here[i]) * shrink)
                    weights[i] += difference * difference
        if sharpness == 1.0:
            for i in range(n):
                u = weights[i] + offset
                surprise = log32(u)
                weights[i] = _held(ONE / u, surprise)
                spread[i] = weights[i] * surprise
        else:
            for i in range(n):
                surprise = power * log32(weights[i] + offset)
                weights[i] = _held(exp32(-surprise), surprise)
                spread[i] = weights[i] * surprise


@njit(**OPTIONS)
def _held(weight, surprise):  # type: ignore[no-untyped-def]
    return weight if abs(surprise) < MOST_LOG else np.float32(np.nan)
