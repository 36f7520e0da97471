"""A population of chains that follows the answers as they come: reweight, move, tune itself.

When answers arrive, chains that explain them badly give way to chains that explain them well (as far as half of
them stay effective); then all move by Hamiltonian Monte Carlo under all answers. Step and masses tune themselves:
under the posterior the mean squared gradient is the mean curvature, so it is a mass whatever the parameters are
and however many answers there are, and the common step follows the acceptance rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.learners.posterior.gibbs import Directions, directions_of, settled_anew
from infonn.maths.embedders import Layout, OrderedAnswers
from infonn.maths.kernels import chains as kernels

BLOCK = 5  # moves between two tunings
ACCEPTANCE = 0.75  # aimed at
MASS_MEMORY = 0.7  # share of the old masses that a tuning keeps
SWINGS, FEWEST_NATS = 4.0, 5.0  # how far behind the best a chain is caught in a valley
N_PAIRS = 12  # distances that are watched to see whether the chains mix


@dataclass(frozen=True)
class Target:
    """What the chains sample: parameters laid out by `layout`, normal beforehand; a prior_sd of 0 fixes one."""

    layout: Layout
    features: FloatArray  # F: (items, directions); none without features
    prior_mean: FloatArray
    prior_sd: FloatArray

    @property
    def shape(self) -> tuple[int, int, int]:
        layout = self.layout
        return layout.n_items, layout.n_dims, layout.n_features

    @cached_property
    def directions(self) -> Directions:
        return directions_of(self.features)


@dataclass(frozen=True)
class Population:
    """The chains (chains, parameters), how they move, and how well they moved last."""

    parameters: FloatArray
    inverse_mass: FloatArray
    step: float
    acceptance: float = 1.0
    r_hat: float = 1.0  # largest split R-hat of the watched distances and the likelihood
    drift: float = 0.0  # change of the mean log likelihood between the halves of the moves, in its deviations
    effective: float = 1.0  # share of the chains that the last answers left effective
    behind: FloatArray | None = None  # (chains,): nats by which each explains the answers worse than the best quarter
    swing: float = np.inf  # nats by which the log likelihood of a chain swings about its mean


def fresh(target: Target, n_chains: int, rng: Generator) -> Population:
    """Chains drawn from the prior, their settings near its middle."""
    mean, sd, layout = target.prior_mean, target.prior_sd, target.layout
    spread = np.where(np.arange(len(sd)) < layout.n_coordinates, 1.0, 0.5) * sd
    parameters = mean + spread * rng.standard_normal((n_chains, len(mean)))
    return Population(parameters, np.where(sd > 0, np.maximum(sd, 1e-9) ** 2, 1.0), 0.3)


def follow(
    population: Population,
    target: Target,
    ordered: OrderedAnswers,
    n_seen: int,
    n_moves: int,
    n_leaps: int,
    rng: Generator,
) -> Population:
    """The chains under all answers, the first `n_seen` of which they had seen already."""
    parameters = population.parameters.copy()
    effective = 1.0
    if n_seen and n_seen < len(ordered):
        new = ordered.take(slice(n_seen, None))
        parameters, effective = resampled(parameters, log_probs(parameters, target, new).sum(axis=1), rng)
    inverse_mass, step = population.inverse_mass, population.step
    pairs = _watched_pairs(target.layout.n_items)
    traces, rates = [], []
    for first in range(0, n_moves, BLOCK):
        rate, squares, trace = kernels.move(
            parameters,
            rng.integers(2**63, size=len(parameters)).astype(np.uint64),
            target.shape,
            target.features,
            ordered.pairs,
            ordered.stages,
            ordered.n_options,
            target.prior_mean,
            target.prior_sd,
            inverse_mass,
            step,
            n_leaps,
            min(BLOCK, n_moves - first),
            pairs,
        )
        traces.append(trace)
        rates.append(rate.mean())
        step = float(np.clip(step * np.exp(rates[-1] - ACCEPTANCE), 1e-6, 2.0))
        inverse_mass = 1 / (MASS_MEMORY / inverse_mass + (1 - MASS_MEMORY) * _masses(squares, target))
        parameters = settled_anew(
            parameters,
            target.layout,
            target.features,
            target.directions,
            target.prior_mean,
            target.prior_sd,
            rng,
        )
    trace = np.concatenate(traces, axis=1)
    r_hat, drift = float(split_r_hat(trace).max()), _drift(trace)
    behind, swing = _standings(trace[:, :, 0])
    return Population(parameters, inverse_mass, step, float(rates[-1]), r_hat, drift, effective, behind, swing)


def share_left(population: Population, target: Target, new: OrderedAnswers) -> float:
    """The share of chains that still count under new answers: near 0 where hardly any foresaw them."""
    return _effective_share(log_probs(population.parameters, target, new).sum(axis=1)) if len(new) else 1.0


def competed(population: Population, rng: Generator) -> Population:
    """Chains that are caught in a valley give way to copies of others, which the next moves set apart.

    Caught is who explains the answers worse than the best quarter by more than the likelihood ever swings: the chance
    to be there is next to nothing, and so is the chance to get out.
    """
    if population.behind is None:
        return population
    caught = population.behind > max(FEWEST_NATS, SWINGS * population.swing)
    if not caught.any():
        return population
    parameters = population.parameters.copy()
    parameters[caught] = parameters[rng.choice(np.flatnonzero(~caught), int(caught.sum()))]
    return replace(population, parameters=parameters)


def _standings(likelihoods: FloatArray) -> tuple[FloatArray, float]:
    """How far each chain's mean over the later half of the moves is behind the best quarter's, and the swing."""
    later = likelihoods[:, likelihoods.shape[1] // 2 :]
    means = later.mean(axis=1)
    swing = float(np.sqrt(later.var(axis=1).mean())) if later.shape[1] > 1 else np.inf
    return np.quantile(means, 0.875) - means, swing


def log_probs(parameters: FloatArray, target: Target, ordered: OrderedAnswers) -> FloatArray:
    """Of each answer under each chain: (chains, answers)."""
    found: FloatArray = kernels.answer_log_probs(
        parameters, target.shape, target.features, ordered.pairs, ordered.stages, ordered.n_options
    )
    return found


def resampled(parameters: FloatArray, log_weights: FloatArray, rng: Generator) -> tuple[FloatArray, float]:
    """Chains copied or dropped by their weights, and the share of them that is effective before that.

    Where less than half would stay effective the weights are flattened to that: the moves do the rest.
    """
    effective = _effective_share(log_weights)
    if effective >= 0.5:
        return parameters, effective  # the moves alone can follow
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if _effective_share(middle * log_weights) >= 0.5 else (low, middle)
    cumulated = np.cumsum(_normalised(low * log_weights))
    places = (rng.random() + np.arange(len(parameters))) / len(parameters)
    rows = np.minimum(np.searchsorted(cumulated, places), len(parameters) - 1)
    return parameters[rows].copy(), effective


def split_r_hat(trace: FloatArray) -> FloatArray:
    """Split R-hat (Gelman et al.) of each watched quantity: (chains, moves, quantities) -> (quantities,).

    1 where the halves of all chains look alike; warm chains that have hardly moved have values far above it.
    """
    half = trace.shape[1] // 2
    if half < 2:
        return np.ones(trace.shape[2])
    halves = np.concatenate([trace[:, :half], trace[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt((half - 1) / half + between / np.maximum(within, 1e-300))


def _masses(squares: FloatArray, target: Target) -> FloatArray:
    """Mean curvature from squared gradients; dimensions are alike, since a rotation changes no answer."""
    layout, sd = target.layout, target.prior_sd
    masses = squares.mean(axis=0)
    coordinates = masses[: layout.n_coordinates].reshape(-1, layout.n_dims)
    masses[: layout.n_coordinates] = np.repeat(coordinates.mean(axis=1), layout.n_dims)
    masses[layout.stretch] = masses[layout.stretch].mean()
    floor = 0.5 / np.maximum(sd, 1e-9) ** 2  # never lighter than the prior allows
    return np.where(sd > 0, np.maximum(masses, floor), 1.0)


def _watched_pairs(n_items: int) -> IntArray:
    rng = np.random.default_rng(n_items)
    first = rng.integers(0, n_items, N_PAIRS)
    return np.stack([first, (first + rng.integers(1, n_items, N_PAIRS)) % n_items], axis=1).astype(np.int32)


def _drift(trace: FloatArray) -> float:
    half = trace.shape[1] // 2
    if half < 1:
        return 0.0
    likelihood = trace[:, :, 0]
    change = likelihood[:, -half:].mean() - likelihood[:, :half].mean()
    return float(change / max(likelihood.std(), 1e-12))


def _normalised(log_weights: FloatArray) -> FloatArray:
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def _effective_share(log_weights: FloatArray) -> float:
    weights = _normalised(log_weights)
    return float(1 / (weights**2).sum() / len(weights))
