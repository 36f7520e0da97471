"""Appendix, "Active selection computational comparison": seconds to score all queries of one reference."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import mean, stdev
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import default_rng

from infonn.contracts.loop import Situation
from infonn.datasets.synthetic import gaussian_points
from infonn.experiments.paper.mds_setup import ITEMS, every_query, opening_queries
from infonn.experiments.statistics import pick
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Probe
from infonn.learners.mds import MDS
from infonn.oracles.distances import DistanceOracle
from infonn.plots.dots import Dot, draw_dots
from infonn.queries import Answers, Kind, count_triplets
from infonn.selection.strategies import info_nn_distances, info_ranking

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHERE = "Appendix, Active selection computational comparison, table"
DIMS = 2
KINDS: dict[str, Kind] = {"NN": "nearest", "Ranking": "ranking"}
PAPER = {  # mean and standard deviation in seconds, on a 2019 MacBook Pro, 2.6 GHz 6-core i7
    ("NN", 2): (0.0265, 0.0036),
    ("NN", 3): (0.1509, 0.0044),
    ("NN", 4): (0.6634, 0.0812),
    ("Ranking", 2): (0.6605, 0.0583),
    ("Ranking", 3): (8.5394, 0.3400),
    ("Ranking", 4): (175.0046, 93.2602),
}


def build(plan: Plan, trial: int) -> list[Probe]:
    """NN and ranking queries of each length, with each number of draws."""
    seed = plan.seed_of(trial)
    probes = []
    for n_draws in plan.settings["draws"]:
        for name, kind in KINDS.items():
            for candidates in plan.settings["candidates"]:

                def run(
                    kind: Kind = kind, candidates: int = candidates, n_draws: int = n_draws
                ) -> tuple[list[int], list[int], dict[str, list[float]]]:
                    return time_rounds(kind, candidates, n_draws, plan.settings["rounds"], seed)

                settings = {"candidates": candidates, "draws": n_draws, "queries": comb(ITEMS - 1, candidates)}
                probes.append(Probe(name, "mds", settings, trial, seed, run))
    return probes


def time_rounds(
    kind: Kind, candidates: int, n_draws: int, rounds: int, seed: int
) -> tuple[list[int], list[int], dict[str, list[float]]]:
    """Seconds per reference in each round of active MDS, averaged over all references; one round before warms up."""
    truth = gaussian_points(ITEMS, DIMS, default_rng([seed, 9, DIMS]))
    oracle, learner, rng = DistanceOracle(truth, kind), MDS(ITEMS, DIMS), default_rng([seed, candidates])
    strategy = info_ranking(n_draws=n_draws) if kind == "ranking" else info_nn_distances(n_draws=n_draws)
    pool = every_query(candidates)
    by_reference = [pool[pool[:, 0] == reference] for reference in range(ITEMS)]
    queries = opening_queries(candidates, rng)
    answers = Answers(queries, oracle.answer(queries, rng), kind)
    belief = learner.fit(answers, rng)
    counts, triplets, seconds = [], [], []
    for round in range(rounds + 1):
        best, best_score, taken = pool[0], -1.0, []
        for rows in by_reference:
            started = perf_counter()
            chosen, scores = strategy.select_with_scores(Situation(rows, belief, answers), 1, rng)
            taken.append(perf_counter() - started)
            if scores[chosen[0]] > best_score:
                best, best_score = rows[chosen[0]], float(scores[chosen[0]])
        if round:
            counts.append(len(answers))
            triplets.append(count_triplets(answers))
            seconds.append(float(np.mean(taken)))
        query = best[None]
        answers = answers.joined(Answers(query, oracle.answer(query, rng), kind))
        belief = learner.fit(answers, rng, belief)
    return counts, triplets, {"seconds": seconds}


def claims(curves: Sequence[Curve]) -> list[Claim]:
    """The paper's one sentence about the table, and how both columns compare with ours."""
    evidence, ours = {}, {}
    for n_draws, candidates in sorted({(c.settings["draws"], c.settings["candidates"]) for c in curves}):
        nearest, ranking = (_seconds(curves, name, candidates, n_draws) for name in KINDS)
        if nearest and ranking:
            key = f"C={candidates}, {n_draws} draws"
            evidence[key] = {"ranking_over_nn": round(mean(ranking) / mean(nearest), 2)}
            ours[key] = {
                "nn_faster_than_paper": round(PAPER["NN", candidates][0] / mean(nearest), 1),
                "ranking_faster_than_paper": round(PAPER["Ranking", candidates][0] / mean(ranking), 1),
            }
    return [
        Claim(
            "rankings-cost-more",
            "NN queries are scored faster than rankings of the same size, for all sizes (a ranking of 2 is a NN query "
            "of 2: only the way of computing can differ there).",
            WHERE,
            all(entry["ranking_over_nn"] > 1 for entry in evidence.values()) if evidence else None,
            evidence,
        ),
        Claim(
            "faster-than-the-paper",
            "Our scores take less time than the paper's table in every cell (other machine; a statement of ours).",
            "this package",
            all(value > 1 for entry in ours.values() for value in entry.values()) if ours else None,
            ours,
        ),
    ]


