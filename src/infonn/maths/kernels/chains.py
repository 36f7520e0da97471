"""Hamiltonian Monte Carlo over an embedder's parameters, chains in parallel: the plain twin is `maths.embedders`.

Every chain has its own counter-based stream of random numbers, so the number of threads changes nothing.
Arrays: `parameters` (chains, parameters) laid out as `embedders.Layout` says; `shape` is (items, dims, features)
of that layout; `features` (items, features), `pairs`, `stages`, `n_options` as in `embedders.OrderedAnswers`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.logs import REORDERED, fast_exp, fast_log

FAR = np.float32(-1e30)  # log weight of padding: next to nothing
BLOCK = 256  # answers worked on at a time
ORDERED = REORDERED - {"reassoc"}  # every sum in the order in which it stands

# --- random numbers: splitmix64 of a counter that starts at the chain's seed ------------------------------


@njit(cache=True, inline="always")
def _uniform(counter):  # type: ignore[no-untyped-def]
    """In (0, 1), never an end."""
    counter[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = counter[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    return (float(bits >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def _fill_normals(counter, out):  # type: ignore[no-untyped-def]
    """Box and Muller, two at a time."""
    for i in range(0, out.size, 2):
        radius = math.sqrt(-2 * math.log(_uniform(counter)))
        angle = 2 * math.pi * _uniform(counter)
        out[i] = radius * math.cos(angle)
        if i + 1 < out.size:
            out[i + 1] = radius * math.sin(angle)


# --- the density ------------------------------------------------------------------------------------------
#
# Sums have an order of their own, in steps that the compiler can work on side by side. Left to the compiler, the order
# would differ between a kernel just compiled and the same one out of the cache, and chains make much of a last digit.


@njit(cache=True, fastmath=ORDERED)
def _folded(numbers, size):  # type: ignore[no-untyped-def]
    """The sum of the first `size` numbers, by folding them in half again and again; they are used up."""
    while size > 1:
        half = (size + 1) // 2
        for row in range(size - half):
            numbers[row] += numbers[row + half]
        size = half
    return numbers[0]


@njit(cache=True, inline="always")
def _parts(logit_share, n_features):  # type: ignore[no-untyped-def]
    """Factors of what the features say and of the items' own offsets."""
    if n_features == 0:
        return 0.0, 1.0
    share = 1 / (1 + math.exp(-logit_share))
    return math.sqrt(1 - share), math.sqrt(share)


@njit(cache=True)
def _columns(features, pairs, stages, n_options):  # type: ignore[no-untyped-def]
    """Features by column and by item, items by place, so that loops run along rows; (features, items, how many, ...).

    `firsts` has one row where all pairs of an answer share their first item, the reference, else a row for each pair.
    Padding stands as its reference, beyond the count of pairs.
    """
    n, width, _ = pairs.shape
    shared = True
    for row in range(n):
        for j in range(width):
            shared = shared and pairs[row, j, 0] == pairs[row, 0, 0]
    firsts = np.empty((1 if shared else width, n), np.uint32)
    seconds, counts = np.empty((width, n), np.uint32), np.zeros(n, np.int32)
    ranked, padded = False, False
    for row in range(n):
        for j in range(len(firsts)):
            firsts[j, row] = pairs[row, j, 0]
        for j in range(width):
            seconds[j, row] = pairs[row, j, 1 if pairs[row, j, 1] >= 0 else 0]
            counts[row] += pairs[row, j, 1] >= 0
        ranked = ranked or stages[row] > 1
        padded = padded or counts[row] < width
    guesses = (1 / n_options).astype(np.float32)
    by_item = features.astype(np.float32)
    return np.ascontiguousarray(by_item.T), firsts, seconds, counts, stages, guesses, ranked, padded, by_item


@njit(cache=True)
def _workspace(shape, columns):  # type: ignore[no-untyped-def]
    """Points and their pulls (dims, items); of a block of answers: differences, (pairs, answers), (answers,)."""
    n_items, n_dims, _ = shape
    width = len(columns[2])
    points, pull = np.empty((n_dims, n_items), np.float32), np.empty((n_dims, n_items), np.float32)
    differences = np.empty((width, n_dims, BLOCK), np.float32)
    squared, logs = np.empty((width, BLOCK), np.float32), np.empty((width, BLOCK), np.float32)
    slopes = np.empty((width, BLOCK), np.float32)
    log_probs, by_lapse = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    one, two = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    return points, pull, differences, (squared, logs, slopes), (log_probs, by_lapse, one, two)


