"""Figures of published results, drawn by the experiment that made them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from infonn.errors import InfonnError
from infonn.experiments.report.results import Result
from infonn.plots.look import save

LARGEST_SVG = 600_000  # bytes; a larger drawing is kept as a picture


def draw_figures(result: Result, folder: Path) -> list[Path]:
    """Draw the figures of `result` into an emptied `folder`; gives the files, in order.

    The experiment's own function draws. What it needs and is not installed here leaves the result without a figure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.svg"), *folder.glob("*.png")]:
        old.unlink()
    try:
        drawn: Mapping[str, object] = result.experiment().figures(result.curves)
    except (ImportError, InfonnError):
        return []
    kept = []
    for place, (name, figure) in enumerate(drawn.items()):
        vector, pixels = save(figure, folder / f"{place}-{name}")  # type: ignore[arg-type]
        keep, drop = (vector, pixels) if vector.stat().st_size <= LARGEST_SVG else (pixels, vector)
        drop.unlink()
        kept.append(keep)
    return kept


def kept_figures(folder: Path) -> list[Path]:
    """The figures that `draw_figures` left in `folder`, in the same order."""
    files = [path for path in folder.glob("*-*") if path.suffix in (".svg", ".png")]
    return sorted(files, key=lambda path: int(re.match(r"\d*", path.name)[0] or 0))  # type: ignore[index]
