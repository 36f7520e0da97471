"""Nearest labelled items: of each class, of all; and how far labelled items are. Chunk by chunk, in float32.

Items by labelled items is never held whole: kernels read the distances of a few hundred rows while they are still in
the cache. The one-pass forms are tested against plain loops over exact distances.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from infonn.arrays import FloatArray, IntArray

CHUNK = 1 << 20  # distances that stand in memory at once, in each thread
COLUMNS = 512  # labelled items whose coordinates stay in the cache while items pass by
FRONT = 2048  # farthest items that follow every choice of a centre
SPREAD_PAIRS = 1 << 22  # pairs that tell how far labelled items are


def nearest_of_classes(
    embedding: FloatArray, items: IntArray, labelled: IntArray, classes: IntArray, n_nearest: int
) -> IntArray:
    """For each of `items` the nearest labelled item of each of the `n_nearest` nearest classes: (items, n_nearest).

    `classes` (labelled,) are the classes of `labelled`. Rows are ordered from near to far; where fewer classes
    have a label, they end in -1.
    """
    order = np.argsort(classes, kind="stable")
    ends = np.cumsum(np.unique(classes, return_counts=True)[1])
    positions = _nearest(embedding, items, labelled[order], ends, n_nearest)
    return np.where(positions < 0, -1, labelled[order][positions] if len(labelled) else -1).astype(np.int32)


def nearest_labelled(embedding: FloatArray, items: IntArray, labelled: IntArray, n_nearest: int) -> IntArray:
    """For each of `items` the positions in `labelled` of its nearest ones, near to far: (items, n_nearest)."""
    groups = np.array([len(labelled)]) if n_nearest == 1 else np.arange(1, len(labelled) + 1)  # all, or every one
    return _nearest(embedding, items, labelled, groups, min(n_nearest, len(labelled)))


def labelled_spread(embedding: FloatArray, items: IntArray, labelled: IntArray) -> tuple[float, float]:
    """Sample deviation and largest of the Euclidean distances from `items` to `labelled`, in one pass.

    Beyond four million pairs evenly spaced items stand for all: the deviation is then right within about 0.1 %.
    """
    from infonn.maths.kernels.neighbours import distance_sums

    items = items[:: 1 + len(items) * len(labelled) // SPREAD_PAIRS]
    sums = np.zeros((len(items), 3))
    for_distances(embedding, items, labelled, lambda rows, squared: distance_sums(squared, sums[rows]))
    n = len(items) * len(labelled)
    total, total_squared = sums[:, 0].sum(), sums[:, 1].sum()
    largest = float(sums[:, 2].max(initial=0.0)) ** 0.5
    if n < 2:
        return 0.0, largest
    return float(max((total_squared - total**2 / n) / (n - 1), 0.0) ** 0.5), largest


def _nearest(embedding: FloatArray, items: IntArray, labelled: IntArray, ends: IntArray, n_nearest: int) -> IntArray:
    """Positions in `labelled` of the nearest one of each of the nearest groups, which end at `ends`."""
    from infonn.maths.kernels.neighbours import nearest_of_groups

    positions = np.full((len(items), n_nearest), -1, np.int32)
    ends = ends.astype(np.int64)
    for_distances(embedding, items, labelled, lambda rows, squared: nearest_of_groups(squared, ends, positions[rows]))
    return positions


def for_distances(
    embedding: FloatArray, items: IntArray, labelled: IntArray, use: Callable[[slice, FloatArray], None]
) -> None:
    """Call `use(rows, squared_distances)` for slices of `items`, in several threads: (rows, labelled) float32.

    All is centred between the labelled items: far from the origin digits would be lost.
    """
    from infonn.maths.kernels.neighbours import STEP, fill_squared_distances
    from infonn.maths.kernels.threads import in_threads

    if not len(labelled):
        return
    embedding, items = np.ascontiguousarray(embedding), np.ascontiguousarray(items, np.int64)
    points = np.asarray(embedding[labelled], np.float32)
    centre = points.mean(axis=0)
    points = np.pad(points - centre, ((0, 0), (0, -len(centre) % STEP)))
    norms = (points**2).sum(axis=1)
    blocks = {i: points[i : i + COLUMNS].T.copy() for i in range(0, len(points), COLUMNS)}

    def work(first: int, last: int) -> None:
        squared = np.empty((last - first, len(points)), np.float32)
        for start, block in blocks.items():
            fill_squared_distances(embedding, items[first:last], centre, block, norms[start:], squared, start)
        use(slice(first, last), squared)

    most = max(8, min(256, CHUNK // len(labelled)))
    in_threads(work, len(items), min(64, most), most)


def farthest_first(
    embedding: FloatArray, items: IntArray, labelled: IntArray, size: int
) -> tuple[IntArray, FloatArray]:
    """Greedy k-centres: again and again the item farthest from all labelled and chosen ones (Sener & Savarese 2018).

    Gives positions in `items`, and the squared distance of every item to its nearest labelled one before the first
    choice. Without any label the first centre is the item nearest to the mean.
    """
    points = np.ascontiguousarray(embedding[items], np.float32)
    if len(labelled):
        nearest = labelled[nearest_labelled(embedding, items, labelled, 1)[:, 0]]
        nearest_squared = np.empty(len(items), np.float32)
        for first in range(0, len(items), 1 << 14):
            rows = slice(first, first + (1 << 14))
            nearest_squared[rows] = ((points[rows] - embedding[nearest[rows]]) ** 2).sum(axis=1)
    else:
        away = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
        nearest_squared = np.full(len(items), np.finfo(np.float32).max, np.float32)
        nearest_squared[np.argmin(away)] = np.inf
    return _farthest(points, nearest_squared.copy(), min(size, len(items))), nearest_squared


def _farthest(points: FloatArray, left: FloatArray, size: int, front_size: int = FRONT) -> IntArray:
    """Rows chosen one by one where `left`, the squared distance to the nearest centre, is largest.

    Only the front, the farthest rows, follows every choice. The others are brought up to date together, when one
    of them may have become the farthest: distances only fall, so it cannot be farther than it was.
    """
    chosen: list[int] = []
    while len(chosen) < size:
        order = np.argpartition(-left, min(front_size, len(left)) - 1)
        front, others = np.sort(order[:front_size]), order[front_size:]
        behind = left[others].max() if len(others) else -np.inf
        front_points, front_left, n_before = points[front], left[front], len(chosen)
        while len(chosen) < size:
            best = int(np.argmax(front_left))
            if front_left[best] < behind:
                break
            chosen.append(int(front[best]))
            _cover(front_points, front_points[best : best + 1], front_left)
            front_left[best] = -1
        _cover(points, points[chosen[n_before:]], left)
        left[chosen] = -1
    return np.array(chosen, np.int64)


def _cover(points: FloatArray, centres: FloatArray, left: FloatArray) -> None:
    """Lower `left` where one of `centres` is nearer."""
    from infonn.maths.kernels.neighbours import cover
    from infonn.maths.kernels.threads import in_threads

    in_threads(lambda first, last: cover(points[first:last], centres, left[first:last]), len(points), 2048, 1 << 14)