@njit(cache=True, fastmath=ORDERED)
def _embed(parameters, shape, features, points):  # type: ignore[no-untyped-def]
    n_items, n_dims, n_features = shape
    settings = (n_features + n_items) * n_dims
    scale = math.exp(parameters[settings + n_dims])
    by_features, by_offset = _parts(parameters[settings + n_dims + 1], n_features)
    spread = math.exp(parameters[settings + n_dims + 2])
    for d in range(n_dims):
        stretched = scale * math.exp(spread * parameters[settings + d])
        own = np.float32(by_offset * stretched)
        for i in range(n_items):
            points[d, i] = own * np.float32(parameters[(n_features + i) * n_dims + d])
        for f in range(n_features):
            weight = np.float32(by_features * stretched * parameters[f * n_dims + d])
            for i in range(n_items):
                points[d, i] += weight * features[f, i]


@njit(cache=True, fastmath=ORDERED)
def _answers(points, columns, first, size, sharpness, lapse, work):  # type: ignore[no-untyped-def]
    """Fills `work` for `size` answers from `first` on: differences, d^2 + 1, log weights, slopes of log P by each;
    log P(answer), its slope by the lapse. Float32, which the caller sums up in float64.

    Loops are short and run along the answers, so that the compiler vectorises each; a block of them stays in the
    processor's nearest memory.
    """
    _, firsts, seconds, counts, stages, guesses, ranked, padded, _ = columns
    _, _, differences, (squared, logs, slopes), (log_probs, by_lapse, attentive, reference) = work
    width = len(squared)
    sharp, lapsed, clear = np.float32(sharpness), np.float32(lapse), np.float32(1 - lapse)
    for j in range(width):
        for row in range(size):
            squared[j, row] = np.float32(1)
    for d in range(len(points)):
        for j in range(width):
            if j < len(firsts):
                for row in range(size):
                    reference[row] = points[d, firsts[j, first + row]]
            for row in range(size):
                differences[j, d, row] = reference[row] - points[d, seconds[j, first + row]]
            for row in range(size):
                squared[j, row] += differences[j, d, row] * differences[j, d, row]
    for j in range(width):
        for row in range(size):
            logs[j, row] = -sharp * fast_log(squared[j, row])
        if padded:
            for row in range(size):
                if counts[first + row] <= j:
                    logs[j, row] = FAR
    if ranked:
        _ranked(work, counts, stages, first, size)
    else:
        _nearest(work, size)
    if lapse == 0.0:
        for row in range(size):
            by_lapse[row] = np.float32(0)
        return
    for row in range(size):
        log_probs[row] = clear * fast_exp(log_probs[row])
    for row in range(size):
        chance, guess = log_probs[row], guesses[first + row]
        mixed = chance + lapsed * guess
        log_probs[row] = mixed
        attentive[row] = chance / mixed  # how likely this answer was no lapse
        by_lapse[row] = lapsed * (clear * guess / mixed - attentive[row])
    for row in range(size):
        log_probs[row] = fast_log(log_probs[row])
    for j in range(width):
        for row in range(size):
            slopes[j, row] *= attentive[row]


@njit(cache=True, fastmath=ORDERED)
def _nearest(work, size):  # type: ignore[no-untyped-def]
    """log P(the first pair is chosen) without lapses, and its slopes."""
    _, _, _, (_, logs, slopes), (log_probs, _, largest, totals) = work
    width = len(logs)
    for row in range(size):
        largest[row] = logs[0, row]
        totals[row] = np.float32(0)
    for j in range(1, width):
        for row in range(size):
            largest[row] = max(largest[row], logs[j, row])
    for j in range(width):
        for row in range(size):
            weight = fast_exp(logs[j, row] - largest[row])
            slopes[j, row] = weight
            totals[row] += weight
    for row in range(size):
        log_probs[row] = logs[0, row] - largest[row] - fast_log(totals[row])
        totals[row] = np.float32(1) / totals[row]
    for row in range(size):
        slopes[0, row] = np.float32(1) - slopes[0, row] * totals[row]
    for j in range(1, width):
        for row in range(size):
            slopes[j, row] = -slopes[j, row] * totals[row]


@njit(cache=True, fastmath=ORDERED)
def _ranked(work, counts, stages, first, size):  # type: ignore[no-untyped-def]
    """log P(the pairs in this order, for as many stages) without lapses, and its slopes."""
    _, _, _, (_, logs, slopes), (log_probs, _, _, _) = work
    slopes[:] = np.float32(0)
    for row in range(size):
        total_log, count = 0.0, counts[first + row]
        for stage in range(stages[first + row]):
            largest = logs[stage, row]
            for j in range(stage + 1, count):
                largest = max(largest, logs[j, row])
            total = 0.0
            for j in range(stage, count):
                total += math.exp(logs[j, row] - largest)
            for j in range(stage, count):
                slopes[j, row] -= math.exp(logs[j, row] - largest) / total
            slopes[stage, row] += np.float32(1)
            total_log += logs[stage, row] - largest - math.log(total)
        log_probs[row] = total_log


