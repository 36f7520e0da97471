"""One look for all figures: quiet axes, colours that colour-blind readers can tell apart, random always grey."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY = "#8a8a8a"
INK = "#222222"
# Okabe and Ito's colours, and four more for figures with many methods.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b3fa0", "#8c6d31", "#1f1f1f", "#9acd32")

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#bbbbbb",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#ececec",
    "grid.linewidth": 0.8,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "savefig.dpi": 160,
    "savefig.bbox": "tight",
    "svg.fonttype": "none",  # text stays text: small files, searchable
    "svg.hashsalt": "infonn",  # the same figure is the same file
    "figure.constrained_layout.use": True,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this: the look is set, and matplotlib's own settings come back afterwards."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


def new_figure(width: float = 6.4, height: float = 4.0) -> Figure:
    """A figure that opens no window and needs no display. Use within `style()`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name, in order; names that begin with "random" are grey."""
    others = [name for name in names if not is_random(name)]
    chosen = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(others)}
    return {name: chosen.get(name, GREY) for name in names}


def is_random(name: str) -> bool:
    """Whether a method is the random one everything is compared with."""
    return name.lower().startswith("random")


def save(figure: Figure, path: Path) -> list[Path]:
    """Write the figure as `path`.svg and `path`.png."""
    written = [path.with_name(path.name + ending) for ending in (".svg", ".png")]
    path.parent.mkdir(parents=True, exist_ok=True)
    with style():
        figure.savefig(written[0], metadata={"Date": None})
        figure.savefig(written[1])
    return written
