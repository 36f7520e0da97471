"""Softmax regression with a normal prior: its best weights, the scale of the prior, and draws around them.

Weights are (features, classes) with prior N(0, scale^2) on each. The posterior is normal around the best weights
(Laplace), with the whole curvature: sum_i x_i x_i^T (x) (diag(p_i) - p_i p_i^T) + I / scale^2. That matrix is never
made: draws solve it by conjugate gradients, so a thousand features or fifty classes are no obstacle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray

ITERATIONS = 40  # of a fit that starts near its end; more change predictions in the third digit
MOST_STEPS = 500  # of the conjugate gradients


def softmax(logits: FloatArray) -> FloatArray:
    """Probabilities along the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probs: FloatArray = powers / powers.sum(axis=-1, keepdims=True)
    return probs


def log_softmax(logits: FloatArray) -> FloatArray:
    """Log-probabilities along the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    found: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return found


def best_weights(
    features: FloatArray, labels: IntArray, n_classes: int, scale: float, start: FloatArray | None = None
) -> FloatArray:
    """The most probable weights: (n, dims), (n,) -> (dims, classes). `start` may be the weights of another scale."""
    from scipy.optimize import minimize  # slow to import, and pages do not need it

    n_dims = features.shape[1]
    wanted = np.eye(n_classes)[labels]

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(n_dims, n_classes)
        log_probs = log_softmax(features @ weights)
        gradient = features.T @ (np.exp(log_probs) - wanted) + weights / scale**2
        return float(-(log_probs * wanted).sum() + (weights**2).sum() / (2 * scale**2)), gradient.ravel()

    first = np.zeros((n_dims, n_classes)) if start is None else start
    found = minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS, "gtol": 1e-3})
    weights: FloatArray = found.x.reshape(n_dims, n_classes)
    return weights


def left_out_log_prob(features: FloatArray, labels: IntArray, weights: FloatArray, scale: float) -> float:
    """Log-probability of the labels, each under the weights that all others give, from this one fit.

    The step that a label took is undone to first order: by the curvature of its class alone, as the blocks of
    different classes are left out. About as good as fitting n times over for comparing scales, and far quicker.
    """
    from scipy.linalg import solve_triangular  # as slow

    logits = features @ weights
    probs = softmax(logits)
    wanted = np.eye(weights.shape[1])[labels]
    prior = scale**2 * (features @ features.T)
    for c in range(weights.shape[1]):
        bend = probs[:, c] * (1 - probs[:, c])
        root = np.sqrt(bend)
        block = root[:, None] * prior * root
        block[np.diag_indices_from(block)] += 1
        reached = solve_triangular(np.linalg.cholesky(block), root[:, None] * prior, lower=True, check_finite=False)
        leverage = np.diag(prior) - (reached**2).sum(axis=0)
        logits[:, c] -= leverage * (wanted[:, c] - probs[:, c]) / (1 - np.minimum(bend * leverage, 0.999))
    return float(log_softmax(logits)[np.arange(len(labels)), labels].sum())


def learn_scale(
    features: FloatArray, labels: IntArray, n_classes: int, scales: Sequence[float]
) -> tuple[float, FloatArray]:
    """The scale of the prior that foresees left-out labels best, and its best weights.

    Scales are tried from small to large, until the next one foresees them worse.
    """
    weights = best_weights(features, labels, n_classes, scales[0])
    best = left_out_log_prob(features, labels, weights, scales[0]), scales[0], weights
    for scale in scales[1:]:
        weights = best_weights(features, labels, n_classes, scale, weights)
        foreseen = left_out_log_prob(features, labels, weights, scale)
        if foreseen < best[0]:
            break
        best = foreseen, scale, weights
    return best[1], best[2]


def weight_draws(
    features: FloatArray, weights: FloatArray, scale: float, n_draws: int, rng: Generator, tolerance: float = 0.01
) -> FloatArray:
    """Draws from the normal posterior around the best `weights`: (dims, classes) -> (dims, n_draws, classes).

    A draw solves H x = b with b ~ N(0, H): what the prior and each label add to the curvature H adds its noise to b.
    """
    features = np.asarray(features, np.float32)
    probs = softmax(features @ weights).astype(np.float32)[:, None]
    n_dims, n_classes = weights.shape
    normals = rng.standard_normal((len(features), n_draws, n_classes), np.float32)
    noise = np.sqrt(probs) * normals
    noise -= probs * (np.sqrt(probs) * normals).sum(axis=-1, keepdims=True)
    right = rng.standard_normal((n_dims, n_draws, n_classes), np.float32) / np.float32(scale)
    right += _times(features.T, noise)
    return weights[:, None].astype(np.float32) + _solved(features, probs, scale, right, tolerance)


def _solved(features: FloatArray, probs: FloatArray, scale: float, right: FloatArray, tolerance: float) -> FloatArray:
    """H^-1 right for every draw, by conjugate gradients with the diagonal of H."""
    bend = (probs * (1 - probs))[:, 0]
    diagonal = ((features**2).T @ bend + np.float32(scale**-2))[:, None]
    found = np.zeros_like(right)
    left = right.copy()
    step = left / diagonal
    size = _product(left, step)
    enough = tolerance**2 * size
    for _ in range(MOST_STEPS):
        if (size <= enough).all():
            break
        inner = _times(features, step)
        inner *= probs
        inner -= probs * inner.sum(axis=-1, keepdims=True)
        bent = _times(features.T, inner) + step * np.float32(scale**-2)
        length = (size / _product(step, bent))[:, None]
        found += length * step
        left -= length * bent
        scaled = left / diagonal
        before, size = size, _product(left, scaled)
        step = scaled + (size / before)[:, None] * step
    return found


def _times(matrix: FloatArray, values: FloatArray) -> FloatArray:
    """One matrix for all draws: (m, n), (n, draws, classes) -> (m, draws, classes)."""
    _, n_draws, n_classes = values.shape
    return (matrix @ values.reshape(len(values), n_draws * n_classes)).reshape(len(matrix), n_draws, n_classes)


def _product(first: FloatArray, second: FloatArray) -> FloatArray:
    """Inner product of each draw; never 0, so that it may divide."""
    found: FloatArray = np.maximum(np.einsum("dsc,dsc->s", first, second), np.float32(1e-30))
    return found
