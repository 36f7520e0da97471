"""Names beside their points, moved so that they can be read."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from infonn.arrays import BoolArray, FloatArray
from infonn.plots.look import INK


def short(name: str, width: int = 20, lines: int = 2) -> str:
    """A name on at most `lines` lines of about `width` letters; what does not fit ends in an ellipsis."""
    wrapped = textwrap.wrap(name, width, break_long_words=True)
    if len(wrapped) <= lines:
        return "\n".join(wrapped)
    last = textwrap.shorten(" ".join(wrapped[lines - 1 :]), width, placeholder="…")
    return "\n".join([*wrapped[: lines - 1], last.rstrip(" ,;:…") + "…"])


def place_labels(
    points: FloatArray, sizes: FloatArray, frame: FloatArray, radius: float = 4.0, iterations: int = 700
) -> FloatArray:
    """Centres of boxes of `sizes` (n, 2) near their `points` (n, 2), in pixels, inside `frame` (width, height).

    Boxes that overlap push each other apart along the shorter way, dots push boxes, and a weak spring holds each
    box near its own point. Spring and dots fade, so that at the end boxes only part.
    """
    half = sizes / 2
    inside = frame - half
    centres = points + _outwards(points, sizes) * (half + radius + 1)
    alone = ~np.eye(len(points), dtype=bool)
    for turn in range(iterations):
        push = _push(centres, centres, half[:, None] + half[None] + 2.0, alone)
        early = max(0.0, 1 - 1.4 * turn / iterations)
        push += 0.6 * early**0.5 * _push(centres, points, half[:, None] + radius, np.ones_like(alone))
        spring = 0.03 * early
        centres = centres + 0.6 * push + spring * (points - centres)
        centres = np.clip(centres, half, inside)
    return centres


def _outwards(points: FloatArray, sizes: FloatArray) -> FloatArray:
    """The direction in which each point has most room: away from its neighbours, upwards where it has none."""
    difference = points[:, None] - points[None]
    reach = 2.5 * sizes.mean(axis=0)
    closeness = np.exp(-((difference / reach) ** 2).sum(axis=2))
    away = (closeness[..., None] * difference / reach).sum(axis=1) + np.array([0.0, 0.02])
    rng = np.random.default_rng(0)  # points of one place must part in some direction
    away = away + rng.uniform(-0.01, 0.01, away.shape)
    direction: FloatArray = away / np.linalg.norm(away, axis=1, keepdims=True)
    return direction


def _push(boxes: FloatArray, others: FloatArray, reach: FloatArray, counted: BoolArray) -> FloatArray:
    """How far each box has to move to leave what it overlaps, along the axis of least overlap."""
    difference = boxes[:, None] - others[None]
    overlap = reach - np.abs(difference)  # (n, m, 2), above 0 on both axes where they overlap
    overlapping = (overlap > 0).all(axis=2) & counted
    along = np.argmin(overlap, axis=2)
    depth = np.take_along_axis(overlap, along[..., None], axis=2)[..., 0] * overlapping
    direction = np.where(np.take_along_axis(difference, along[..., None], axis=2)[..., 0] >= 0, 1.0, -1.0)
    moves = np.zeros_like(difference)
    np.put_along_axis(moves, along[..., None], (depth * direction)[..., None], axis=2)
    return moves.sum(axis=1) / 2


def write_names(axes: Any, points: FloatArray, names: Sequence[str]) -> None:
    """The names, each as near its dot as the others allow; a thin line leads home where it had to move."""
    renderer = axes.figure.canvas.get_renderer()
    scale = 72 / axes.figure.dpi
    font = 8.0 if len(names) <= 40 else 6.5
    ground = {"facecolor": "white", "alpha": 0.65, "edgecolor": "none", "pad": 0.2}  # legible on lines and dots
    looks: dict[str, Any] = {"fontsize": font, "color": INK, "ha": "center", "va": "center", "linespacing": 0.95}
    texts = [axes.text(0, 0, short(name), bbox=ground, zorder=4, **looks) for name in names]
    boxes = [text.get_window_extent(renderer) for text in texts]
    sizes = np.array([[box.width, box.height] for box in boxes])
    frame = axes.get_window_extent()
    corner = np.array([frame.x0, frame.y0])
    places = axes.transData.transform(points) - corner
    centres = place_labels(places, sizes, np.array([frame.width, frame.height]), radius=3.5 / scale)
    to_data = axes.transData.inverted()
    for text, centre, place, point in zip(texts, centres, places, points):
        x, y = to_data.transform(centre + corner)
        text.set_position((x, y))
        if np.linalg.norm(centre - place) > 16 / scale:
            axes.plot([point[0], x], [point[1], y], color="#cfcfcf", linewidth=0.6, zorder=1)
