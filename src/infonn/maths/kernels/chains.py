"""Hamiltonian Monte Carlo over an embedder's parameters, chains in parallel: the plain twin is `maths.embedders`.

Every chain has its own counter-based stream of random numbers, so the number of threads changes nothing.
Arrays: `parameters` (chains, parameters) laid out as `embedders.Layout` says; `shape` is (items, dims, features,
offsets) of that layout; `features` (items, features), `pairs`, `stages`, `n_options` as in `embedders.Choices`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.logs import REORDERED, precise_exp, precise_log

FAR = 1e300  # d^2 of padding: a weight next to nothing

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


@njit(cache=True, inline="always")
def _parts(logit_share, n_features, offsets):  # type: ignore[no-untyped-def]
    """Factors of what the features say and of the items' own offsets."""
    if n_features == 0:
        return 0.0, 1.0
    if not offsets:
        return 1.0, 0.0
    share = 1 / (1 + math.exp(-logit_share))
    return math.sqrt(1 - share), math.sqrt(share)


@njit(cache=True)
def _columns(features, pairs, stages, n_options):  # type: ignore[no-untyped-def]
    """Features by column and items by place, so that loops run along rows; (features, items, how many, ...).

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
    for row in range(n):
        for j in range(len(firsts)):
            firsts[j, row] = pairs[row, j, 0]
        for j in range(width):
            seconds[j, row] = pairs[row, j, 1 if pairs[row, j, 1] >= 0 else 0]
            counts[row] += pairs[row, j, 1] >= 0
    ranked = False
    for row in range(n):
        ranked = ranked or stages[row] > 1
    return np.ascontiguousarray(features.T), firsts, seconds, counts, stages, n_options, ranked


@njit(cache=True)
def _workspace(shape, columns):  # type: ignore[no-untyped-def]
    """Points, their pulls (dims, items); differences (pairs, dims, answers); (pairs, answers); (answers,)."""
    n_items, n_dims, _, _ = shape
    width, n = columns[2].shape
    points, pull = np.empty((n_dims, n_items)), np.empty((n_dims, n_items))
    differences = np.empty((width, n_dims, n))
    squared, logs, slopes = np.empty((width, n)), np.empty((width, n)), np.empty((width, n))
    log_probs, by_lapse, one, two = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    return points, pull, differences, (squared, logs, slopes), (log_probs, by_lapse, one, two)


@njit(cache=True, fastmath=REORDERED)
def _embed(parameters, shape, features, points):  # type: ignore[no-untyped-def]
    n_items, n_dims, n_features, offsets = shape
    settings = n_features * n_dims + (n_items * n_dims if offsets else 0)
    scale = math.exp(parameters[settings + n_dims])
    by_features, by_offset = _parts(parameters[settings + n_dims + 1], n_features, offsets)
    spread = math.exp(parameters[settings + n_dims + 2])
    for d in range(n_dims):
        stretched = scale * math.exp(spread * parameters[settings + d])
        for i in range(n_items):
            points[d, i] = by_offset * stretched * parameters[(n_features + i) * n_dims + d] if offsets else 0.0
        for f in range(n_features):
            weight = by_features * stretched * parameters[f * n_dims + d]
            for i in range(n_items):
                points[d, i] += weight * features[f, i]


@njit(cache=True, fastmath=REORDERED)
def _answers(points, columns, sharpness, lapse, work):  # type: ignore[no-untyped-def]
    """Fills `work`: differences, d^2 + 1, log weights, slopes of log P by each; log P(answer), its slope by the lapse.

    Loops are short and run along the answers, so that the compiler vectorises each.
    """
    _, firsts, seconds, counts, stages, n_options, ranked = columns
    _, _, differences, (squared, logs, slopes), (log_probs, by_lapse, attentive, reference) = work
    width, n = squared.shape
    squared[:] = 1.0
    for d in range(len(points)):
        for j in range(width):
            if j < len(firsts):
                for row in range(n):
                    reference[row] = points[d, firsts[j, row]]
            for row in range(n):
                difference = reference[row] - points[d, seconds[j, row]]
                differences[j, d, row] = difference
                squared[j, row] += difference * difference
    for j in range(width):
        for row in range(n):
            if counts[row] <= j:
                squared[j, row] = FAR
        for row in range(n):
            logs[j, row] = -sharpness * precise_log(squared[j, row])
    if ranked:
        _ranked(work, counts, stages)
    else:
        _nearest(work)
    if lapse == 0.0:
        by_lapse[:] = 0.0
        return
    for row in range(n):
        log_probs[row] = precise_exp(log_probs[row])
    for row in range(n):
        clear, guess = log_probs[row], 1 / n_options[row]
        mixed = (1 - lapse) * clear + lapse * guess
        log_probs[row] = mixed
        attentive[row] = (1 - lapse) * clear / mixed  # how likely this answer was no lapse
        by_lapse[row] = lapse * ((1 - lapse) * guess / mixed - attentive[row])
    for row in range(n):
        log_probs[row] = precise_log(log_probs[row])
    for j in range(width):
        for row in range(n):
            slopes[j, row] *= attentive[row]


@njit(cache=True, fastmath=REORDERED)
def _nearest(work):  # type: ignore[no-untyped-def]
    """log P(the first pair is chosen) without lapses, and its slopes."""
    _, _, _, (_, logs, slopes), (log_probs, _, largest, totals) = work
    width, n = logs.shape
    for row in range(n):
        largest[row] = logs[0, row]
        totals[row] = 0.0
    for j in range(1, width):
        for row in range(n):
            largest[row] = max(largest[row], logs[j, row])
    for j in range(width):
        for row in range(n):
            weight = precise_exp(logs[j, row] - largest[row])
            slopes[j, row] = weight
            totals[row] += weight
    for row in range(n):
        log_probs[row] = logs[0, row] - largest[row] - precise_log(totals[row])
        totals[row] = 1 / totals[row]
    for j in range(width):
        for row in range(n):
            slopes[j, row] = (1.0 if j == 0 else 0.0) - slopes[j, row] * totals[row]


@njit(cache=True, fastmath=REORDERED)
def _ranked(work, counts, stages):  # type: ignore[no-untyped-def]
    """log P(the pairs in this order, for as many stages) without lapses, and its slopes."""
    _, _, _, (_, logs, slopes), (log_probs, _, _, _) = work
    slopes[:] = 0.0
    for row in range(len(counts)):
        log_probs[row] = 0.0
        for stage in range(stages[row]):
            largest = logs[stage, row]
            for j in range(stage + 1, counts[row]):
                largest = max(largest, logs[j, row])
            total = 0.0
            for j in range(stage, counts[row]):
                total += math.exp(logs[j, row] - largest)
            for j in range(stage, counts[row]):
                slopes[j, row] -= math.exp(logs[j, row] - largest) / total
            slopes[stage, row] += 1.0
            log_probs[row] += logs[stage, row] - largest - math.log(total)


@njit(cache=True, fastmath=REORDERED)
def _density(parameters, gradient, shape, columns, mean, sd, work):  # type: ignore[no-untyped-def]
    """(log posterior, log likelihood) and the gradient of the former; sd 0 fixes a parameter."""
    n_items, n_dims, n_features, offsets = shape
    features, firsts, seconds = columns[0], columns[1], columns[2]
    points, pull, differences, (squared, logs, slopes), (log_probs, lapse_slopes, _, force) = work
    settings = n_features * n_dims + (n_items * n_dims if offsets else 0)
    sharpness = math.exp(parameters[settings + n_dims + 3])
    lapse = 1 / (1 + math.exp(-parameters[settings + n_dims + 4]))
    _embed(parameters, shape, features, points)
    _answers(points, columns, sharpness, lapse, work)
    likelihood = by_sharpness = by_lapse = 0.0
    width, n = squared.shape
    for row in range(n):
        likelihood += log_probs[row]
        by_lapse += lapse_slopes[row]
    for j in range(width):
        for row in range(n):
            by_sharpness += slopes[j, row] * logs[j, row]
            slopes[j, row] *= -2 * sharpness / squared[j, row]
    pull[:] = 0.0
    for d in range(n_dims):
        for j in range(width):
            if j < len(firsts):
                force[:] = 0.0
            for row in range(n):
                differences[j, d, row] *= slopes[j, row]
                force[row] += differences[j, d, row]
            for row in range(n):
                pull[d, seconds[j, row]] -= differences[j, d, row]
            if j + 1 < len(firsts) or j + 1 == width:
                for row in range(n):
                    pull[d, firsts[min(j, len(firsts) - 1), row]] += force[row]
    gradient[:] = 0.0
    scale = math.exp(parameters[settings + n_dims])
    by_features, by_offset = _parts(parameters[settings + n_dims + 1], n_features, offsets)
    spread = math.exp(parameters[settings + n_dims + 2])
    for d in range(n_dims):
        stretched = scale * math.exp(spread * parameters[settings + d])
        by_stretch = by_share = 0.0
        for i in range(n_items):
            by_stretch += pull[d, i] * points[d, i]
        for f in range(n_features):
            total = 0.0
            for i in range(n_items):
                total += pull[d, i] * features[f, i]
            gradient[f * n_dims + d] = total * stretched * by_features
        if offsets:
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
    shape: tuple[int, int, int, int],
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
    shape: tuple[int, int, int, int],
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
        _answers(work[0], columns, math.exp(parameters[chain, -2]), lapse, work)
        out[chain] = work[4][0]
    return out


# --- moves ------------------------------------------------------------------------------------------------


@njit(parallel=True, cache=True)
def move(
    parameters: FloatArray,
    seeds: IntArray,
    shape: tuple[int, int, int, int],
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
