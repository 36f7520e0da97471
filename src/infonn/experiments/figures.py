"""Curves of an experiment as lines of a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from infonn.experiments.statistics import series
from infonn.experiments.trial import Curve
from infonn.plots.curves import Line


def lines(
    curves: Sequence[Curve],
    measure: str,
    axis: Literal["queries", "triplets"] = "queries",
    name: Callable[[Curve], str] = lambda curve: curve.method,
) -> list[Line]:
    """One line per name, over its trials, in the order of first appearance."""
    groups: dict[str, list[Curve]] = {}
    for curve in curves:
        groups.setdefault(name(curve), []).append(curve)
    return [Line(key, getattr(group[0], axis), series(group, measure)) for key, group in groups.items()]
