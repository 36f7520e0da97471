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

from infonn.arrays import BoolArray, FloatArray
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
    spans = _Spans(points, along, directions.lengths)
    sums, logs = spans.of(made[:, layout.share]) if layout.n_features else spans.without_features()
    log_scales = np.log(scales_of(made, layout))

    def fit(log_scales: FloatArray) -> FloatArray:
        """Log density of the places by the scale of each dimension: (chains, dims)."""
        return -layout.n_items * log_scales - 0.5 * sums * np.exp(-2 * log_scales)

    def odds(new: FloatArray, place: int) -> FloatArray:
        """By how much the prior of a setting, or of all stretches, grows."""
        old = made[:, place]
        return ((old - prior_mean[place]) ** 2 - (new - prior_mean[place]) ** 2) / (2 * prior_sd[place] ** 2)

    scale, spread, stretch = layout.scale, layout.spread, layout.stretch
    stretches = bool((prior_sd[stretch] > 0).all() and prior_sd[spread] > 0)
    for _ in range(STEPS):
        if layout.n_features and prior_sd[layout.share] > 0:
            new = _stepped(made[:, layout.share], rng)
            new_sums, new_logs = spans.of(new)
            gain = 0.5 * ((sums - new_sums) * np.exp(-2 * log_scales)).sum(axis=1)
            gain += 0.5 * layout.n_dims * (logs - new_logs) + odds(new, layout.share)
            taken = _taken(gain, rng)
            made[taken, layout.share] = new[taken]
            sums[taken], logs[taken] = new_sums[taken], new_logs[taken]
        if prior_sd[scale] > 0:  # all dimensions together
            new = _stepped(made[:, scale], rng)
            moved = log_scales + (new - made[:, scale])[:, None]
            taken = _taken((fit(moved) - fit(log_scales)).sum(axis=1) + odds(new, scale), rng)
            made[taken, scale], log_scales[taken] = new[taken], moved[taken]
        if stretches:  # each dimension
            old, deviation = made[:, stretch], np.exp(made[:, spread])[:, None]
            new = _stepped(old, rng)
            moved = log_scales + deviation * (new - old)
            taken = _taken(fit(moved) - fit(log_scales) + 0.5 * (old**2 - new**2), rng)
            log_scales = np.where(taken, moved, log_scales)
            made[:, stretch] = np.where(taken, new, old)
            for setting in (scale, spread):  # with the dimensions' scales held, stretches follow
                if prior_sd[setting] > 0:
                    _with_scales(made, setting, layout, log_scales, odds, rng)
    return _divided_anew(made, layout, factor, directions, points, along, rng)


def _with_scales(
    made: FloatArray,
    setting: int,
    layout: Layout,
    log_scales: FloatArray,
    odds: Callable[[FloatArray, int], FloatArray],
    rng: Generator,
) -> None:
    """Scale or spread takes a step where the dimensions stay as wide as they are; changes `made`."""
    settings = {place: made[:, place] for place in (layout.scale, layout.spread)}
    settings[setting] = _stepped(made[:, setting], rng)
    stretches = (log_scales - settings[layout.scale][:, None]) * np.exp(-settings[layout.spread])[:, None]
    gain = odds(settings[setting], setting) + 0.5 * (made[:, layout.stretch] ** 2 - stretches**2).sum(axis=1)
    gain += layout.n_dims * (made[:, layout.spread] - settings[layout.spread])  # stretches are denser, the wider
    taken = _taken(gain, rng)
    made[taken, setting] = settings[setting][taken]
    made[np.flatnonzero(taken), layout.stretch] = stretches[taken]


class _Spans:
    """How far the places reach along F's directions and beside them, against what a share foresees."""

    def __init__(self, points: FloatArray, along: FloatArray, lengths: FloatArray) -> None:
        real = lengths > 0
        self.lengths, self.squares = lengths[real], along[:, real] ** 2
        self.rest = np.maximum((points**2).sum(axis=1) - self.squares.sum(axis=1), 0.0)
        self.n_rest = points.shape[1] - int(real.sum())

    def of(self, logits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of squares in the covariance's own unit (chains, dims), and its log determinant (chains,)."""
        share = _share(logits)[:, None]
        variances = (1 - share) * self.lengths + share
        sums = np.einsum("crd,cr->cd", self.squares, 1 / variances) + self.rest / share
        return sums, np.log(variances).sum(axis=1) + self.n_rest * np.log(share[:, 0])

    def without_features(self) -> tuple[FloatArray, FloatArray]:
        return self.rest.copy(), np.zeros(len(self.rest))


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


def _stepped(values: FloatArray, rng: Generator) -> FloatArray:
    """Values moved by normal steps, some small and some large."""
    sizes = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), values.shape))
    return values + sizes * rng.standard_normal(values.shape)


def _taken(gain: FloatArray, rng: Generator) -> BoolArray:
    """Which steps Metropolis takes, by what they add to the log density."""
    with np.errstate(invalid="ignore"):
        return np.log(rng.random(gain.shape)) < gain  # nan is not taken


def _share(logits: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-np.clip(logits, -30.0, 30.0)))
