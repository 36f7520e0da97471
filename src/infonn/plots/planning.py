"""Answers to a target, drawn: every simulated trial, and where each strategy gets there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from infonn.plots.look import INK, colours, is_random, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Trials:
    """The trials of one strategy: answers and accuracy of each, and the quartiles of answers to the target."""

    lines: Sequence[tuple[Sequence[float], Sequence[float]]]
    quartiles: tuple[float, float, float]


def draw_plan(strategies: Mapping[str, Trials], target: float, title: str) -> Figure:
    """Thin lines are trials; the bar at the target spans the middle half of them, its dot is the median."""
    by_name = colours(list(strategies))
    with style():
        figure = new_figure(7.2, 4.2)
        axes = figure.subplots()
        axes.axhline(target, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        most = max(x[-1] for trials in strategies.values() for x, _ in trials.lines)
        lowest = min(y[0] for trials in strategies.values() for _, y in trials.lines)
        for name, trials in sorted(strategies.items(), key=lambda pair: not is_random(pair[0])):
            for x, y in trials.lines:
                axes.plot(x, y, color=by_name[name], linewidth=0.9, alpha=0.45)
            low, median, high = (min(value, most) for value in trials.quartiles)
            height = target + 0.008 * (1 if is_random(name) else -1)
            axes.plot([low, high], [height, height], color=by_name[name], linewidth=5, solid_capstyle="round")
            label = f"{name}: {_count(trials.quartiles[1])}"
            axes.plot([median], [height], "o", color="white", markeredgecolor=by_name[name], label=label, zorder=5)
        axes.set_ylim(max(0.45, lowest - 0.02), min(1.0, target + 0.07))
        axes.set_xlabel("answers")
        axes.set_ylabel("triplets in the right order")
        axes.set_title(title)
        axes.legend(loc="lower right", title=f"median answers to {target:.0%}")
    return figure


def _count(answers: float) -> str:
    return f"{answers:,.0f}" if np.isfinite(answers) else "not reached"
