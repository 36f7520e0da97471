"""The posterior over an embedder's parameters under the response model: many draws instead of one embedding.

Chains sample where the items lie together with how people answer (sharpness and lapse rate of the response
model, the embedding's scale against mu, how unlike the dimensions' scales are, how much an item may leave its
features), so nothing has to be set by hand: the answers choose. A dimension that the answers do not need shrinks
away, so `dims` is only the most there may be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief, RowDraws
from infonn.errors import DataError
from infonn.learners.posterior.chains import Population, Target, follow, fresh, left_out, log_probs
from infonn.learners.posterior.seen_answers import keys_of, seen_first
from infonn.maths.distances import classical_scaling
from infonn.maths.embedders import Choices, Layout, choices_of, embed, scales_of
from infonn.maths.kernels.distances import mean_distances
from infonn.maths.responses import ResponseSettings
from infonn.maths.threads import one_thread
from infonn.queries import Answers

EmbedderName = Literal["free", "linear", "hybrid"]
Prior = tuple[float, float]  # mean and deviation of a normal; deviation 0 fixes

# The same for every study, and wide; logs, and a logit.
LOG_SCALE: Prior = (0.0, 1.0)  # of the embedding, in units of sqrt(mu)
LOG_SPREAD: Prior = (math.log(0.3), 1.0)  # deviation of the logs of the dimensions' scales
LOGIT_SHARE: Prior = (-1.0, 2.0)  # of the variance that is an item's own, beside its features
LOG_SHARPNESS: Prior = (math.log(6.0), 0.8)
LOGIT_LAPSE: Prior = (-2.0, 1.2)

FREE_DIMS = 3  # most dimensions of an embedding without features, where none are given
FEATURE_DIMS = 10  # and of one by features
FIRST_ANSWERS = 20  # a cold fit starts with at most twice as many, and doubles
MOVES_PER_ANSWER = 1
MOST_MOVES = 30
COLD_MOVES = 80  # for each part of the answers
LANDMARKS = 500  # items whose distances give the axes of the point estimate, where there are more
MANY_NUMBERS = 50_000_000  # draws beyond that are made from the weights when they are asked for


@dataclass(frozen=True)
class Posterior:
    """Chains over a free embedding, a linear metric, or features with a shrunken offset per item: many draws.

    `embedder` None: "linear" where the items have features, else "free". Settings that are None are learned;
    `prior_scale` is the deviation of a coordinate beforehand. `effort` is the share of the moves that is made, for
    whoever must choose the next question soon.
    """

    n_items: int
    features: FloatArray | None = None
    dims: int | None = None
    embedder: EmbedderName | None = None
    mu: float | None = None
    sharpness: float | None = None
    lapse: float | None = None
    prior_scale: float | None = None
    n_chains: int = 48
    moves: int = 10
    leaps: int = 8
    effort: float = 1.0

    def __post_init__(self) -> None:
        if self.dims is not None and not (isinstance(self.dims, int | np.integer) and self.dims >= 1):
            raise DataError(f"dims is {self.dims!r}; it must be a whole number, at least 1.")
        if self._kind != "free" and self.features is None:
            raise DataError(f'Embedder "{self._kind}" needs features of the items. Use "free" without them.')
        if self.features is not None and len(self.features) != self.n_items:
            raise DataError(f"{len(self.features)} rows of features for {self.n_items} items; there must be one each.")

    def with_effort(self, effort: float) -> Posterior:
        """The same with this share of the moves."""
        return replace(self, effort=effort)

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """The belief after `answers`; the chains of `start` go on where it saw most of them, and little else."""
        if answers.kind == "label":
            raise DataError("The posterior learns from similarity answers, and these are class labels.")
        kept = _kept(start, answers, (self.n_chains, self._layout(self.n_items).n_parameters))
        if start is None or kept is None:
            target, answered = self._target(answers)
            population = self._cold(target, choices_of(answered), rng)
        else:
            rows, n_seen, n_gone = kept
            target, answered = self._target(answers.take(rows))
            n_moves = self.moves + MOVES_PER_ANSWER * max(0, len(answers) - n_seen + n_gone - 1)
            n_moves = max(1, round(self.effort * min(MOST_MOVES, n_moves)))
            population = follow(_population(start), target, choices_of(answered), n_seen, n_moves, self.leaps, rng)
        return self._belief(population, target.layout, answers)

    def foreseen(self, belief: Belief, answers: Answers) -> float:
        """Nats: the log probability of all answers of a fitted belief, each foreseen from the others."""
        assert belief.state is not None
        target, answered = self._target(answers)
        return left_out(log_probs(belief.state["parameters"], target, choices_of(answered)))

    def embed(self, belief: Belief, features: FloatArray) -> FloatArray:
        """Where new items lie beside those of `belief.embedding`, by their features alone: (new, dims)."""
        if self.features is None or belief.state is None:
            raise DataError("New items embed by features, and this study's items have none.")
        layout, parameters = self._layout(self.n_items), belief.state["parameters"]
        known, new = standardised(self.features), standardised(features, like=self.features)
        if not layout.offsets:
            return new @ mean_map(_weights(parameters, layout) * self._unit, known)
        both = Layout(self.n_items + len(new), layout.n_dims, layout.n_features)
        own = np.zeros((len(parameters), len(new) * layout.n_dims))  # new items have no offset
        extended = np.insert(parameters, [layout.n_coordinates] * own.shape[1], own, axis=1)
        drawn = embed(extended, both, np.concatenate([known, new])) * self._unit
        return mean_embedding(drawn, n_known=self.n_items)[self.n_items :]

    def _cold(self, target: Target, choices: Choices, rng: Generator) -> Population:
        """Chains from the prior that see the answers in growing parts, so that few are caught in a bad place."""
        population, n_seen = fresh(target, self.n_chains, rng), 0
        n_moves = max(1, round(self.effort * COLD_MOVES))
        for count in _doubling(len(choices)):
            part = choices.take(slice(0, count))
            population = follow(population, target, part, n_seen, n_moves, self.leaps, rng)
            n_seen = count
        return population

    # --- what is sampled ---------------------------------------------------------------------------------

    @property
    def _kind(self) -> EmbedderName:
        return self.embedder or ("free" if self.features is None else "linear")

    @property
    def _unit(self) -> float:
        """Length of 1 in the chains, where mu is 1."""
        return math.sqrt(self.mu or 1.0)

    def _layout(self, n_items: int) -> Layout:
        if self._kind == "free" or self.features is None:
            return Layout(n_items, self.dims or FREE_DIMS)
        n_features = self.features.shape[1]
        return Layout(n_items, self.dims or min(n_features, FEATURE_DIMS), n_features, self._kind == "hybrid")

    def _target(self, answers: Answers) -> tuple[Target, Answers]:
        """What the chains sample, and the answers in its numbering: a linear metric needs only items that occur."""
        features: FloatArray = np.zeros((self.n_items, 0))
        if self._kind != "free" and self.features is not None:
            features = standardised(self.features)
        if self._kind == "linear" and len(answers):
            items, local = np.unique(answers.queries, return_inverse=True)
            queries = np.where(answers.queries < 0, -1, local.reshape(answers.queries.shape)).astype(np.int32)
            features, answers = features[items], replace(answers, queries=queries)
        layout = self._layout(len(features))
        mean, sd = np.zeros(layout.n_parameters), np.ones(layout.n_parameters)
        for place, prior in self._priors(layout).items():
            mean[place], sd[place] = prior
        if layout.n_dims == 1 or self.prior_scale is not None:
            sd[layout.stretch] = sd[layout.spread] = 0.0  # nothing to stretch
        return Target(layout, np.ascontiguousarray(features), mean, sd), answers

    def _priors(self, layout: Layout) -> dict[int, Prior]:
        priors = {
            layout.scale: LOG_SCALE,
            layout.share: LOGIT_SHARE if self._kind == "hybrid" else (0.0, 0.0),
            layout.spread: LOG_SPREAD,
            layout.sharpness: LOG_SHARPNESS,
            layout.lapse: LOGIT_LAPSE,
        }
        if self.prior_scale is not None:
            priors[layout.scale] = (math.log(self.prior_scale / self._unit), 0.0)
        if self.sharpness is not None:
            priors[layout.sharpness] = (math.log(self.sharpness), 0.0)
        if self.lapse is not None:
            priors[layout.lapse] = (math.log(self.lapse / (1 - self.lapse)) if self.lapse else -math.inf, 0.0)
        return priors

    # --- what is believed --------------------------------------------------------------------------------

    def _belief(self, population: Population, layout: Layout, answers: Answers) -> Belief:
        parameters = population.parameters
        response = ResponseSettings(
            self.mu or 1.0,
            float(np.exp(parameters[:, layout.sharpness].mean())),
            float((1 / (1 + np.exp(-parameters[:, layout.lapse]))).mean()),
        )
        state = {
            "parameters": parameters,
            "inverse_mass": population.inverse_mass,
            "step": np.array(population.step),
            "seen": keys_of(answers),
            "acceptance": np.array(population.acceptance),
            "r_hat": np.array(population.r_hat),
            "drift": np.array(population.drift),
            "effective": np.array(population.effective),
        }
        embedding, draws = self._embedded(parameters)
        return Belief(embedding, draws, response=response, state=state)

    def _embedded(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray | RowDraws]:
        """The point estimate and the draws."""
        layout = self._layout(self.n_items)
        if self._kind == "linear" and self.features is not None:
            known, weights = standardised(self.features), _weights(parameters, layout) * self._unit
            draws = LinearDraws(known, weights)
            many = len(weights) * self.n_items * layout.n_dims > MANY_NUMBERS
            return known @ mean_map(weights, known), draws if many else draws(np.arange(self.n_items))
        features = np.zeros((self.n_items, 0)) if self._kind == "free" else standardised(self.features)
        embedded = embed(parameters, layout, features) * self._unit
        return spread_embedding(embedded), embedded


@dataclass(frozen=True)
class LinearDraws:
    """Draws of a linear metric, made for the rows that are asked for."""

    features: FloatArray  # (items, features)
    weights: FloatArray  # (draws, features, dims)

    def __call__(self, rows: IntArray) -> FloatArray:
        drawn: FloatArray = self.features[rows] @ self.weights
        return drawn


# --- the point estimate ---------------------------------------------------------------------------------------


def mean_embedding(draws: FloatArray, n_known: int | None = None) -> FloatArray:
    """Points whose distances are the mean of the draws' distances, each draw at the same size: classical scaling.

    (draws, items, dims) -> (items, at most items - 1), widest dimension first; no rotation of a draw matters. Axes
    are those of the first `n_known` items, the others are placed among them.
    """
    known = draws[:, :n_known]
    centred = known - known.mean(axis=1, keepdims=True)
    sizes = np.sqrt((centred**2).sum(axis=(1, 2)) / centred.shape[1])
    weights = sizes.mean() / len(draws) / np.maximum(sizes, 1e-300)
    with one_thread():
        return classical_scaling(mean_distances(draws, known.shape[1], weights) ** 2)


def spread_embedding(draws: FloatArray) -> FloatArray:
    """`mean_embedding`, by the distances to 500 items from first to last where there are more: the time it takes grows
    with the items, and not with their pairs."""
    n_items = draws.shape[1]
    if n_items <= LANDMARKS:
        return mean_embedding(draws)
    landmarks = np.linspace(0, n_items - 1, LANDMARKS).astype(int)
    order = np.concatenate([landmarks, np.setdiff1d(np.arange(n_items), landmarks)])
    placed = mean_embedding(draws[:, order], n_known=LANDMARKS)
    return placed[np.argsort(order)]


def mean_map(weights: FloatArray, features: FloatArray) -> FloatArray:
    """The map whose squared distances are the mean of those of the maps (draws, features, dims), each at the same size.

    (features, at most features), widest dimension first. It needs no distances between items, so a million will do.
    """
    covariance = features.T @ features / len(features)
    sizes = np.sqrt(np.einsum("sfd,fg,sgd->s", weights, covariance, weights))[:, None, None]
    beside = np.concatenate(list(weights * sizes.mean() / np.maximum(sizes, 1e-300)), axis=1)
    with one_thread():
        left, widths, _ = np.linalg.svd(beside / math.sqrt(len(weights)), full_matrices=False)
    return left * widths


def standardised(features: FloatArray | None, like: FloatArray | None = None) -> FloatArray:
    """Columns of mean 0 and deviation 1 (those of `like`), divided by the root of their number: rows of size near 1."""
    values = np.asarray(features, np.float64)
    known = values if like is None else np.asarray(like, np.float64)
    deviation = known.std(axis=0)
    return (values - known.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0) / math.sqrt(values.shape[1])


def _weights(parameters: FloatArray, layout: Layout) -> FloatArray:
    """Linear maps with their scales: (chains, features, dims)."""
    weights = parameters[:, : layout.n_weights].reshape(-1, layout.n_features, layout.n_dims)
    return weights * scales_of(parameters, layout)[:, None, :]


# --- warm starts ---------------------------------------------------------------------------------------------


def _population(start: Belief) -> Population:
    assert start.state is not None
    state = start.state
    return Population(state["parameters"], state["inverse_mass"], float(state["step"]))


def _kept(start: Belief | None, answers: Answers, shape: tuple[int, int]) -> tuple[IntArray, int, int] | None:
    """What the chains of `start` have seen of `answers`; None where they cannot go on."""
    if start is None or start.state is None or "seen" not in start.state:
        return None
    if np.shape(start.state["parameters"]) != shape:
        return None
    return seen_first(start.state["seen"], answers)


def _doubling(n_answers: int) -> list[int]:
    counts = [n_answers]
    while counts[0] >= 2 * FIRST_ANSWERS:
        counts.insert(0, counts[0] // 2)
    return counts
