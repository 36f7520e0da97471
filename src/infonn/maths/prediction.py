"""What an embedding expects people to answer, and how it is shown in the plane."""

from __future__ import annotations

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.maths.distances import option_squared_distances
from infonn.maths.responses import ResponseSettings, option_log_probs
from infonn.queries import Kind, rank_of_orders


def expected_responses(embedding: FloatArray, queries: IntArray, kind: Kind) -> IntArray:
    """The likeliest response: the nearest candidate, the candidates by distance, or what the nearest pair leaves."""
    squared = option_squared_distances(embedding, queries, kind)
    if kind == "ranking":
        return rank_of_orders(np.argsort(squared, axis=1, kind="stable"))
    nearest: IntArray = squared.argmin(axis=1)
    return nearest


def response_log_probs(
    embedding: FloatArray, queries: IntArray, responses: IntArray, kind: Kind, settings: ResponseSettings
) -> FloatArray:
    """How likely the responses given were under the response model, in nats: (n,)."""
    log_probs = option_log_probs(option_squared_distances(embedding, queries, kind), settings, kind)
    chosen: FloatArray = log_probs[np.arange(len(queries)), responses]
    return chosen


def plane_of(embedding: FloatArray) -> FloatArray:
    """Two coordinates that show most of the spread (principal components): (items, dims) -> (items, 2)."""
    centred = embedding - embedding.mean(axis=0)
    if centred.shape[1] < 2:
        return np.hstack([centred, np.zeros((len(centred), 2 - centred.shape[1]))])
    if centred.shape[1] == 2:
        return centred
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(axes[np.arange(2), np.abs(axes[:2]).argmax(axis=1)])  # so that a refit does not mirror the map
    plane: FloatArray = centred @ (axes[:2] * signs[:, None]).T
    return plane


def spread_of(draws: FloatArray, embedding: FloatArray) -> FloatArray:
    """How uncertain places are, in the embedding's unit: (draws, items, dims), (items, other dims) -> (items,).

    Answers say nothing about where an embedding stands, how it is turned or how large it is. Draws differ in these too;
    each is first moved, turned and sized to fit the embedding, so that only what can be known counts.
    """
    target = embedding - embedding.mean(axis=0)
    spread: FloatArray = np.sqrt(((laid_on(draws, embedding) - target) ** 2).sum(axis=-1).mean(axis=0))
    return spread


def laid_on(embeddings: FloatArray, target: FloatArray) -> FloatArray:
    """Each embedding moved, turned and sized to fit the target, which stands with its middle at 0 (Procrustes).

    (n, items, dims), (items, other dims) -> (n, items, other dims).
    """
    target = target - target.mean(axis=0)
    centred = embeddings - embeddings.mean(axis=1, keepdims=True)
    left, scales, right = np.linalg.svd(np.swapaxes(centred, 1, 2) @ target, full_matrices=False)
    size = scales.sum(axis=1) / np.maximum((centred**2).sum(axis=(1, 2)), 1e-300)
    laid: FloatArray = size[:, None, None] * (centred @ (left @ right))
    return laid
