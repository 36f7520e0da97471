"""A hybrid's points divided anew between features and offsets: a Gibbs step that lets its chains mix.

The answers see only the points U = sqrt(1 - share) X W + sqrt(share) O (before they are scaled). Given those, share, W
and O have a conditional that can be drawn from at once: without W and O, each dimension of U is normal with covariance
(1 - share) X X' + share I; given the share, W is the posterior of a linear regression; O is what is left. Hamiltonian
moves alone go along this valley in small steps.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray
from infonn.maths.embedders import Layout

STEP, REACH = 0.1, 12.0  # of the lattice of logits that a share is drawn from


def divided_anew(
    parameters: FloatArray, layout: Layout, features: FloatArray, mean: float, sd: float, rng: Generator
) -> FloatArray:
    """Every chain with another share, weights and offsets, and the same points; N(mean, sd) is the logit's prior."""
    weights, offsets = _coordinates(parameters, layout)
    share = _share(parameters[:, layout.share])
    points = np.sqrt(1 - share) * (features @ weights) + np.sqrt(share) * offsets
    lengths, basis = np.linalg.eigh(features.T @ features)
    lengths = np.maximum(lengths, 0.0)  # squared singular values of X, and its right singular vectors
    sizes = np.sqrt(lengths)[:, None]
    left = np.where(sizes > 1e-9, (features @ basis).T / np.maximum(sizes, 1e-9), 0.0)
    along = left @ points  # (chains, features, dims)

    logits = _drawn_logits(parameters[:, layout.share], points, along, lengths, mean, sd, rng)
    share = _share(logits)
    precision = 1 + (1 - share) / share * lengths[:, None]
    centre = np.sqrt(1 - share) / share * sizes * along / precision
    weights = basis @ (centre + rng.standard_normal(centre.shape) / np.sqrt(precision))
    offsets = (points - np.sqrt(1 - share) * (features @ weights)) / np.sqrt(share)
    made = parameters.copy()
    made[:, : layout.n_weights] = weights.reshape(len(made), -1)
    made[:, layout.n_weights : layout.n_coordinates] = offsets.reshape(len(made), -1)
    made[:, layout.share] = logits
    return made


def _drawn_logits(
    logits: FloatArray,
    points: FloatArray,
    along: FloatArray,
    lengths: FloatArray,
    mean: float,
    sd: float,
    rng: Generator,
) -> FloatArray:
    """Logits of the share given the points: (chains,). Drawn from the lattice that each chain's own lies on."""
    _, n_items, n_dims = points.shape
    lattice = logits[:, None] % STEP + np.arange(-REACH, REACH, STEP)
    share = 1 / (1 + np.exp(-lattice))
    variances = (1 - share)[..., None] * lengths + share[..., None]  # along the features; elsewhere it is the share
    squares = (along**2).sum(axis=2)[:, None, :]
    rest = (points**2).sum(axis=(1, 2)) - squares[:, 0].sum(axis=1)
    log_density = -0.5 * (
        ((lattice - mean) / sd) ** 2
        + n_dims * (n_items - len(lengths)) * np.log(share)
        + np.maximum(rest, 0.0)[:, None] / share
        + (n_dims * np.log(variances) + squares / variances).sum(axis=2)
    )
    chosen = np.argmax(log_density + rng.gumbel(size=lattice.shape), axis=1)
    return np.take_along_axis(lattice, chosen[:, None], axis=1)[:, 0]


def _coordinates(parameters: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
    weights = parameters[:, : layout.n_weights].reshape(-1, layout.n_features, layout.n_dims)
    offsets = parameters[:, layout.n_weights : layout.n_coordinates].reshape(-1, layout.n_items, layout.n_dims)
    return weights, offsets


def _share(logits: FloatArray) -> FloatArray:
    """(chains,) -> (chains, 1, 1)"""
    return (1 / (1 + np.exp(-logits)))[:, None, None]
