"""Scores of unlabelled items to a batch that covers the classes: clusters, k-centres, BADGE, typical items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.contracts.loop import BatchRule, Situation
from infonn.maths.neighbours import farthest_first, nearest_labelled
from infonn.maths.targets import label_target_information
from infonn.selection.batches import best, turns_of_groups
from infonn.selection.class_criteria import class_probs, drawn_targets
from infonn.selection.class_predictions import point_log_probs

FITTED_ITEMS = 10_000  # k-means looks for its centres among so many items, then assigns all
TYPICAL_ITEMS = 20_000  # items among which typical ones are sought
NEIGHBOURS_FROM = 5_000  # members of a cluster among which the neighbours of an item are sought


@dataclass(frozen=True)
class Clustered:
    """The best of every cluster: size // clusters of each, the rest from the clusters with the best scores left.

    Clusters are those of k-means, as many as classes, until every class has `switch` labels; from then on an item
    belongs to the class that most of its `neighbours` nearest labelled items have. `n_classes` None: as many as
    were answered so far. `switch` None never leaves k-means, as the paper does for CIFAR-10 and SVHN.
    """

    n_classes: int | None = None
    switch: int | None = 10
    neighbours: int = 5

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        return best_of_groups(scores, self.groups(situation, rng), size, rng) if size else np.empty(0, np.int64)

    def groups(self, situation: Situation, rng: Generator) -> IntArray:
        """The cluster of every pool row."""
        answers = situation.answers
        counts = np.bincount(answers.responses) if len(answers) else np.zeros(0, int)
        n_classes = self.n_classes or max(2, int((counts > 0).sum()))
        counts = np.pad(counts, (0, max(0, n_classes - len(counts))))
        embedding, items = to_numpy(situation.belief.embedding), situation.pool[:, 0]
        if self.switch is not None and counts.min() >= self.switch:
            nearest = nearest_labelled(embedding, items, answers.queries[:, 0], self.neighbours)
            return majority(answers.responses[nearest])
        return k_means(embedding, items, n_classes, rng)


def best_of_groups(scores: FloatArray, groups: IntArray, size: int, rng: Generator) -> IntArray:
    """`size` rows: equally many best of every group, then one more of the groups whose next best is best, and so on."""
    order = np.lexsort((rng.random(len(scores)), -scores))
    turn = turns_of_groups(groups[order])
    quota = size // int((turn == 0).sum())
    turn = np.where(turn < quota, 0, turn)
    rows: IntArray = order[np.argsort(turn, kind="stable")[:size]]  # within a turn still best first
    return rows


def majority(labels: IntArray) -> IntArray:
    """The most frequent label of each row, (n, k) -> (n,); of equally frequent ones the one named first."""
    counts = (labels[:, :, None] == labels[:, None, :]).sum(axis=2)
    return labels[np.arange(len(labels)), counts.argmax(axis=1)]


def k_means(embedding: FloatArray, items: IntArray, n_clusters: int, rng: Generator) -> IntArray:
    """The cluster of each of `items`, seeded by `rng`; centres are fitted on at most 10,000 of them."""
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    n_clusters = min(n_clusters, len(items))
    sample = items if len(items) <= FITTED_ITEMS else rng.choice(items, FITTED_ITEMS, replace=False)
    kind = KMeans if n_clusters <= 50 else MiniBatchKMeans
    model = kind(n_clusters, n_init=1, max_iter=30, random_state=int(rng.integers(2**31)))
    chunks = [items[i : i + FITTED_ITEMS] for i in range(0, len(items), FITTED_ITEMS)]
    with threadpool_limits(1):  # its threads wait for each other: on a busy machine ten times as long
        model.fit(np.asarray(embedding[sample], np.float32))
        return np.concatenate([model.predict(np.asarray(embedding[chunk], np.float32)) for chunk in chunks])


@dataclass(frozen=True)
class KCenter:
    """Greedy k-centres against all labelled items; it looks at distances alone, not at the scores."""

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        labelled = np.unique(situation.answers.queries[:, 0])
        embedding = to_numpy(situation.belief.embedding)
        return farthest_first(embedding, situation.pool[:, 0], labelled, size)[0]


@dataclass(frozen=True)
class Badge:
    """BADGE (Ash et al. 2020): k-means++ seeds among the gradients that the predicted classes would give.

    The gradient of the last layer is (p - e_predicted) x hidden; its distances follow from the two factors, so
    items by classes by dimensions is never held.
    """

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        items = situation.pool[:, 0]
        hidden = np.asarray(to_numpy(situation.belief.embedding)[items], np.float32)
        probs = np.exp(np.asarray(point_log_probs(situation.belief, items), np.float32))
        return badge_seeds(probs, hidden, size, rng)


def badge_seeds(probs: FloatArray, hidden: FloatArray, size: int, rng: Generator) -> IntArray:
    """Rows of k-means++ seeds: the longest gradient first, then each with chance in proportion to its squared
    distance from the nearest seed."""
    residuals = probs.copy()
    residuals[np.arange(len(probs)), probs.argmax(axis=1)] -= 1
    norms = (residuals**2).sum(axis=1) * (hidden**2).sum(axis=1)
    if size == 0:
        return np.empty(0, np.int64)
    chosen = [int(np.argmax(norms))]
    nearest = np.full(len(probs), np.inf)
    while len(chosen) < min(size, len(probs)):
        last = chosen[-1]
        products = (residuals @ residuals[last]) * (hidden @ hidden[last])
        nearest = np.minimum(nearest, np.maximum(norms + norms[last] - 2.0 * products, 0))
        nearest[chosen] = 0
        total = nearest.sum()
        if total > 0:
            chosen.append(int(np.searchsorted(np.cumsum(nearest), rng.random() * total, side="right")))
        else:  # all that is left lies on a seed
            chosen.append(int(rng.choice(np.setdiff1d(np.arange(len(probs)), chosen))))
    return np.array(chosen, np.int64)


@dataclass(frozen=True)
class PseudoLabels:
    """ParBaLS (Hu and Mussmann 2025): pick after pick, each as if labels drawn for the earlier ones were known.

    In each of `worlds` a pick gets a label drawn from the belief, and draws of the belief count by how well they
    foresaw it; the next pick has the highest EPIG on average over the worlds. Picks come from the `looked_at`
    highest scores.
    """

    worlds: int = 4
    looked_at: int = 100
    n_targets: int = 32

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        if size <= 1:
            return best(scores, situation, size, rng)
        rows = best(scores, situation, min(len(scores), max(self.looked_at, 2 * size)), rng)
        probs = class_probs(situation.belief, situation.pool[rows, 0])
        targets = drawn_targets(situation, self.n_targets, rng)
        return rows[pseudo_label_picks(probs, targets, size, self.worlds, rng)]


def pseudo_label_picks(probs: FloatArray, targets: FloatArray, size: int, worlds: int, rng: Generator) -> IntArray:
    """Rows of `probs` (draws, n, classes) picked as `PseudoLabels` says; the first row is the first pick."""
    weights: FloatArray = np.full((worlds, len(probs)), 1 / len(probs), np.float32)
    picked = [0]
    while len(picked) < min(size, probs.shape[1]):
        last = probs[:, picked[-1]]  # (draws, classes)
        chances = np.cumsum(weights @ last, axis=1)
        labels = (rng.random((worlds, 1)) * chances[:, -1:] > chances).sum(axis=1)
        weights = weights * last[:, labels].T
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-30)
        gains = np.mean([label_target_information(probs, targets, world) for world in weights], axis=0)
        gains[picked] = -np.inf
        picked.append(int(np.argmax(gains)))
    return np.array(picked, np.int64)


@dataclass(frozen=True)
class Spread:
    """The best of each of `size` clusters among the best scores: no two that resemble each other (Zhdanov 2019).

    Clusters are those of k-means among the `looked_at` times `size` highest scores.
    """

    looked_at: int = 10

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        if size <= 1:
            return best(scores, situation, size, rng)
        rows = best(scores, situation, min(len(scores), self.looked_at * size), rng)
        groups = k_means(to_numpy(situation.belief.embedding), situation.pool[rows, 0], size, rng)
        return rows[best_of_groups(scores[rows], groups, size, rng)]


@dataclass(frozen=True)
class Typical:
    """TypiClust (Hacohen et al. 2022): the most typical item of the largest clusters without a label.

    As many clusters as labels and batch together, at most `max_clusters`; typical is what lies close to its
    `neighbours` nearest in the cluster. It needs no label at all, so studies can start with it.
    """

    neighbours: int = 20
    max_clusters: int = 500

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        embedding = to_numpy(situation.belief.embedding)
        return typical_items(
            embedding,
            situation.pool[:, 0],
            situation.answers.queries[:, 0],
            size,
            rng,
            self.neighbours,
            self.max_clusters,
        )


def typical_items(
    embedding: FloatArray,
    items: IntArray,
    labelled: IntArray,
    size: int,
    rng: Generator,
    neighbours: int = 20,
    max_clusters: int = 500,
) -> IntArray:
    """Positions in `items` of typical ones, see `Typical`; clusters with fewer labels come first, large ones before.

    Of many items a sample is looked at: what is typical of it is typical of all.
    """
    if size == 0:
        return np.empty(0, np.int64)
    if len(items) > max(TYPICAL_ITEMS, size):
        sample = np.sort(rng.choice(len(items), max(TYPICAL_ITEMS, size), replace=False))
        found = typical_items(embedding, items[sample], labelled, size, rng, neighbours, max_clusters)
        return sample[found]
    labelled = np.unique(labelled)
    everything = np.concatenate([items, labelled]).astype(np.int64)
    groups = k_means(embedding, everything, min(len(labelled) + size, max_clusters), rng)
    sizes = np.bincount(groups)
    covered = np.bincount(groups[len(items) :], minlength=len(sizes)).astype(float)
    own = groups[: len(items)]
    left = np.bincount(own, minlength=len(sizes))
    waiting: dict[int, list[int]] = {}  # by group, from the most typical on; only of groups that are reached
    chosen: list[int] = []
    while len(chosen) < min(size, len(items)):
        group = min(np.flatnonzero(left).tolist(), key=lambda g: (covered[g], -sizes[g]))
        if group not in waiting:
            waiting[group] = _by_typicality(embedding, items, np.flatnonzero(own == group), neighbours, rng)
        chosen.append(waiting[group].pop(0))
        covered[group] += 1
        left[group] -= 1
    return np.array(chosen, np.int64)


def _by_typicality(
    embedding: FloatArray, items: IntArray, members: IntArray, neighbours: int, rng: Generator
) -> list[int]:
    """`members` from the most typical on: smallest mean distance to the nearest in the cluster."""
    among = members if len(members) <= NEIGHBOURS_FROM else rng.choice(members, NEIGHBOURS_FROM, replace=False)
    nearest = nearest_labelled(embedding, items[members], items[among], neighbours + 1)
    points = np.asarray(embedding[items[members]], np.float32)
    distances = np.zeros(len(members))
    for column in nearest.T:  # an item is its own nearest, at distance 0
        distances += np.linalg.norm(points - embedding[items[among][column]], axis=1)
    return [int(member) for member in members[np.argsort(distances, kind="stable")]]


@dataclass(frozen=True)
class TypicalFirst:
    """Typical items until there are `fewest` labels, and `per_class` for each class; then another rule.

    `n_classes` None: as many as were answered so far.
    """

    rule: BatchRule = best
    n_classes: int | None = None
    per_class: int = 0
    fewest: int = 20

    def __call__(self, scores: FloatArray, situation: Situation, size: int, rng: Generator) -> IntArray:
        answers = situation.answers
        n_classes = self.n_classes or len(np.unique(answers.responses))
        if len(answers) < max(self.fewest, self.per_class * n_classes):
            return Typical()(scores, situation, size, rng)
        return self.rule(scores, situation, size, rng)