def tables(curves: Sequence[Curve]) -> dict[str, str]:
    """The paper's table, its numbers above ours."""
    lengths = sorted({curve.settings["candidates"] for curve in curves})
    rows = [["", *(f"C = {c}" for c in lengths)], ["---"] * (1 + len(lengths))]
    for name in KINDS:
        rows.append([f"{name}, paper", *("{:.4f} ± {:.4f}".format(*PAPER[name, c]) for c in lengths)])
        for n_draws in sorted({curve.settings["draws"] for curve in curves}, reverse=True):
            cells = [_seconds(curves, name, c, n_draws) for c in lengths]
            shown = [f"{mean(cell):.6f} ± {_deviation(cell):.6f}" if cell else "" for cell in cells]
            rows.append([f"{name}, infonn, {n_draws:,} shared draws", *shown])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    head = "Seconds to score all queries of one reference (20 items): mean and standard deviation over rounds.\n\n"
    return {"timing": head + "\n".join(lines) + "\n"}


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    """Paper and ours on one logarithmic axis."""
    lengths = sorted({curve.settings["candidates"] for curve in curves})
    rows = {}
    for name in KINDS:
        for c in lengths:
            dots = [Dot("paper", *PAPER[name, c])]
            for n_draws in sorted({curve.settings["draws"] for curve in curves}, reverse=True):
                cell = _seconds(curves, name, c, n_draws)
                if cell:
                    dots.append(Dot(f"infonn, {n_draws:,} draws", mean(cell), _deviation(cell)))
            rows[f"{name}-{c}  ({comb(ITEMS - 1, c):,} queries)"] = dots
    return {"timing": draw_dots(rows, "seconds to score all queries of one reference", baseline="paper")}


def _seconds(curves: Sequence[Curve], name: str, candidates: int, n_draws: int) -> list[float]:
    chosen = pick(curves, name, candidates=candidates, draws=n_draws)
    return [value for curve in chosen for value in curve.measures["seconds"]]


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


EXPERIMENT = Experiment(
    name="timing",
    title="Seconds to score all queries of one reference",
    where=WHERE,
    minutes={"smoke": 0.3, "paper": 1},
    presets={
        "smoke": {"trials": 1, "rounds": 2, "candidates": [2, 3, 4], "draws": [128]},
        "paper": {"trials": 1, "rounds": 10, "candidates": [2, 3, 4], "draws": [1000, 128]},
    },
    build=build,
    claims=claims,
    figures=figures,
    tables=tables,
    notes=(
        "The paper does not state its number of draws; 1,000 is used beside our default of 128 shared Sobol draws.",
        "Each reference is scored on its own, draws included, as the paper times it; active MDS itself scores all "
        "references in one call.",
        "Timed on whatever machine ran it (see machine); the paper used a 2019 MacBook Pro.",
    ),
)