@njit(cache=True, fastmath=ORDERED)
def _likelihood(sharpness, lapse, columns, work):  # type: ignore[no-untyped-def]
    """(log likelihood, its slopes by log sharpness and by the lapse rate's logit) of work's points; fills its pulls."""
    firsts, seconds = columns[1], columns[2]
    points, pull, differences, (squared, logs, slopes), (log_probs, lapse_slopes, products, force) = work
    likelihood = by_sharpness = by_lapse = 0.0
    width, n = seconds.shape
    n_dims = len(points)
    factor = np.float32(-2 * sharpness)
    pull[:] = np.float32(0)
    for first in range(0, n, BLOCK):
        size = min(BLOCK, n - first)
        _answers(points, columns, first, size, sharpness, lapse, work)
        likelihood += float(_folded(log_probs, size))
        by_lapse += float(_folded(lapse_slopes, size))
        for j in range(width):
            for row in range(size):
                products[row] = slopes[j, row] * logs[j, row]
                slopes[j, row] *= factor / squared[j, row]
            by_sharpness += float(_folded(products, size))
        for d in range(n_dims):
            for j in range(width):
                if j < len(firsts):
                    for row in range(size):
                        force[row] = np.float32(0)
                for row in range(size):
                    differences[j, d, row] *= slopes[j, row]
                    force[row] += differences[j, d, row]
                for row in range(size):
                    pull[d, seconds[j, first + row]] -= differences[j, d, row]
                if j + 1 < len(firsts) or j + 1 == width:
                    for row in range(size):
                        pull[d, firsts[min(j, len(firsts) - 1), first + row]] += force[row]
    return likelihood, by_sharpness, by_lapse


@njit(cache=True, fastmath=ORDERED)
def _density(parameters, gradient, shape, columns, mean, sd, work):  # type: ignore[no-untyped-def]
    """(log posterior, log likelihood) and the gradient of the former; sd 0 fixes a parameter."""
    n_items, n_dims, n_features = shape
    features, by_item = columns[0], columns[8]
    points, pull = work[0], work[1]
    products, sums = np.empty(n_items, np.float32), np.empty(n_features, np.float32)
    settings = (n_features + n_items) * n_dims
    sharpness = math.exp(parameters[settings + n_dims + 3])
    lapse = 1 / (1 + math.exp(-parameters[settings + n_dims + 4]))
    _embed(parameters, shape, features, points)
    likelihood, by_sharpness, by_lapse = _likelihood(sharpness, lapse, columns, work)
    gradient[:] = 0.0
    scale = math.exp(parameters[settings + n_dims])
    by_features, by_offset = _parts(parameters[settings + n_dims + 1], n_features)
    spread = math.exp(parameters[settings + n_dims + 2])
    for d in range(n_dims):
        stretched = scale * math.exp(spread * parameters[settings + d])
        for i in range(n_items):
            products[i] = pull[d, i] * points[d, i]
        by_stretch, by_share = float(_folded(products, n_items)), 0.0
        sums[:] = np.float32(0)
        for i in range(n_items):
            for f in range(n_features):
                sums[f] += pull[d, i] * by_item[i, f]
        for f in range(n_features):
            gradient[f * n_dims + d] = sums[f] * stretched * by_features
        for i in range(n_items):
            place = (n_features + i) * n_dims + d
            gradient[place] = pull[d, i] * stretched * by_offset
            by_share += gradient[place] * parameters[place]
        gradient[settings + d] = by_stretch * spread
        gradient[settings + n_dims] += by_stretch
        gradient[settings + n_dims + 2] += by_stretch * spread * parameters[settings + d]
        if n_features > 0:  # a logit: the parts' factors change by -share / 2 and (1 - share) / 2 of themselves
            gradient[settings + n_dims + 1] += 0.5 * (by_share - by_offset * by_offset * by_stretch)
    gradient[settings + n_dims + 3] = by_sharpness
    gradient[settings + n_dims + 4] = by_lapse
    posterior = likelihood
    for p in range(gradient.size):
        if sd[p] > 0:
            standard = (parameters[p] - mean[p]) / sd[p]
            posterior -= 0.5 * standard * standard
            gradient[p] -= standard / sd[p]
        else:
            gradient[p] = 0.0
    return posterior, likelihood


@njit(cache=True)
def density(
    parameters: FloatArray,
    shape: tuple[int, int, int],
    features: FloatArray,
    pairs: IntArray,
    stages: IntArray,
    n_options: FloatArray,
    mean: FloatArray,
    sd: FloatArray,
) -> tuple[float, FloatArray]:
    """Log posterior of one parameter vector up to a constant, and its gradient."""
    gradient = np.empty(parameters.size)
    columns = _columns(features, pairs, stages, n_options)
    value, _ = _density(parameters, gradient, shape, columns, mean, sd, _workspace(shape, columns))
    return value, gradient


