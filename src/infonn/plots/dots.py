"""Numbers of very different size side by side: dots on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infonn.plots.look import COLOURS, GREY, INK, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Dot:
    """A value and its standard deviation."""

    name: str
    value: float
    deviation: float = 0.0


def draw_dots(rows: Mapping[str, Sequence[Dot]], x_label: str, baseline: str) -> Figure:
    """One row per key, one dot per name; the baseline is grey."""
    names = list(dict.fromkeys(dot.name for dots in rows.values() for dot in dots))
    others = [name for name in names if name != baseline]
    colour = {baseline: GREY, **{name: COLOURS[i % len(COLOURS)] for i, name in enumerate(others)}}
    with style():
        figure = new_figure(6.8, 0.8 + 0.42 * len(rows))
        axes: Any = figure.subplots()
        for place, dots in enumerate(rows.values()):
            axes.plot([min(d.value for d in dots), max(d.value for d in dots)], [place, place], color="#e3e3e3", lw=3)
            for dot in dots:
                low = max(dot.value - dot.deviation, dot.value / 3)
                axes.plot([low, dot.value + dot.deviation], [place, place], color=colour[dot.name], lw=1.5)
                axes.plot(dot.value, place, "o", color=colour[dot.name], ms=7, label=dot.name if not place else None)
        axes.set_xscale("log")
        axes.set_yticks(range(len(rows)), list(rows), color=INK)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(x_label)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(names))
    return figure
