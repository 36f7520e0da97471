"""Settings drawn anew with the places held: steps that let the chains mix where Hamiltonian moves alone are slow.

The answers see only the places Z. Given those, each dimension is normal with covariance a^2 ((1 - share) F F' +
share I), a product of normals along the directions of F; so the share and the scales of the dimensions take a few
cheap Metropolis steps. Then W is drawn from the posterior of a linear regression, and O is what is left: the places
stay where they are, and the Hamiltonian moves go on from other settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray
from infonn.maths.embedders import Layout, scales_of

STEPS = 3  # for each setting
SMALLEST, LARGEST = 0.03, 1.5  # sizes of the steps, logs and logits


@dataclass(frozen=True)
class Directions:
    """F by its singular vectors: squared lengths (r,), left (r, items) and right ones (features, r)."""

    lengths: FloatArray
    left: FloatArray
    right: FloatArray


def directions_of(factor: FloatArray) -> Directions:
    """Of the rows of F that the answers are about."""
    lengths, right = np.linalg.eigh(factor.T @ factor) if factor.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    lengths = np.maximum(lengths, 0.0)
    sizes = np.sqrt(lengths)[:, None]
    small = 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)
    left = np.where(sizes > small, (factor @ right).T / np.maximum(sizes, small), 0.0)
    return Directions(np.where(sizes[:, 0] > small, lengths, 0.0), left, right)


def settled_anew(
    parameters: FloatArray,
    layout: Layout,
    factor: FloatArray,
    directions: Directions,
    prior_mean: FloatArray,
    prior_sd: FloatArray,
    rng: Generator,
) -> FloatArray:
    """Every chain with other scales, share, weights and offsets, and the same places. An sd of 0 fixes a setting."""
    made = parameters.copy()
    points = _points(made, layout, factor) * scales_of(made, layout)[:, None, :]
    along = directions.left @ points  # (chains, r, dims)
    squares = along**2
    rest = np.maximum((points**2).sum(axis=1) - squares.sum(axis=1), 0.0)  # (chains, dims)
    n_rest = layout.n_items - int((directions.lengths > 0).sum())

    def fit(settings: FloatArray) -> FloatArray:
        """Log density of the places given settings: (chains,)."""
        scales = scales_of(settings, layout)
        share = _share(settings[:, layout.share]) if layout.n_features else np.ones(len(settings))
        real = directions.lengths > 0
        variances = (1 - share)[:, None] * directions.lengths[real] + share[:, None]
        sums = (squares[:, real] / variances[:, :, None]).sum(axis=1) + rest / share[:, None]
        logs = np.log(variances).sum(axis=1) + n_rest * np.log(share)
        return -(
            layout.n_items * np.log(scales).sum(axis=1) + 0.5 * (layout.n_dims * logs + (sums / scales**2).sum(axis=1))
        )

    def prior(settings: FloatArray) -> FloatArray:
        places = np.r_[np.arange(layout.stretch.start, layout.stretch.stop), layout.scale, layout.share, layout.spread]
        free = places[prior_sd[places] > 0]
        return -0.5 * (((settings[:, free] - prior_mean[free]) / prior_sd[free]) ** 2).sum(axis=1)

    def with_places(settings: FloatArray) -> FloatArray:
        return fit(settings) + prior(settings)

    def with_scales(settings: FloatArray) -> FloatArray:
        """Density of scale and spread where the dimensions' own scales are held: stretches follow."""
        return prior(settings) - layout.n_dims * settings[:, layout.spread]

    for _ in range(STEPS):
        if layout.n_features and prior_sd[layout.share] > 0:
            made = _stepped(made, with_places, _shift(made, layout.share, rng), rng)
        if prior_sd[layout.scale] > 0:
            made = _stepped(made, with_places, _shift(made, layout.scale, rng), rng)
        for d in range(layout.n_dims):
            if prior_sd[layout.stretch.start + d] > 0:
                made = _stepped(made, with_places, _shift(made, layout.stretch.start + d, rng), rng)
        if prior_sd[layout.spread] > 0:
            for setting in (layout.scale, layout.spread):
                if prior_sd[setting] > 0:
                    proposal = _shift(made, setting, rng)
                    held = np.log(scales_of(made, layout))
                    proposal[:, layout.stretch] = (held - proposal[:, layout.scale, None]) / np.exp(
                        proposal[:, layout.spread, None]
                    )
                    made = _stepped(made, with_scales, proposal, rng)
    return _divided_anew(made, layout, factor, directions, points, along, rng)


def _divided_anew(
    made: FloatArray,
    layout: Layout,
    factor: FloatArray,
    directions: Directions,
    points: FloatArray,
    along: FloatArray,
    rng: Generator,
) -> FloatArray:
    """The places divided anew between features and offsets."""
    scales = scales_of(made, layout)[:, None, :]
    offsets = points / scales
    if layout.n_features:
        share = _share(made[:, layout.share])[:, None, None]
        centre, precision = regression(along / scales, share, directions)
        weights = directions.right @ (centre + rng.standard_normal(centre.shape) / np.sqrt(precision))
        offsets = (offsets - np.sqrt(1 - share) * (factor @ weights)) / np.sqrt(share)
        made[:, : layout.n_weights] = weights.reshape(len(made), -1)
    made[:, layout.n_weights : layout.n_coordinates] = offsets.reshape(len(made), -1)
    return made


def regression(along: FloatArray, share: FloatArray, directions: Directions) -> tuple[FloatArray, FloatArray]:
    """Mean and precision of the weights in F's directions, given places of scale 1 along them: (chains, r, dims)."""
    lengths = directions.lengths[:, None]
    precision = 1 + (1 - share) / share * lengths
    return np.sqrt(1 - share) / share * np.sqrt(lengths) * along / precision, precision


def _points(parameters: FloatArray, layout: Layout, factor: FloatArray) -> FloatArray:
    """Places before they are scaled: (chains, items, dims)."""
    n_chains = len(parameters)
    offsets = parameters[:, layout.n_weights : layout.n_coordinates].reshape(n_chains, layout.n_items, layout.n_dims)
    if not layout.n_features:
        return offsets
    weights = parameters[:, : layout.n_weights].reshape(n_chains, layout.n_features, layout.n_dims)
    share = _share(parameters[:, layout.share])[:, None, None]
    return np.sqrt(1 - share) * (factor @ weights) + np.sqrt(share) * offsets


def _shift(settings: FloatArray, place: int, rng: Generator) -> FloatArray:
    """One setting moved by normal steps whose sizes are all of an order of magnitude or two."""
    sizes = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), len(settings)))
    proposal = settings.copy()
    proposal[:, place] += sizes * rng.standard_normal(len(settings))
    return proposal


def _stepped(
    settings: FloatArray, log_density: Callable[[FloatArray], FloatArray], proposal: FloatArray, rng: Generator
) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        gain = log_density(proposal) - log_density(settings)
    accepted = np.log(rng.random(len(settings))) < np.where(np.isfinite(gain), gain, -np.inf)
    settings[accepted] = proposal[accepted]
    return settings


def _share(logits: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-np.clip(logits, -30.0, 30.0)))
