"""Appendix, "Info-NN vs. Random-NN": does choosing NN queries help MDS, for queries of 2 to 5 candidates?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from infonn.experiments.figures import lines
from infonn.experiments.judging import above, within
from infonn.experiments.paper.mds_setup import ALIKE, AS_PRINTED, NOTES, READINGS, compare, mds_setup
from infonn.experiments.statistics import pick
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.plots.curves import draw_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHERE = "Appendix, MDS embedding learning, Info-NN vs. Random-NN"


def build(plan: Plan, trial: int) -> list[Setup]:
    """Chosen and random queries of each length, in each dimension."""
    return [
        mds_setup(
            plan,
            trial,
            active=active,
            candidates=candidates,
            n_dims=n_dims,
            method=f"{'Info-NN' if active else 'Random-NN'}-{candidates}",
            reading=reading,
        )
        for reading in plan.settings.get("readings", (AS_PRINTED,))
        for n_dims in plan.settings["dims"]
        for candidates in plan.settings["candidates"]
        for active in (True, False)
    ]


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """The paper's three sentences about this figure, each judged in every dimension."""
    dims = sorted({curve.settings["dims"] for curve in curves})
    lengths = sorted({curve.settings["candidates"] for curve in curves})
    active = {f"D={d} C={c}": compare(curves, d, f"Info-NN-{c}", f"Random-NN-{c}") for d in dims for c in lengths}
    smaller = {
        f"D={d} Info-NN-3 against Random-NN-{c}": compare(curves, d, "Info-NN-3", f"Random-NN-{c}")
        for d in dims
        for c in (4, 5)
        if c in lengths and 3 in lengths
    }
    alike = {
        f"D={d} Random-NN-{b} against Random-NN-{a}": compare(curves, d, f"Random-NN-{b}", f"Random-NN-{a}")
        for d in dims
        for a, b in ((3, 4), (3, 5), (4, 5))
        if a in lengths and b in lengths
    }
    return [
        Claim(
            "active-beats-random",
            "For all query sizes the learned embedding is significantly better when queries are chosen.",
            WHERE,
            *above(active),
        ),
        Claim(
            "small-active-beats-large-random",
            "Info-NN-3 exceeds randomly selected queries of sizes 4 and 5.",
            WHERE,
            *above(smaller),
        ),
        Claim(
            "random-sizes-alike",
            f"Randomly selected queries of sizes 3, 4 and 5 all perform similarly (here: mean tau within {ALIKE}).",
            WHERE,
            *within(alike, ALIKE),
        ),
    ]


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    """One panel per dimension and length, with quartiles; and all lengths in one panel per dimension."""
    dims = sorted({curve.settings["dims"] for curve in curves})
    lengths = sorted({curve.settings["candidates"] for curve in curves})
    each = {
        f"D = {d}, {c} candidates": lines(
            pick(curves, dims=d, candidates=c), "tau", name=lambda curve: curve.method.rsplit("-", 1)[0]
        )
        for d in dims
        for c in lengths
    }
    together = {f"D = {d}": lines(pick(curves, dims=d), "tau") for d in dims}
    labels = ("queries answered", "aggregate Kendall's tau")
    return {
        "mds-random": draw_curves(each, *labels, columns=len(lengths), width=3.1, height=2.8),
        "mds-random-sizes": draw_curves(together, *labels, bands=False, width=5.2, height=4.0),
    }


EXPERIMENT = Experiment(
    name="mds-random",
    title="MDS: chosen against random NN queries",
    where=WHERE,
    minutes={"smoke": 0.5, "paper": 10},
    presets={
        "smoke": {"trials": 2, "rounds": 12, "dims": [2], "candidates": [2, 3, 4], "draws": 128},
        "paper": {"trials": 20, "rounds": 100, "dims": [2, 5], "candidates": [2, 3, 4, 5], "draws": 128},
    },
    build=build,
    claims=claims,
    figures=figures,
    notes=NOTES,
)


# --- other readings of the algorithm -----------------------------------------------------------------------


def readings_of(curves: Sequence[Curve]) -> dict[str, list[Curve]]:
    """The curves of each reading."""
    names = dict.fromkeys(curve.settings["reading"] for curve in curves)
    return {name: pick(curves, reading=name) for name in names}


def variant_claims(curves: Sequence[Curve]) -> list[Claim]:
    """The paper's three sentences under each reading."""
    return [
        replace(claim, id=f"{claim.id}-{'-'.join(name.split())}", text=f"{name.capitalize()}: {_small(claim.text)}")
        for name, own in readings_of(curves).items()
        for claim in claims(own)
    ]


def _small(text: str) -> str:
    """A sentence that goes on after a colon; names keep their capitals."""
    return text if text.startswith("Info") else text[0].lower() + text[1:]


def variant_figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    return {
        f"{'-'.join(name.split())}-{figure}": drawn
        for name, own in readings_of(curves).items()
        for figure, drawn in figures(own).items()
        if figure == "mds-random"
    }


VARIANTS = Experiment(
    name="mds-random-variants",
    title="MDS: chosen against random NN queries, under two other readings of the algorithm",
    where=WHERE,
    minutes={"smoke": 1, "paper": 20},
    presets={
        name: {**preset, "readings": [reading for reading in READINGS if reading != AS_PRINTED]}
        for name, preset in EXPERIMENT.presets.items()
    },
    build=build,
    claims=variant_claims,
    figures=variant_figures,
    notes=(
        "As printed, fit k goes on from the places of fit k - 1 and nothing is ever rescaled. Each fit starts again: "
        "from the places the trial began with. Unit variance: places are rescaled after every fit.",
        *NOTES,
    ),
)
