"""A contact sheet: items to be labelled, each beside the labelled items it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infonn.arrays import IntArray
from infonn.plots.look import INK, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL, LINE, GAP = 1.0, 0.24, 0.12  # inches: a picture, its line of text, the space between
APART = 0.5  # between columns of rows


@dataclass(frozen=True)
class Card:
    """A square picture with a line of text; without a picture the text stands alone."""

    text: str
    picture: IntArray | None = None


def draw_sheet(rows: Sequence[tuple[Card, Sequence[Card]]], title: str, columns: int = 2) -> Figure:
    """One row per item in `columns` columns: the item, framed, then its neighbours."""
    columns = min(columns, max(1, len(rows)))
    n_rows = max(1, -(-len(rows) // columns))
    cards = 1 + max((len(neighbours) for _, neighbours in rows), default=0)
    column_width = cards * (CELL + GAP) + APART
    width, height = columns * column_width - APART, n_rows * (CELL + LINE + GAP)
    with style():
        figure = new_figure(max(width, 4.0) + 0.2, height + 0.5)
        axes: Any = figure.add_subplot()  # one for all: a hundred of them would take seconds
        axes.set(xlim=(0, max(width, 4.0)), ylim=(height, -0.1))
        axes.set_axis_off()
        axes.set_title(title)
        for place, (item, neighbours) in enumerate(rows):
            left, top = place // n_rows * column_width, place % n_rows * (CELL + LINE + GAP)
            _draw_card(axes, item, left, top, framed=True)
            for offset, neighbour in enumerate(neighbours, 1):
                _draw_card(axes, neighbour, left + offset * (CELL + GAP), top)
        axes.set_aspect("equal")
    return figure


def _draw_card(axes: Any, card: Card, left: float, top: float, framed: bool = False) -> None:
    from matplotlib.patches import Rectangle

    middle, bottom = left + CELL / 2, top + LINE + CELL
    weight = "bold" if framed else "normal"
    if card.picture is None:
        axes.text(
            middle, top + LINE + CELL / 2, _cut(card.text, 32), ha="center", va="center", fontsize=7, weight=weight
        )
    else:
        axes.text(middle, top + LINE - 0.05, _cut(card.text, 17), ha="center", va="bottom", fontsize=7, weight=weight)
        colours = "gray" if card.picture.ndim == 2 else None
        axes.imshow(card.picture, cmap=colours, extent=(left, left + CELL, bottom, top + LINE), interpolation="nearest")
    if framed:
        corner = (left, top + LINE)
        axes.add_patch(Rectangle(corner, CELL, CELL, fill=False, edgecolor=INK, linewidth=1.6, zorder=3))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
