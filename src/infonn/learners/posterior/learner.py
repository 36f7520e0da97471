"""The posterior over where items lie under the response model: many draws instead of one embedding.

Chains sample the places together with how people answer (sharpness and lapse rate of the response model, the
embedding's scale against mu, how unlike the dimensions' scales are) and, where items have features, how much of the
map these explain. So nothing has to be set by hand: the answers choose. A dimension that the answers do not need
shrinks away, so `dims` is only the most there may be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief, RowDraws
from infonn.errors import DataError, unknown_name
from infonn.learners.posterior.chains import Population, Target, competed, follow, fresh, share_left
from infonn.learners.posterior.draws import PlacedDraws, own_noise
from infonn.learners.posterior.feature_basis import FeatureBasis, Scaling
from infonn.learners.posterior.gibbs import regression
from infonn.learners.posterior.placement import placed_beside, spread_embedding
from infonn.learners.posterior.seen_answers import keys_of, seen_first
from infonn.maths.embedders import Layout, OrderedAnswers, embed, ordered_answers, scales_of
from infonn.maths.responses import ResponseSettings
from infonn.queries import Answers

Prior = tuple[float, float]  # mean and deviation of a normal; deviation 0 fixes

# The same for every study, and wide; logs, and a logit.
LOG_SCALE: Prior = (0.0, 1.0)  # of the embedding, in units of sqrt(mu)
LOG_SPREAD: Prior = (math.log(0.3), 1.0)  # deviation of the logs of the dimensions' scales
LOGIT_SHARE: Prior = (0.0, 4.0)  # of the variance that is an item's own: features may say all, nothing, or a part
LOG_SHARPNESS: Prior = (math.log(6.0), 0.8)
LOGIT_LAPSE: Prior = (-2.0, 1.2)

DIMS = 3  # most dimensions where none are given
FEATURE_DIMS = 10  # and with features: as many as they have directions, up to this
FIRST_ANSWERS = 20  # a cold fit starts with at most twice as many, and doubles
MOVES_PER_ANSWER = 1
MOST_MOVES = 30
COLD_MOVES = 80  # for each part of the answers
FORESEEN = (
    0.5  # share of chains that new answers must leave, else chains with features start again: few that are copied
)
#                 stay where the features say all or nothing (dishes, 360 answers in batches of 30: .73 against .85)
FEW_ITEMS = 2000  # of more, only those that occur in answers are moved
MANY_NUMBERS = 50_000_000  # draws beyond that are made when they are asked for
EARLIER_EMBEDDERS = ("free", "linear", "hybrid")  # of version 0.1; features are a prior for all but "free" now


@dataclass(frozen=True)
class Posterior:
    """Chains over places, with the items' features as their prior, and the response model: many draws.

    Settings that are None are learned; `prior_scale` is the deviation of a coordinate beforehand; `scaling` says
    whether columns of features have units of their own ("columns"), share one ("none"), or are to be judged ("auto").
    `effort` is the share of the moves that is made, for whoever must choose the next question soon.

    The belief's state has, for people: `feature_share` (chains,), how much of the variance of the items' places is
    foreseen from their features (no entry without features); and `r_hat`, far above 1 where the chains disagree.
    """

    n_items: int
    features: FloatArray | None = None
    dims: int | None = None
    mu: float | None = None
    sharpness: float | None = None
    lapse: float | None = None
    prior_scale: float | None = None
    scaling: Scaling = "auto"
    n_chains: int = 48
    moves: int = 10
    leaps: int = 8
    effort: float = 1.0
    basis: FeatureBasis | None = field(default=None, repr=False, compare=False)  # made once, kept by `replace`

    def __post_init__(self) -> None:
        if self.dims is not None and not (isinstance(self.dims, int | np.integer) and self.dims >= 1):
            raise DataError(f"dims is {self.dims!r}; it must be a whole number, at least 1.")
        if self.features is None:
            return
        if len(self.features) != self.n_items:
            raise DataError(f"{len(self.features)} rows of features for {self.n_items} items; there must be one each.")
        if self.basis is None:
            object.__setattr__(self, "basis", FeatureBasis(self.features, self.scaling))

    def with_effort(self, effort: float) -> Posterior:
        """The same with this share of the moves."""
        return replace(self, effort=effort)

    def with_dims(self, dims: int) -> Posterior:
        """The same with at most so many dimensions."""
        return replace(self, dims=dims)

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """The belief after `answers`; the chains of `start` go on where it saw most of them, and little else."""
        if answers.kind == "label":
            raise DataError("The posterior learns from similarity answers, and these are class labels.")
        kept = self._kept(start, answers)
        if start is not None and kept is not None:
            rows, n_seen, n_gone = kept
            items = self._moved(answers, start)
            target, answered = self._target(items, answers.take(rows))
            before, ordered = self._population(start, items), ordered_answers(answered)
            new = ordered.take(slice(n_seen, None))
            if self.basis is None or share_left(before, target, new) >= FORESEEN:
                n_moves = self.moves + MOVES_PER_ANSWER * max(0, len(answers) - n_seen + n_gone - 1)
                n_moves = max(1, round(self.effort * min(MOST_MOVES, n_moves)))
                population = follow(before, target, ordered, n_seen, n_moves, self.leaps, rng)
                return self._belief(population, target, items, answers)
        items = self._moved(answers)
        target, answered = self._target(items, answers)
        population = self._cold(target, ordered_answers(answered), items, rng)
        return self._belief(population, target, items, answers)

    def transform(self, features: FloatArray, belief: Belief) -> FloatArray:
        """Where new items lie beside those of `belief.embedding`, as their features foresee it: (new, dims)."""
        if self.basis is None:
            raise DataError("New items are placed by their features, and this study's items have none.")
        if belief.state is None or "parameters" not in belief.state:
            raise DataError("This belief has no chains; fit it with the learner that places new items.")
        factor = self.basis.of(features)
        items, parameters = belief.state["items"], belief.state["parameters"]
        target, _ = self._target(items, None)
        layout = target.layout
        placed = embed(parameters, layout, target.features)
        new = np.zeros((len(parameters), len(factor), layout.n_dims))
        if layout.n_features:
            scales, share = scales_of(parameters, layout)[:, None, :], _share(parameters, layout)[:, None, None]
            along = target.directions.left @ (placed / scales)
            weights, _ = regression(along, share, target.directions)
            new = np.sqrt(1 - share) * (factor @ (target.directions.right @ weights)) * scales
        if len(items) < self.n_items:  # axes are those of the whole map
            draws = self._drawn(parameters, layout, items)
            placed = draws(np.linspace(0, self.n_items - 1, min(self.n_items, 500)).astype(int)) / self._unit
        return placed_beside(placed * self._unit, new * self._unit)

    def _cold(self, target: Target, ordered: OrderedAnswers, items: IntArray, rng: Generator) -> Population:
        """Chains from the prior that see the answers in growing parts, so that few are caught in a bad place."""
        population, n_seen = fresh(target, self.n_chains, rng), 0
        n_moves = max(1, round(self.effort * COLD_MOVES))
        for count in _doubling(len(ordered)):
            part = ordered.take(slice(0, count))
            population = follow(competed(population, rng), target, part, n_seen, n_moves, self.leaps, rng)
            n_seen = count
        return population

    # --- what is sampled ---------------------------------------------------------------------------------

    @property
    def _unit(self) -> float:
        """Length of 1 in the chains, where mu is 1."""
        return math.sqrt(self.mu or 1.0)

    def _layout(self, n_moved: int) -> Layout:
        rank = 0 if self.basis is None else self.basis.factor.shape[1]
        dims = self.dims or max(DIMS, min(rank, FEATURE_DIMS))
        return Layout(n_moved, dims, rank)

    def _moved(self, answers: Answers, start: Belief | None = None) -> IntArray:
        """The items whose places are sampled: all, or those that occur where there are many; the rest is prior."""
        if self.n_items <= FEW_ITEMS:
            return np.arange(self.n_items)
        before = [] if start is None or start.state is None else [start.state["items"]]
        occurring = answers.queries[answers.queries >= 0]
        return np.unique(np.concatenate([np.arange(2), occurring, *before]))

    def _target(self, items: IntArray, answers: Answers | None) -> tuple[Target, Answers]:
        """What the chains sample, and the answers in its numbering."""
        layout = self._layout(len(items))
        features = np.zeros((len(items), 0)) if self.basis is None else self.basis.factor[items]
        if answers is None:
            answers = Answers(np.zeros((0, 3), np.int32), np.zeros(0, np.int32))
        local = np.searchsorted(items, answers.queries)
        queries = np.where(answers.queries < 0, -1, local).astype(np.int32)
        mean, sd = np.zeros(layout.n_parameters), np.ones(layout.n_parameters)
        for place, prior in self._priors(layout).items():
            mean[place], sd[place] = prior
        if layout.n_dims == 1 or self.prior_scale is not None:
            sd[layout.stretch] = sd[layout.spread] = 0.0  # nothing to stretch
        return Target(layout, np.ascontiguousarray(features), mean, sd), replace(answers, queries=queries)

    def _priors(self, layout: Layout) -> dict[int, Prior]:
        priors = {
            layout.scale: LOG_SCALE,
            layout.share: LOGIT_SHARE if layout.n_features else (0.0, 0.0),
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

    def _belief(self, population: Population, target: Target, items: IntArray, answers: Answers) -> Belief:
        parameters, layout = population.parameters, target.layout
        response = ResponseSettings(
            self.mu or 1.0,
            float(np.exp(parameters[:, layout.sharpness].mean())),
            float((1 / (1 + np.exp(-parameters[:, layout.lapse]))).mean()),
        )
        state = {
            "parameters": parameters,
            "items": items,
            "inverse_mass": population.inverse_mass,
            "step": np.array(population.step),
            "seen": keys_of(answers),
            "acceptance": np.array(population.acceptance),
            "r_hat": np.array(population.r_hat),
            "drift": np.array(population.drift),
            "effective": np.array(population.effective),
        }
        if layout.n_features:
            state["feature_share"] = feature_share(parameters, target)
        drawn = self._drawn(parameters, layout, items)
        many = len(parameters) * self.n_items * layout.n_dims > MANY_NUMBERS
        draws: FloatArray | RowDraws = drawn if many else drawn(np.arange(self.n_items))
        return Belief(spread_embedding(draws, self.n_items), draws, response=response, state=state)

    def _drawn(self, parameters: FloatArray, layout: Layout, items: IntArray) -> PlacedDraws:
        n_chains, scales = len(parameters), scales_of(parameters, layout)[:, None, :] * self._unit
        share = _share(parameters, layout)[:, None, None] if layout.n_features else np.ones((n_chains, 1, 1))
        weights = parameters[:, : layout.n_weights].reshape(n_chains, layout.n_features, layout.n_dims)
        offsets = parameters[:, layout.n_weights : layout.n_coordinates].reshape(n_chains, -1, layout.n_dims)
        factor = np.zeros((self.n_items, 0)) if self.basis is None else self.basis.factor
        return PlacedDraws(factor, np.sqrt(1 - share) * scales * weights, items, offsets, np.sqrt(share) * scales)

    # --- warm starts -------------------------------------------------------------------------------------

    def _kept(self, start: Belief | None, answers: Answers) -> tuple[IntArray, int, int] | None:
        """What the chains of `start` have seen of `answers`; None where they cannot go on."""
        if start is None or start.state is None or not {"seen", "items", "parameters"} <= set(start.state):
            return None
        n_moved = len(start.state["items"])
        if np.shape(start.state["parameters"]) != (self.n_chains, self._layout(n_moved).n_parameters):
            return None
        return seen_first(start.state["seen"], answers)

    def _population(self, start: Belief, items: IntArray) -> Population:
        """The chains of `start`, with the places that the prior drew for items it had not moved."""
        assert start.state is not None
        state = start.state
        parameters, inverse_mass = state["parameters"], state["inverse_mass"]
        if len(items) > len(state["items"]):
            layout = self._layout(len(items))
            known = np.isin(items, state["items"])
            offsets = own_noise(self.n_chains, items, layout.n_dims)
            old = parameters[:, layout.n_weights : len(inverse_mass) - (layout.n_parameters - layout.n_coordinates)]
            offsets[:, known] = old.reshape(self.n_chains, -1, layout.n_dims)
            masses = np.ones((len(items), layout.n_dims))
            n_old = layout.n_weights + old.shape[1]
            masses[known] = inverse_mass[layout.n_weights : n_old].reshape(-1, layout.n_dims)
            inverse_mass = np.concatenate([inverse_mass[: layout.n_weights], masses.ravel(), inverse_mass[n_old:]])
            parameters = np.concatenate(
                [parameters[:, : layout.n_weights], offsets.reshape(self.n_chains, -1), parameters[:, n_old:]], axis=1
            )
        return Population(parameters, inverse_mass, float(state["step"]))


def posterior(
    n_items: int,
    features: FloatArray | None = None,
    dims: int | None = None,
    embedder: Literal["free", "linear", "hybrid"] | None = None,
    mu: float | None = None,
    sharpness: float | None = None,
    lapse: float | None = None,
    prior_scale: float | None = None,
    scaling: Scaling = "auto",
    n_chains: int = 48,
    moves: int = 10,
    leaps: int = 8,
) -> Posterior:
    """Chains that sample embedding and response model: many draws, and settings that the answers choose.

    `embedder` is a setting of version 0.1: "free" leaves the features out, and the others are now one model, in which
    the answers say how much the features explain.
    """
    if embedder is not None and embedder not in EARLIER_EMBEDDERS:
        raise unknown_name("Embedder", embedder, EARLIER_EMBEDDERS)
    if embedder in ("linear", "hybrid") and features is None:
        raise DataError(f'Embedder "{embedder}" needs features of the items. Use "free" without them.')
    used = None if embedder == "free" else features
    return Posterior(n_items, used, dims, mu, sharpness, lapse, prior_scale, scaling, n_chains, moves, leaps)


def feature_share(parameters: FloatArray, target: Target) -> FloatArray:
    """How much of the variance of the items' places is foreseen from their features and the others' places: (chains,).

    Each item is left out in turn: features that tell nothing have a share of 0 however many they are.
    """
    layout, directions = target.layout, target.directions
    places = embed(parameters, layout, target.features)
    centred = places - places.mean(axis=1, keepdims=True)
    share = _share(parameters, layout)[:, None]
    gain = (1 - share) * directions.lengths / ((1 - share) * directions.lengths + share)  # (chains, r)
    fitted = directions.left.T @ (gain[:, :, None] * (directions.left @ centred))
    leverage = gain @ directions.left**2  # (chains, items)
    missed = (centred - fitted) / np.maximum(1 - leverage, 1e-9)[:, :, None]
    total = np.maximum((centred**2).sum(axis=(1, 2)), 1e-300)
    return np.clip(1 - (missed**2).sum(axis=(1, 2)) / total, 0.0, 1.0)


def _share(parameters: FloatArray, layout: Layout) -> FloatArray:
    return 1 / (1 + np.exp(-parameters[:, layout.share]))


def _doubling(n_answers: int) -> list[int]:
    counts = [n_answers]
    while counts[0] >= 2 * FIRST_ANSWERS:
        counts.insert(0, counts[0] // 2)
    return counts
