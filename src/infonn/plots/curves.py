"""Learning curves: a median line per method with its quartile band, named where the line ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from infonn.arrays import FloatArray
from infonn.plots.look import GREY, INK, colours, is_random, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (2.4, 1.6)), (0, (1, 1.5)), (0, (6, 1.5, 1.5, 1.5)))


@dataclass(frozen=True)
class Line:
    """A method's trials: `values` (trials, points) at `x` (points,)."""

    name: str
    x: Sequence[float] | FloatArray
    values: FloatArray
    colour: str | None = None  # None: by name
    dash: int | None = None  # None: whole lines, but each random method of a panel its own dashes


def draw_curves(
    panels: Mapping[str, Sequence[Line]],
    x_label: str,
    y_label: str,
    *,
    columns: int | None = None,
    bands: bool = True,
    share_y: bool = True,
    width: float = 4.4,
    height: float = 3.3,
    note: str = "",
) -> Figure:
    """One panel per title, side by side or in rows of `columns`. A method has one colour in all panels."""
    names = list(dict.fromkeys(line.name for lines in panels.values() for line in lines))
    by_name = colours(names)
    columns = columns or min(len(panels), 3)
    rows = -(-len(panels) // columns)
    with style():
        figure = new_figure(width * columns, height * rows)
        grid: Any = figure.subplots(rows, columns, squeeze=False, sharey=share_y, sharex=False)
        for place, (title, lines) in enumerate(panels.items()):
            axes = grid[place // columns, place % columns]
            _draw_panel(axes, lines, by_name, bands)
            axes.set_title(title)
            if place // columns == rows - 1 or place + columns >= len(panels):
                axes.set_xlabel(x_label)
            if place % columns == 0:
                axes.set_ylabel(y_label)
        for place in range(len(panels), rows * columns):
            grid[place // columns, place % columns].set_axis_off()
        figure.canvas.draw()  # limits and sizes are now final
        for place, lines in enumerate(panels.values()):
            _name_lines(grid[place // columns, place % columns], lines, by_name)
        if note:
            figure.supxlabel(note, fontsize=8, color="#777777", x=0.01, ha="left")
    return figure


def _draw_panel(axes: Any, lines: Sequence[Line], by_name: Mapping[str, str], bands: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    n_random = 0
    for line in sorted(lines, key=lambda line: not is_random(line.name)):  # random lies below
        colour = line.colour or by_name[line.name]
        dash = line.dash
        if dash is None:
            dash = n_random if is_random(line.name) else 0
        n_random += is_random(line.name)
        low, middle, high = np.nanquantile(line.values, [0.25, 0.5, 0.75], axis=0)
        if bands and len(line.values) > 1:
            axes.fill_between(line.x, low, high, color=colour, alpha=min(0.16, 0.5 / len(lines)), linewidth=0)
        marker = "o" if len(line.x) == 1 else None
        axes.plot(line.x, middle, color=colour, linestyle=DASHES[dash % len(DASHES)], marker=marker)
    axes.margins(x=0.02)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _name_lines(axes: Any, lines: Sequence[Line], by_name: Mapping[str, str]) -> None:
    """Each name beside the end of its line, moved up or down so that no two lie on each other."""
    ends = np.array([np.nanmedian(line.values[:, -1]) for line in lines])
    height = axes.get_window_extent().height
    low, high = axes.get_ylim()
    places = (ends - low) / (high - low) * height
    apart = spread_apart(places, 8.5 * axes.figure.dpi / 72 * 1.25)
    for line, place, wanted in zip(lines, apart, places):
        axes.annotate(
            line.name,
            xy=(1.0, wanted / height),
            xytext=(1.03, place / height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            color=INK if (line.colour or by_name[line.name]) == GREY else (line.colour or by_name[line.name]),
            annotation_clip=False,
        )


def spread_apart(places: FloatArray, gap: float) -> FloatArray:
    """Places in the same order, moved as little as can be (least squares) so that neighbours are `gap` apart."""
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    blocks: list[list[float]] = []  # [sum, count] of equal values: isotonic regression by pooling
    for value in places[order] - steps:
        blocks.append([float(value), 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    fitted = np.concatenate([np.full(int(count), total / count) for total, count in blocks]) if blocks else steps
    apart = np.empty(len(places))
    apart[order] = fitted + steps
    return apart
