"""Appendix, "Info-NN vs. Ranking": NN queries against full rankings, which ask more of a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from infonn.experiments.figures import lines
from infonn.experiments.judging import above, not_below
from infonn.experiments.paper.mds_setup import ALIKE, NOTES, compare, mds_setup
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.maths.paired import PairedDifference
from infonn.plots.curves import draw_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHERE = "Appendix, MDS embedding learning, Info-NN vs. Ranking"
DIMS = 2


def build(plan: Plan, trial: int) -> list[Setup]:
    """Chosen NN queries, chosen rankings and random rankings."""
    nearest = [
        mds_setup(plan, trial, active=True, candidates=c, n_dims=DIMS, method=f"Info-NN-{c}")
        for c in plan.settings["nearest"]
    ]
    rankings = [
        mds_setup(
            plan,
            trial,
            active=active,
            candidates=c,
            n_dims=DIMS,
            kind="ranking",
            method=f"{'Info' if active else 'Random'}-Ranking-{c}",
        )
        for c in plan.settings["rankings"]
        for active in (True, False)
    ]
    return nearest + rankings


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """What the paper says about this figure."""
    methods = {curve.method for curve in curves}

    def against(*pairs: tuple[str, str]) -> dict[str, PairedDifference | None]:
        return {f"{a} against {b}": compare(curves, DIMS, a, b) for a, b in pairs if {a, b} <= methods}

    expected = against(
        *((f"Info-Ranking-{c}", f"Info-NN-{c}") for c in (3, 4)),
        *((f"Random-Ranking-{c}", f"Info-NN-{c}") for c in (3, 4)),
    )
    match = against(("Info-NN-3", "Random-Ranking-3"))
    exceed = against(("Info-NN-4", "Random-Ranking-3"))
    almost = against(("Info-NN-4", "Info-Ranking-3"))
    return [
        Claim(
            "rankings-tell-more",
            "We expect both chosen and random rankings to outperform a NN query of the same size, query by query.",
            WHERE,
            *above(expected),
        ),
        Claim(
            "nn3-matches-random-rankings",
            f"Info-NN-3 matches randomly selected rankings of the same size (here: not more than {ALIKE} below).",
            WHERE,
            *not_below(match, ALIKE),
        ),
        Claim(
            "nn4-exceeds-random-rankings-of-3",
            "Info-NN-4 exceeds randomly selected rankings of size 3.",
            WHERE,
            *above(exceed),
        ),
        Claim(
            "nn4-almost-matches-chosen-rankings-of-3",
            "Info-NN-4 almost matches actively selected rankings of size 3 (here: not more than 0.05 below).",
            WHERE,
            *not_below(almost, 0.05),
        ),
    ]


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    """Tau by queries, as in the paper, and by triplets: what a query costs a person lies between the two."""
    tau = "aggregate Kendall's tau"
    panels = {"NN queries and rankings, D = 2": lines(curves, "tau")}
    triplets = {"The same by triplets": lines(curves, "tau", axis="triplets")}
    return {
        "mds-ranking": draw_curves(panels, "queries answered", tau, width=6.2, height=4.2),
        "mds-ranking-triplets": draw_curves(triplets, "triplets in the answers", tau, width=6.2, height=4.2),
    }


EXPERIMENT = Experiment(
    name="mds-ranking",
    title="MDS: NN queries against rankings",
    where=WHERE,
    minutes={"smoke": 0.5, "paper": 10},
    presets={
        "smoke": {"trials": 2, "rounds": 10, "nearest": [3, 4], "rankings": [3], "draws": 128},
        "paper": {"trials": 20, "rounds": 100, "nearest": [3, 4, 5], "rankings": [3, 4], "draws": 128},
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=NOTES,
)
