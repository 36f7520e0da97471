"""Points in fewer columns: where distances of many dimensions are kept as well as a map of a few can keep them.

Stress majorisation (de Leeuw 1977): from the principal axes on, every step moves each point to the mean of the places
where the others, at their wanted distances, would have it; no step makes the squared error of the distances larger.
"""

from __future__ import annotations

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.maths.distances import pairwise_distances, pairwise_squared_distances, triplet_margins
from infonn.maths.threads import one_thread
from infonn.queries import draw_queries

LANDMARKS = 500  # points whose distances among themselves make the map, where there are more
PLACED_BY = 100  # of them, by whose distances each further point is placed
STEPS = 100
ENOUGH = 1e-5  # of the squared error: a step that wins less is the last
N_TRIPLETS = 4000
WORTH_A_COLUMN = 0.005
"""Share of triplets, ordered as the draws order them, by which a map must gain from a further column."""


def in_columns(points: FloatArray, n_columns: int) -> FloatArray:
    """Places whose distances are as near to those of `points` as `n_columns` allow: (items, dims) -> (items, columns).

    Points that need no more columns than that are only turned to their principal axes, and columns of zeros added.
    """
    with one_thread():
        flat = _principal(points, n_columns)
        if points.shape[1] <= n_columns or np.linalg.matrix_rank(points - points.mean(axis=0)) <= n_columns:
            return flat
        rows = _landmarks(len(points), LANDMARKS)
        made = majorised(pairwise_distances(points[rows]), flat[rows])
        if len(rows) == len(points):
            return made
        placed = beside(points[rows], made, points)
        placed[rows] = made
        return placed


def beside(known: FloatArray, placed: FloatArray, new: FloatArray) -> FloatArray:
    """Where new points lie in a map of known ones: (known, dims), (known, columns), (new, dims) -> (new, columns).

    Each new point goes where its distances to the known ones are kept best, those among the new ones aside.
    """
    rows = _landmarks(len(known), PLACED_BY)
    centre = placed[rows].mean(axis=0)
    with one_thread():
        wanted = np.sqrt(pairwise_squared_distances(new, known[rows]))
        nearest = wanted.argmin(axis=1)
        found: FloatArray = centre + 0.9 * (placed[rows][nearest] - centre)  # a start that is nobody's place
        for _ in range(STEPS):
            ratio = _ratio(wanted, np.sqrt(pairwise_squared_distances(found, placed[rows])))
            moved = centre + (ratio.sum(axis=1, keepdims=True) * found - ratio @ placed[rows]) / len(rows)
            done = np.abs(moved - found).max(initial=0.0) <= ENOUGH * np.abs(moved).max(initial=1e-300)
            found = moved
            if done:
                break
    return found


def majorised(distances: FloatArray, start: FloatArray) -> FloatArray:
    """Places of least squared error of their distances to `distances`, found from `start` on: (items, columns)."""
    points, before = start - start.mean(axis=0), np.inf
    for _ in range(STEPS):
        now = pairwise_distances(points)
        error = float(((distances - now) ** 2).sum())
        if error >= (1 - ENOUGH) * before:
            break
        ratio = _ratio(distances, now)
        points, before = (ratio.sum(axis=1, keepdims=True) * points - ratio @ points) / len(points), error
    return points


def fewest_columns(points: FloatArray, draws: FloatArray, most: int) -> int:
    """How many columns the draws agree on: (items, dims), (draws, items, ...) -> at least 1, up to `most`.

    One more is taken as long as the map gains by it: it then orders at least half a percentage point more of 4,000
    random triplets as the draws do.
    """
    if len(points) < 3:
        return 1
    triplets = random_triplets(len(points))
    drawn = _nearer(draws, triplets)
    found, before = 1, _agreement(in_columns(points, 1), triplets, drawn)
    while found < min(most, points.shape[1]):
        now = _agreement(in_columns(points, found + 1), triplets, drawn)
        if now < before + WORTH_A_COLUMN:
            break
        found, before = found + 1, now
    return found


def expected_accuracy(points: FloatArray, draws: FloatArray, triplets: IntArray) -> float:
    """Share of `triplets` that the points order as a draw does, over all draws: the accuracy that draws expect."""
    return _agreement(points, triplets, _nearer(draws, triplets))


def random_triplets(n_items: int) -> IntArray:
    """4,000 of them, always the same for so many items."""
    return draw_queries(N_TRIPLETS, n_items, 2, np.random.default_rng(n_items))


def _nearer(draws: FloatArray, triplets: IntArray) -> FloatArray:
    """Share of the draws in which the second item of each triplet is nearer to the first than the third is."""
    nearer: FloatArray = np.mean([triplet_margins(draw, triplets) > 0 for draw in draws], axis=0)
    return nearer


def _agreement(points: FloatArray, triplets: IntArray, drawn: FloatArray) -> float:
    return float(np.where(triplet_margins(points, triplets) > 0, drawn, 1 - drawn).mean())


def _principal(points: FloatArray, n_columns: int) -> FloatArray:
    """The widest axes, each turned so that its largest weight is positive: a refit does not mirror the map."""
    centred = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :n_columns]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    flat: FloatArray = centred @ axes
    return np.hstack([flat, np.zeros((len(flat), n_columns - flat.shape[1]))])


def _ratio(wanted: FloatArray, now: FloatArray) -> FloatArray:
    """wanted / now, and 0 for points in one place, which have no direction to move in."""
    return np.divide(wanted, now, out=np.zeros_like(wanted), where=now > 1e-300)


def _landmarks(n_items: int, most: int) -> IntArray:
    rows: IntArray = np.arange(n_items) if n_items <= most else np.linspace(0, n_items - 1, most).astype(np.int64)
    return rows
