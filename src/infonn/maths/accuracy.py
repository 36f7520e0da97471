"""How good an embedding is: agreement with triplets, with true rankings, with classes."""

from __future__ import annotations

import numpy as np

from infonn.arrays import BoolArray, FloatArray, IntArray
from infonn.maths.distances import pairwise_distances, triplet_margins


def triplet_accuracy(embedding: FloatArray, triplets: IntArray) -> float:
    """Share of triplets (reference, near, far) with the near item nearer; equal distances count half."""
    margins = triplet_margins(embedding, triplets)
    return float((margins > 0).mean() + 0.5 * (margins == 0).mean())


def aggregate_kendall_tau(embedding: FloatArray, truth: FloatArray) -> float:
    """Kendall's tau between the rankings of all other items by two embeddings, averaged over references."""
    return kendall_taus(pairwise_distances(embedding), true_order_signs(truth))


def true_order_signs(truth: FloatArray) -> FloatArray:
    """Per reference, the sign of d(j) - d(i) for all pairs i < j: (items, dims) -> (items, pairs).

    Computed once, it serves the tau of every round.
    """
    return _order_signs(pairwise_distances(truth))


def kendall_taus(distances: FloatArray, signs: FloatArray) -> float:
    """Aggregate Kendall's tau-b of a matrix of distances against `true_order_signs`."""
    own = _order_signs(distances)
    agreement = (own * signs).sum(axis=1)
    norms = np.sqrt((own**2).sum(axis=1) * (signs**2).sum(axis=1))
    taus = np.divide(agreement, norms, out=np.zeros_like(agreement), where=norms > 0)
    return float(taus.mean())


def _order_signs(distances: FloatArray) -> FloatArray:
    n_items = len(distances)
    others = distances[~np.eye(n_items, dtype=bool)].reshape(n_items, n_items - 1)  # row by row without itself
    first, second = np.triu_indices(n_items - 1, 1)
    return np.sign(others[:, second] - others[:, first])


def recall_at(embedding: FloatArray, classes: IntArray, k: int) -> float:
    """Recall@K: share of items with an item of their own class among their K nearest."""
    return float(_same_class(embedding, classes, k).any(axis=1).mean())


def top_fraction_at(embedding: FloatArray, top: BoolArray, k: int) -> float:
    """TopFraction@K: share of the K nearest of the `top` items that are top items themselves."""
    return float(_same_class(embedding, top.astype(int), k)[top].mean())


def _same_class(embedding: FloatArray, classes: IntArray, k: int) -> BoolArray:
    """Whether each of the k nearest items is of the item's class: (items, k)."""
    n_items = len(embedding)
    if not 1 <= k < n_items:
        raise ValueError(f"k is {k}; with {n_items} items it must be between 1 and {n_items - 1}.")
    distances = pairwise_distances(embedding)
    np.fill_diagonal(distances, np.inf)
    nearest = _k_smallest(distances, k)
    same: BoolArray = classes[nearest] == classes[:, None]
    return same


def _k_smallest(distances: FloatArray, k: int) -> IntArray:
    """Columns of the k smallest entries of each row, smallest first."""
    if k < distances.shape[1]:
        columns = np.argpartition(distances, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(distances, columns, axis=1), axis=1, kind="stable")
        return np.take_along_axis(columns, order, axis=1)
    return np.argsort(distances, axis=1, kind="stable")
