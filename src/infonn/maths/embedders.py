"""Embeddings whose parameters one vector holds, and how probable that vector is: the plain twin of `kernels.chains`.

An embedding is Z = (sqrt(1 - share) F W + sqrt(share) O) * scale * exp(spread * stretch): a linear map W of what the
items' features say (F F' is their Gram matrix), and an offset O of every item's own. So each dimension is normal over
the items with covariance a^2 ((1 - share) F F' + share I): a linear metric at share 0, places that ignore the features
at share 1, and the answers say where between. Without features the share is 1.
W, O and the stretches of the dimensions are standard normal beforehand. The response model has mu = 1: only the
ratio of scale and mu matters, so the prior's scale stands in for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from infonn.arrays import Array, FloatArray, IntArray, library_of
from infonn.maths.distances import option_squared_distances
from infonn.maths.responses import ResponseSettings, option_log_probs
from infonn.queries import Answers, odd_one_first, orders

N_SETTINGS = 5  # scale, share, spread, sharpness, lapse


@dataclass(frozen=True)
class Layout:
    """Where each parameter stands in the vector: weights, offsets, stretches (one per dimension), five settings.

    Settings are kept as logs, share and lapse rate as their logits.
    """

    n_items: int
    n_dims: int
    n_features: int = 0

    @property
    def n_weights(self) -> int:
        return self.n_features * self.n_dims

    @property
    def n_coordinates(self) -> int:
        """Weights and offsets together; what follows are settings."""
        return self.n_weights + self.n_items * self.n_dims

    @cached_property
    def stretch(self) -> slice:
        return slice(self.n_coordinates, self.n_coordinates + self.n_dims)

    @property
    def scale(self) -> int:
        return self.n_coordinates + self.n_dims

    @property
    def share(self) -> int:
        return self.scale + 1

    @property
    def spread(self) -> int:
        return self.scale + 2

    @property
    def sharpness(self) -> int:
        return self.scale + 3

    @property
    def lapse(self) -> int:
        return self.scale + 4

    @property
    def n_parameters(self) -> int:
        return self.scale + N_SETTINGS


def embed(parameters: Array, layout: Layout, features: Array) -> Array:
    """(..., parameters), (items, features) -> (..., items, dims). Works for numpy and torch."""
    lead, n_dims = parameters.shape[:-1], layout.n_dims
    points = parameters[..., layout.n_weights : layout.n_coordinates].reshape(*lead, layout.n_items, n_dims)
    if layout.n_features:
        share = _share(parameters, layout)
        weights = parameters[..., : layout.n_weights].reshape(*lead, layout.n_features, n_dims)
        points = (1 - share) ** 0.5 * (features @ weights) + share**0.5 * points
    return points * scales_of(parameters, layout)[..., None, :]


def _share(parameters: Array, layout: Layout) -> Array:
    xp = library_of(parameters)
    return 1 / (1 + xp.exp(-parameters[..., layout.share]))[..., None, None]


def scales_of(parameters: Array, layout: Layout) -> Array:
    """How far each dimension reaches: (..., parameters) -> (..., dims)."""
    xp = library_of(parameters)
    spread = xp.exp(parameters[..., layout.spread, None])
    return xp.exp(spread * parameters[..., layout.stretch] + parameters[..., layout.scale, None])


def log_density(
    parameters: Array, layout: Layout, features: Array, answers: Answers, prior_mean: Array, prior_sd: Array
) -> Array:
    """Log posterior of one vector, up to a constant; a parameter with a prior_sd of 0 is fixed and adds nothing."""
    free = prior_sd > 0
    standard = (parameters - prior_mean)[free] / prior_sd[free]
    return answer_log_probs(parameters, layout, features, answers).sum() - 0.5 * (standard**2).sum()


def answer_log_probs(parameters: Array, layout: Layout, features: Array, answers: Answers) -> Array:
    """log P(each answer) under one parameter vector: (parameters,) -> (answers,)."""
    xp = library_of(parameters)
    points, queries = embed(parameters, layout, features), xp.asarray(answers.queries)
    squared = option_squared_distances(points, queries, answers.kind)
    settings = ResponseSettings(1.0, xp.exp(parameters[layout.sharpness]), 1 / (1 + xp.exp(-parameters[layout.lapse])))
    return option_log_probs(squared, settings, answers.kind)[np.arange(len(answers)), answers.responses]


@dataclass(frozen=True)
class OrderedAnswers:
    """Answers as the chains read them: one of several pairs of items is the nearest, then perhaps the next.

    `pairs` (n, k, 2) have the chosen pair first, or all in their order: the reference with each candidate (-1 beyond
    the end of a short query), or the three pairs of a triple with an odd one; all rows of one sort. `stages` (n,) is
    how many choices an answer holds (k - 1 for a ranking, else 1), `n_options` (n,) how many answers were possible.
    """

    pairs: IntArray
    stages: IntArray
    n_options: FloatArray

    def __len__(self) -> int:
        return len(self.pairs)

    def take(self, rows: slice) -> OrderedAnswers:
        return OrderedAnswers(self.pairs[rows], self.stages[rows], self.n_options[rows])


def ordered_answers(answers: Answers) -> OrderedAnswers:
    """Answers with the nearest first."""
    queries, responses = answers.queries, answers.responses
    if answers.kind == "odd_one_out":
        odd, first, second = odd_one_first(answers).T
        pairs = np.stack([[first, second], [first, odd], [second, odd]]).transpose(2, 0, 1)
        return OrderedAnswers(np.ascontiguousarray(pairs), np.ones(len(pairs), np.int32), np.full(len(pairs), 3.0))
    counts = (queries[:, 1:] >= 0).sum(axis=1)
    if answers.kind == "ranking":
        n_candidates = queries.shape[1] - 1
        order = orders(n_candidates)[responses]
        stages = np.full(len(queries), n_candidates - 1)
        n_options = np.full(len(queries), math.factorial(n_candidates))
    else:
        order = np.tile(np.arange(queries.shape[1] - 1), (len(queries), 1))
        rows = np.arange(len(queries))
        order[rows, responses], order[:, 0] = 0, responses  # the chosen one changes places with the first
        stages, n_options = np.ones(len(queries)), counts
    candidates = np.take_along_axis(queries[:, 1:], order, axis=1)
    pairs = np.stack(np.broadcast_arrays(queries[:, :1], candidates), axis=-1)
    return OrderedAnswers(pairs.astype(np.int32), stages.astype(np.int32), n_options.astype(np.float64))
