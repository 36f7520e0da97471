"""Hamiltonian Monte Carlo over an embedder's parameters, chains in parallel: the plain twin is `maths.embedders`.

Every chain has its own counter-based stream of random numbers, so the number of threads changes nothing.
Arrays: `parameters` (chains, parameters) laid out as `embedders.Layout` says; `shape` is (items, dims, features,
offsets) of that layout; `features` (items, features), `queries`, `stages`, `n_options` as in `embedders.Choices`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from infonn.arrays import FloatArray, IntArray
from infonn.maths.kernels.logs import REORDERED

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
            point = 0.0
            for f in range(n_features):
                point += features[i, f] * parameters[f * n_dims + d]
            point *= by_features
            if offsets:
                point += by_offset * parameters[(n_features + i) * n_dims + d]
            points[i, d] = point * stretched


@njit(cache=True, fastmath=REORDERED)
def _answer(points, query, stages, n_options, sharpness, lapse, n_dims, rows):  # type: ignore[no-untyped-def]
    """log P(answer); leaves d^2 + 1, log weights, weights and the slope of log P by each log weight in `rows`.

    Gives (log P, candidates, slope by the logit of the lapse rate).
    """
    squared, logs, weights, slopes = rows
    reference = query[0]
    k = 0
    for j in range(query.size - 1):
        item = query[j + 1]
        if item < 0:
            break
        total = 1.0
        for d in range(n_dims):
            difference = points[reference, d] - points[item, d]
            total += difference * difference
        squared[j] = total
        logs[j] = -sharpness * math.log(total)
        slopes[j] = 0.0
        k += 1
    log_prob, clear = 0.0, 1.0  # of the answer without lapses, as a log and as it is
    for stage in range(stages):
        largest = logs[stage]
        for j in range(stage + 1, k):
            largest = max(largest, logs[j])
        total = 0.0
        for j in range(stage, k):
            weights[j] = math.exp(logs[j] - largest)
            total += weights[j]
        clear *= weights[stage] / total
        if lapse == 0.0:
            log_prob += logs[stage] - largest - math.log(total)
        for j in range(stage, k):
            slopes[j] -= weights[j] / total
        slopes[stage] += 1.0
    if lapse == 0.0:
        return log_prob, k, 0.0
    mixed = (1 - lapse) * clear + lapse / n_options
    attentive = (1 - lapse) * clear / mixed  # how likely this answer was no lapse
    for j in range(k):
        slopes[j] *= attentive
    return math.log(mixed), k, (1 / n_options - clear) / mixed * lapse * (1 - lapse)


@njit(cache=True, fastmath=REORDERED)
def _density(parameters, gradient, shape, features, queries, stages, n_options, mean, sd, work):  # type: ignore[no-untyped-def]
    """(log posterior, log likelihood) and the gradient of the former; sd 0 fixes a parameter."""
    n_items, n_dims, n_features, offsets = shape
    points, pull, rows = work
    squared, logs, _, slopes = rows
    settings = n_features * n_dims + (n_items * n_dims if offsets else 0)
    sharpness = math.exp(parameters[settings + n_dims + 3])
    lapse = 1 / (1 + math.exp(-parameters[settings + n_dims + 4]))
    _embed(parameters, shape, features, points)
    pull[:] = 0.0
    likelihood = by_sharpness = by_lapse = 0.0
    for row in range(len(queries)):
        log_prob, k, slope = _answer(points, queries[row], stages[row], n_options[row], sharpness, lapse, n_dims, rows)
        likelihood += log_prob
        by_lapse += slope
        reference = queries[row, 0]
        for j in range(k):
            by_sharpness += slopes[j] * logs[j]
            factor = -2 * sharpness * slopes[j] / squared[j]
            item = queries[row, j + 1]
            for d in range(n_dims):
                force = factor * (points[reference, d] - points[item, d])
                pull[reference, d] += force
                pull[item, d] -= force
    gradient[:] = 0.0
    scale = math.exp(parameters[settings + n_dims])
    by_features, by_offset = _parts(parameters[settings + n_dims + 1], n_features, offsets)
    spread = math.exp(parameters[settings + n_dims + 2])
    for d in range(n_dims):
        stretched = scale * math.exp(spread * parameters[settings + d])
        by_stretch = by_share = 0.0
        for i in range(n_items):
            by_stretch += pull[i, d] * points[i, d]
            force = pull[i, d] * stretched
            for f in range(n_features):
                gradient[f * n_dims + d] += force * by_features * features[i, f]
            if offsets:
                place = (n_features + i) * n_dims + d
                gradient[place] = force * by_offset
                by_share += force * by_offset * parameters[place]
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
def _workspace(shape, n_candidates):  # type: ignore[no-untyped-def]
    points, pull = np.empty((shape[0], shape[1])), np.empty((shape[0], shape[1]))
    rows = np.empty(n_candidates), np.empty(n_candidates), np.empty(n_candidates), np.empty(n_candidates)
    return points, pull, rows


@njit(cache=True)
def density(
    parameters: FloatArray,
    shape: tuple[int, int, int, int],
    features: FloatArray,
    queries: IntArray,
    stages: IntArray,
    n_options: FloatArray,
    mean: FloatArray,
    sd: FloatArray,
) -> tuple[float, FloatArray]:
    """Log posterior of one parameter vector up to a constant, and its gradient."""
    gradient = np.empty(parameters.size)
    work = _workspace(shape, queries.shape[1] - 1)
    value, _ = _density(parameters, gradient, shape, features, queries, stages, n_options, mean, sd, work)
    return value, gradient


@njit(parallel=True, cache=True)
def answer_log_probs(
    parameters: FloatArray,
    shape: tuple[int, int, int, int],
    features: FloatArray,
    queries: IntArray,
    stages: IntArray,
    n_options: FloatArray,
) -> FloatArray:
    """log P(each answer) under each chain: (chains, answers)."""
    n_chains = len(parameters)
    n_dims = shape[1]
    out = np.empty((n_chains, len(queries)))
    for chain in prange(n_chains):
        points, _, rows = _workspace(shape, queries.shape[1] - 1)
        _embed(parameters[chain], shape, features, points)
        sharpness = math.exp(parameters[chain, -2])
        lapse = 1 / (1 + math.exp(-parameters[chain, -1]))
        for row in range(len(queries)):
            out[chain, row], _, _ = _answer(
                points, queries[row], stages[row], n_options[row], sharpness, lapse, n_dims, rows
            )
    return out


# --- moves ------------------------------------------------------------------------------------------------


@njit(parallel=True, cache=True)
def move(
    parameters: FloatArray,
    seeds: IntArray,
    shape: tuple[int, int, int, int],
    features: FloatArray,
    queries: IntArray,
    stages: IntArray,
    n_options: FloatArray,
    mean: FloatArray,
    sd: FloatArray,
    inverse_mass: FloatArray,
    step: float,
    n_leaps: int,
    n_moves: int,
    pairs: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Move every chain `n_moves` times, in place; each move is a Hamiltonian path of `n_leaps` leaps.

    Gives the acceptance rate (chains,), the mean squared gradient (chains, parameters) and a trace (chains, moves,
    1 + pairs) of the log likelihood and of the log distances within `pairs` of items.
    """
    n_chains, n_parameters = parameters.shape
    n_dims = shape[1]
    acceptance = np.zeros(n_chains)
    squares = np.zeros((n_chains, n_parameters))
    trace = np.empty((n_chains, n_moves, 1 + len(pairs)))
    for chain in prange(n_chains):
        counter = np.empty(1, np.uint64)
        counter[0] = seeds[chain]
        work = _workspace(shape, queries.shape[1] - 1)
        here, there = parameters[chain].copy(), np.empty(n_parameters)
        slope, slope_there = np.empty(n_parameters), np.empty(n_parameters)
        momentum = np.empty(n_parameters)
        value, likelihood = _density(here, slope, shape, features, queries, stages, n_options, mean, sd, work)
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
                value_there, likelihood_there = _density(
                    there, slope_there, shape, features, queries, stages, n_options, mean, sd, work
                )
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
            _embed(here, shape, features, work[0])
            for pair in range(len(pairs)):
                total = 1e-12
                for d in range(n_dims):
                    difference = work[0][pairs[pair, 0], d] - work[0][pairs[pair, 1], d]
                    total += difference * difference
                trace[chain, turn, 1 + pair] = 0.5 * math.log(total)
        parameters[chain] = here
    return acceptance, squares, trace
