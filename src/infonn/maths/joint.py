"""Joint information of a batch of queries under common draws: exact for few answers, sampled for many.

The information that the answers to a batch tell together is a sum of conditional terms,
I(y_1..y_b) = sum_i I(y_i | y_1..y_{i-1}), and a greedy batch takes the query with the largest next term.
Each term is the expected entropy of the answer given the earlier answers, less its entropy given the draw.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import Array, FloatArray, IntArray, library_of, to_numpy

MAX_CONFIGURATIONS = 1000  # joint answers held: exact up to here, then as many sampled ones
SAMPLING_SLACK = 0.03  # nats by which a sampled term may exceed its earlier value
_CHUNK = 1 << 20  # entries of the table of configurations by options at a time


@dataclass(frozen=True)
class Joint:
    """The joint answers a batch may get: their shares (m,), and how likely each is under each draw (m, draws).

    `likelihoods` are divided by their mean over the draws, so that no batch is too long for them.
    `origins` (m,) are the draws that sampled answers came from; None while the table is complete.
    """

    shares: FloatArray
    likelihoods: FloatArray
    origins: IntArray | None = None


def empty_joint(n_draws: int) -> Joint:
    """The one joint answer to no question."""
    return Joint(np.ones(1), np.ones((1, n_draws), np.float32))


def extended(joint: Joint, log_probs: Array, rng: Generator, max_configurations: int = MAX_CONFIGURATIONS) -> Joint:
    """The joint with one more query in the batch; `log_probs` (draws, options) are that query's.

    Once the table of all joint answers would pass `max_configurations`, as many are sampled instead: each
    follows one draw, the same from pick to pick, so that terms of successive picks share their luck.
    """
    probs = np.exp(to_numpy(log_probs)).astype(np.float32)
    n_draws, n_options = probs.shape
    if joint.origins is None and len(joint.shares) * n_options <= max_configurations:
        likelihoods = (joint.likelihoods[:, None, :] * probs.T).reshape(-1, n_draws)
        means = likelihoods.mean(axis=1)
        possible = means > 0
        shares = np.repeat(joint.shares, n_options)[possible] * means[possible]
        return Joint(shares, likelihoods[possible] / means[possible, None])
    if joint.origins is None:
        joint = _sampled(joint, max_configurations, rng)
    uniform = rng.random((len(joint.shares), 1))
    answers = (uniform > np.cumsum(probs[joint.origins], axis=1)[:, :-1]).sum(axis=1)
    likelihoods = joint.likelihoods * probs[:, answers].T
    likelihoods /= np.maximum(likelihoods.mean(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return Joint(joint.shares, likelihoods, joint.origins)


def _sampled(joint: Joint, n: int, rng: Generator) -> Joint:
    """`n` joint answers sampled from a complete table, spread evenly over the draws they follow."""
    n_draws = joint.likelihoods.shape[1]
    origins = rng.permutation(np.arange(n) % n_draws)
    cumulated = np.cumsum(joint.shares[:, None] * joint.likelihoods, axis=0)  # P(joint answer | draw), summed up
    rows = np.empty(n, np.int64)
    uniform = rng.random(n)
    for draw in np.unique(origins):
        here = origins == draw
        rows[here] = np.searchsorted(cumulated[:, draw], uniform[here] * cumulated[-1, draw])
    rows = np.minimum(rows, len(joint.shares) - 1)
    return Joint(np.full(n, 1 / n), joint.likelihoods[rows], origins)


def conditional_information(joint: Joint, log_probs: Array) -> FloatArray:
    """Nats each answer is expected to add to those of the batch: (draws, queries, options) -> (queries,)."""
    xp = library_of(log_probs)
    n_draws, n_queries, n_options = log_probs.shape
    like = {"dtype": log_probs.dtype, **({"device": log_probs.device} if xp is not np else {})}
    likelihoods = xp.asarray(joint.likelihoods / n_draws, **like)
    shares = xp.asarray(joint.shares, **like)
    chunk = max(1, (_CHUNK if xp is np else 64 * _CHUNK) // (len(shares) * n_options))
    parts = []
    for first in range(0, n_queries, chunk):
        logs = log_probs[:, first : first + chunk]
        probs = xp.exp(logs)
        expected = _mean_surprise(shares, likelihoods, probs.reshape(n_draws, -1)).reshape(-1, n_options).sum(-1)
        given_draw = -(probs * logs.clip(-1e30)).sum(-1).mean(0)
        parts.append(to_numpy(expected - given_draw))
    return np.concatenate(parts) if parts else np.empty(0)


def _mean_surprise(shares: Array, likelihoods: Array, probs: Array) -> Array:
    """-p log p of what the joint answers predict, averaged over them: (m,), (m, draws), (draws, n) -> (n,)."""
    if library_of(probs) is np and probs.dtype == np.float32:
        from infonn.maths.kernels.joint import mean_surprise

        return mean_surprise(shares, likelihoods, probs)
    predicted = likelihoods @ probs
    tiny = float(np.finfo(np.float32).tiny)
    logs = library_of(predicted).log(predicted.clip(tiny))
    return -(shares @ (predicted * logs))


def greedy_joint_batch(
    predict: Callable[[IntArray], Array],
    information: FloatArray,
    size: int,
    rng: Generator,
    max_configurations: int = MAX_CONFIGURATIONS,
) -> IntArray:
    """Rows whose answers tell most together, chosen one by one: the greedy batch of BatchBALD.

    `predict` gives log_probs (draws, rows, options) of rows, `information` (n,) what each tells alone. A term
    only falls as the batch grows, so earlier terms bound later ones and few rows need a second look; only rows
    that were looked at are kept in memory.
    """
    order = np.argsort(-information, kind="stable")
    bounds = np.asarray(information, float)[order]
    loaded: list[Array] = []
    block = 2048

    def log_probs_at(positions: IntArray) -> Array:
        while len(loaded) * block <= positions.max():
            loaded.append(predict(order[len(loaded) * block : (len(loaded) + 1) * block]))
        parts, places = [], []
        for index in np.unique(positions // block):
            here = np.flatnonzero(positions // block == index)
            parts.append(loaded[index][:, positions[here] - index * block])
            places.append(here)
        if len(parts) == 1:
            return parts[0]
        xp = library_of(parts[0])
        joined = xp.concatenate(parts, 1)
        return joined[:, np.argsort(np.concatenate(places))]

    picked: list[int] = []
    joint: Joint | None = None
    for _ in range(min(size, len(order))):
        if joint is None:
            best = 0
        else:
            slack = 0.0 if joint.origins is None else SAMPLING_SLACK
            best = _best_position(joint, bounds, log_probs_at, slack)
        picked.append(best)
        bounds[best] = -np.inf
        chosen = log_probs_at(np.array([best]))[:, 0]
        joint = extended(joint or empty_joint(len(chosen)), chosen, rng, max_configurations)
    return order[picked]


def _best_position(joint: Joint, bounds: FloatArray, log_probs_at: Callable[[IntArray], Array], slack: float) -> int:
    """Where the next term is largest; `bounds` are lowered to the terms that were looked at."""
    positions = np.argsort(-bounds, kind="stable")
    best, best_term, first, step = int(positions[0]), -math.inf, 0, 64
    while first < len(positions) and np.isfinite(bounds[positions[first]]):
        if bounds[positions[first]] + slack < best_term:
            break
        looked_at = positions[first : first + step]
        looked_at = np.sort(looked_at[np.isfinite(bounds[looked_at])])
        terms = conditional_information(joint, log_probs_at(looked_at))
        top = int(np.argmax(terms))
        if terms[top] > best_term:
            best, best_term = int(looked_at[top]), float(terms[top])
        bounds[looked_at] = terms
        first, step = first + step, min(2 * step, 2048)
    return best


def exact_joint_information(log_probs: FloatArray) -> float:
    """Nats that the answers to a whole batch tell together, by listing all joint answers: for small batches."""
    _, size, n_options = log_probs.shape
    joint_entropy = 0.0
    for answers in itertools.product(range(n_options), repeat=size):
        share = np.exp(log_probs[:, range(size), answers].sum(axis=1)).mean()
        joint_entropy -= share * math.log(share) if share > 0 else 0.0
    given_draw = -(np.exp(log_probs) * np.maximum(log_probs, -1e30)).sum(axis=(1, 2)).mean()
    return float(joint_entropy - given_draw)