@njit(parallel=True, cache=True)
def answer_log_probs(
    parameters: FloatArray,
    shape: tuple[int, int, int],
    features: FloatArray,
    pairs: IntArray,
    stages: IntArray,
    n_options: FloatArray,
) -> FloatArray:
    """log P(each answer) under each chain: (chains, answers)."""
    n_chains = len(parameters)
    out = np.empty((n_chains, len(pairs)))
    columns = _columns(features, pairs, stages, n_options)
    for chain in prange(n_chains):
        work = _workspace(shape, columns)
        _embed(parameters[chain], shape, columns[0], work[0])
        lapse = 1 / (1 + math.exp(-parameters[chain, -1]))
        for first in range(0, len(pairs), BLOCK):
            size = min(BLOCK, len(pairs) - first)
            _answers(work[0], columns, first, size, math.exp(parameters[chain, -2]), lapse, work)
            for row in range(size):
                out[chain, first + row] = work[4][0][row]
    return out


# --- moves ------------------------------------------------------------------------------------------------


@njit(parallel=True, cache=True)
def move(
    parameters: FloatArray,
    seeds: IntArray,
    shape: tuple[int, int, int],
    features: FloatArray,
    pairs: IntArray,
    stages: IntArray,
    n_options: FloatArray,
    mean: FloatArray,
    sd: FloatArray,
    inverse_mass: FloatArray,
    step: float,
    n_leaps: int,
    n_moves: int,
    watched: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Move every chain `n_moves` times, in place; each move is a Hamiltonian path of `n_leaps` leaps.

    Gives the acceptance rate (chains,), the mean squared gradient (chains, parameters) and a trace (chains, moves,
    1 + watched) of the log likelihood and of the log distances within `watched` pairs of items.
    """
    n_chains, n_parameters = parameters.shape
    n_dims = shape[1]
    acceptance = np.zeros(n_chains)
    squares = np.zeros((n_chains, n_parameters))
    trace = np.empty((n_chains, n_moves, 1 + len(watched)))
    columns = _columns(features, pairs, stages, n_options)
    for chain in prange(n_chains):
        counter = np.empty(1, np.uint64)
        counter[0] = seeds[chain]
        work = _workspace(shape, columns)
        here, there = parameters[chain].copy(), np.empty(n_parameters)
        slope, slope_there = np.empty(n_parameters), np.empty(n_parameters)
        momentum = np.empty(n_parameters)
        value, likelihood = _density(here, slope, shape, columns, mean, sd, work)
        for turn in range(n_moves):
            _fill_normals(counter, momentum)
            energy = 0.0
            for p in range(n_parameters):
                if sd[p] > 0:
                    energy += 0.5 * momentum[p] * momentum[p]
                    momentum[p] /= math.sqrt(inverse_mass[p])
                else:
                    momentum[p] = 0.0
                there[p] = here[p]
                slope_there[p] = slope[p]
            leap = step * (0.8 + 0.4 * _uniform(counter))  # a path of fixed length may come back to its start
            value_there, likelihood_there = value, likelihood
            for _ in range(n_leaps):
                for p in range(n_parameters):
                    momentum[p] += 0.5 * leap * slope_there[p]
                    there[p] += leap * inverse_mass[p] * momentum[p]
                value_there, likelihood_there = _density(there, slope_there, shape, columns, mean, sd, work)
                for p in range(n_parameters):
                    momentum[p] += 0.5 * leap * slope_there[p]
            for p in range(n_parameters):
                energy -= 0.5 * momentum[p] * momentum[p] * inverse_mass[p]
            gain = value_there - value + energy
            if not math.isfinite(gain):
                gain = -np.inf  # the path left the numbers: refuse it
            acceptance[chain] += min(1.0, math.exp(min(0.0, gain))) / n_moves
            if math.log(_uniform(counter)) < gain:
                value, likelihood = value_there, likelihood_there
                here[:] = there
                slope[:] = slope_there
            for p in range(n_parameters):
                squares[chain, p] += slope[p] * slope[p] / n_moves
            trace[chain, turn, 0] = likelihood
            _embed(here, shape, columns[0], work[0])
            for pair in range(len(watched)):
                total = 1e-12
                for d in range(n_dims):
                    difference = work[0][d, watched[pair, 0]] - work[0][d, watched[pair, 1]]
                    total += difference * difference
                trace[chain, turn, 1 + pair] = 0.5 * math.log(total)
        parameters[chain] = here
    return acceptance, squares, trace
