"""Orders of k candidates, block of draws by block of draws.

Given a draw, a ranking is a chain of choices from the sets left to rank, so its entropy is the sum over these sets of
P(the set is left) times the entropy of the choice from it; only the mean answer needs every order's probability.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np
from numba import njit

from infonn.arrays import IntArray
from infonn.maths.kernels.weights import DRAW_BLOCK, ONE, OPTIONS, SURPRISE, WEIGHT, log32


@lru_cache
def prefixes(n_candidates: int) -> IntArray:
    """The tree of choices down to the last two candidates, depth first: rows of depth, choice, set chosen from.

    Sets are bit masks. The root is (0, 0, all). Each node at depth k - 2 leaves two orders, which are the next two of
    `queries.orders`: both go through the permutations alphabetically.
    """
    everything = (1 << n_candidates) - 1
    rows, seen = [(0, 0, everything)], set()
    for order in permutations(range(n_candidates)):
        left = everything
        for depth, choice in enumerate(order[: n_candidates - 2], start=1):
            if order[:depth] not in seen:
                seen.add(order[:depth])
                rows.append((depth, choice, left))
            left ^= 1 << choice
    return np.array(rows, np.int32)


@njit(**OPTIONS)
def order_sums(table, slots, n, lapse, tree, sums):  # type: ignore[no-untyped-def]
    """Add each order's probability, over n draws, to `sums` (orders,); return the summed entropies of the ranking."""
    k = len(slots)
    inverse = np.empty((1 << k, DRAW_BLOCK), np.float32)  # 1 / weight of a set; that of the empty set counts as 1
    choice = np.empty((1 << k, DRAW_BLOCK), np.float32)  # entropy of the choice from a set
    reached = np.empty((k, DRAW_BLOCK), np.float32)  # P(prefix), by depth
    _sets(table, slots, n, inverse, choice)
    certain = inverse[0]
    for i in range(n):
        certain[i] = ONE
    entropy, n_seen = np.float64(0), 0  # each part is added up in single precision, the parts in double
    for node in range(len(tree)):
        depth, chosen, left = tree[node, 0], tree[node, 1], tree[node, 2]
        before, w, shrink = certain, certain, certain
        if depth > 0:
            before, w, shrink = reached[depth - 1], table[slots[chosen], WEIGHT], inverse[left]
            left = left ^ (1 << chosen)
        if depth < k - 2:
            expected = _step(before, w, shrink, choice[left], n, reached[depth])
            entropy += expected if lapse == 0 else np.float32(0)
            continue
        low, high = _members(left)
        a, b, last = table[slots[low], WEIGHT], table[slots[high], WEIGHT], inverse[left]
        if lapse == 0:
            first, second, expected = _two_orders(before, w, shrink, choice[left], a, b, last, n)
        else:
            first, second, expected = _two_lapsing_orders(before, w, shrink, a, b, last, n, lapse, len(sums))
        sums[n_seen] += first
        sums[n_seen + 1] += second
        entropy += expected
        n_seen += 2
    return entropy


@njit(**OPTIONS)
def _members(pair):  # type: ignore[no-untyped-def]
    """The two bits of a set of two."""
    low = 0
    while not pair >> low & 1:
        low += 1
    high = low + 1
    while not pair >> high & 1:
        high += 1
    return low, high


@njit(**OPTIONS)
def _step(before, w, shrink, choice, n, reached):  # type: ignore[no-untyped-def]
    """P(prefix with one more choice), and the expected entropy of the choice after it."""
    entropy = np.float32(0)
    for i in range(n):
        reached[i] = before[i] * w[i] * shrink[i]
        entropy += reached[i] * choice[i]
    return entropy


@njit(**OPTIONS)
def _two_orders(before, w, shrink, choice, a, b, last, n):  # type: ignore[no-untyped-def]
    """The last step: two candidates are left, so two orders."""
    first, second, entropy = np.float32(0), np.float32(0), np.float32(0)
    for i in range(n):
        prefix = before[i] * w[i] * shrink[i]
        entropy += prefix * choice[i]
        first += prefix * last[i] * a[i]
        second += prefix * last[i] * b[i]
    return first, second, entropy


@njit(**OPTIONS)
def _two_lapsing_orders(before, w, shrink, a, b, last, n, lapse, n_orders):  # type: ignore[no-untyped-def]
    """The last step where a share `lapse` of rankings is random: the entropy is summed over orders."""
    first, second, entropy = np.float32(0), np.float32(0), np.float32(0)
    floor = lapse / np.float32(n_orders)
    for i in range(n):
        share = (ONE - lapse) * before[i] * w[i] * shrink[i] * last[i]
        p, q = share * a[i] + floor, share * b[i] + floor
        first += p
        second += q
        entropy -= p * log32(p) + q * log32(q)
    return first, second, entropy


@njit(**OPTIONS)
def _sets(table, slots, n, inverse, choice):  # type: ignore[no-untyped-def]
    """For every set of two or more candidates: 1 / sum of weights, and the entropy of a choice from it."""
    total = np.empty((1 << len(slots), DRAW_BLOCK), np.float32)
    surprise = np.empty((1 << len(slots), DRAW_BLOCK), np.float32)
    for left in range(1, 1 << len(slots)):  # each from the set without its highest member
        high = 0
        while left >> (high + 1):
            high += 1
        w, h, rest = table[slots[high], WEIGHT], table[slots[high], SURPRISE], left ^ (1 << high)
        if rest:
            _join(total[rest], surprise[rest], w, h, n, total[left], surprise[left], inverse[left], choice[left])
        else:
            for i in range(n):
                total[left, i], surprise[left, i] = w[i], h[i]


@njit(**OPTIONS)
def _join(total, surprise, w, h, n, new_total, new_surprise, inverse, choice):  # type: ignore[no-untyped-def]
    """One more member: T and sum(w log(1/w)), then 1 / T and the entropy of a choice."""
    for i in range(n):
        new_total[i] = total[i] + w[i]
        new_surprise[i] = surprise[i] + h[i]
    for i in range(n):
        inverse[i] = ONE / new_total[i]
        choice[i] = new_surprise[i] * inverse[i] + log32(new_total[i])
