"""Log-loss of paired comparisons (reference, near, far) under the response model, and its gradient.

The plain version; `maths.kernels.comparisons` takes whole gradient steps and is tested against this one.
"""

from __future__ import annotations

import numpy as np

from infonn.arrays import Array, FloatArray, IntArray
from infonn.maths.distances import query_squared_distances
from infonn.maths.responses import ResponseSettings, nearest_log_probs


def comparison_loss(embedding: Array, triplets: Array, settings: ResponseSettings) -> Array:
    """Mean of -log P(near is chosen over far): (items, dims), (n, 3) -> scalar. numpy or torch."""
    log_probs = nearest_log_probs(query_squared_distances(embedding, triplets), settings)
    return -log_probs[:, 0].mean()


def comparison_gradient(embedding: FloatArray, triplets: IntArray, mu: float) -> FloatArray:
    """Gradient of `comparison_loss` at sharpness 1 and no lapse, shape of the embedding.

    With a, b = d^2 + mu to near and far, the loss is log(a + b) - log b.
    """
    reference, near, far = triplets.T
    to_near, to_far = embedding[reference] - embedding[near], embedding[reference] - embedding[far]
    a, b = (to_near**2).sum(1) + mu, (to_far**2).sum(1) + mu
    by_near = 2 * to_near / (a + b)[:, None]
    by_far = 2 * to_far * (1 / (a + b) - 1 / b)[:, None]
    gradient = np.zeros_like(embedding)
    np.add.at(gradient, reference, by_near + by_far)
    np.add.at(gradient, near, -by_near)
    np.add.at(gradient, far, -by_far)
    return gradient / len(triplets)
