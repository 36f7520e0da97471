"""Our posterior beside every embedding of cblearn, on the same people's answers: how accurate, and how long it takes.

python -m infonn.adapters.cblearn_table docs/cblearn.json docs/cblearn.md

measures what the first file lacks, and puts the table of all it holds into the second.

Every estimator gets the same triplets and the same number of dimensions, with its own default settings, and is judged
by triplets of other questions. Seconds are those of the processor, on one thread, so that a busy machine is no matter.
"""

from __future__ import annotations

import inspect
import json
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from numpy.random import default_rng

from infonn.arrays import IntArray
from infonn.datasets.eggs import alien_eggs
from infonn.datasets.food import food73
from infonn.maths.accuracy import triplet_accuracy
from infonn.queries import split_into_triplets

OURS = "infonn's posterior"
ESTIMATORS = (OURS, "SOE", "CKL", "TSTE", "STE", "GNMDS", "LORE", "FORTE", "OENN")
SEEDS = range(5)
N_TEST = 4000
START, END = "<!-- table -->\n", "<!-- end of the table -->"


@dataclass(frozen=True)
class Case:
    """So many answers about one set of items, learned in so many dimensions."""

    data: str
    answers: int
    dims: int


CASES = (Case("Food73", 1000, 3), Case("alien eggs", 500, 2))


@dataclass(frozen=True)
class Measured:
    """One fit: the share of the test triplets that come out right, and the seconds it took."""

    data: str
    answers: int
    dims: int
    estimator: str
    seed: int
    accuracy: float
    seconds: float


# --- data ----------------------------------------------------------------------------------------------------


def split(case: Case, seed: int) -> tuple[int, IntArray, IntArray]:
    """(items, triplets to learn from, triplets to be judged by): reference, near, far; no question is in both."""
    if case.data == "Food73":
        food = food73()
        order = default_rng([seed, case.answers]).permutation(len(food.triplets))
        questions = np.sort(food.triplets[:, 1:], axis=1)
        key = (food.triplets[:, 0].astype(np.int64) * 73 + questions[:, 0]) * 73 + questions[:, 1]
        train, rest = order[: case.answers], order[case.answers :]
        test = rest[~np.isin(key[rest], key[train])][:N_TEST]
        return len(food.names), food.triplets[train], food.triplets[test]
    eggs = alien_eggs()
    random = split_into_triplets(eggs.chosen_by("RandomSampling"))
    rows = default_rng([seed, case.answers]).permutation(len(random))[: case.answers]
    return len(eggs.names), random[rows], split_into_triplets(eggs.chosen_by("Test"))


# --- estimators ----------------------------------------------------------------------------------------------


def make(name: str, case: Case, seed: int) -> Any:
    """The estimator with its own defaults; those that train networks do so on the processor."""
    import cblearn.embedding

    from infonn.adapters.cblearn import PosteriorEmbedding

    if name == OURS:
        return PosteriorEmbedding(case.dims, random_state=seed)
    device = {"device": "cpu"} if name in ("FORTE", "OENN") else {}
    return getattr(cblearn.embedding, name)(case.dims, random_state=seed, **device)


@lru_cache
def _warmed_up(name: str) -> bool:
    """Compile and import beforehand: what is done once is no part of a fit."""
    points = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]] * 5)
    make(name, Case("", 0, 2), 0).fit(points)
    return True


def measure(case: Case, name: str, seed: int) -> Measured:
    """Fit once, judge once."""
    n_items, train, test = split(case, seed)
    estimator = make(name, case, seed)
    whole = {"n_objects": n_items} if "n_objects" in inspect.signature(estimator.fit).parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about convergence; the accuracy shows what it is worth
        _warmed_up(name)
        started = time.process_time()
        embedding = np.asarray(estimator.fit(train.astype(np.int64), **whole).embedding_, float)
        seconds = time.process_time() - started
    return Measured(case.data, case.answers, case.dims, name, seed, triplet_accuracy(embedding, test), seconds)


# --- results -------------------------------------------------------------------------------------------------


def missing(known: list[Measured]) -> Iterator[tuple[Case, str, int]]:
    """What is not measured yet, seed by seed, so that all estimators have the same seeds at any time."""
    there = {(one.data, one.answers, one.estimator, one.seed) for one in known}
    for seed in SEEDS:
        for case in CASES:
            for name in ESTIMATORS:
                if (case.data, case.answers, name, seed) not in there:
                    yield case, name, seed


def read(path: Path) -> list[Measured]:
    """The fits in a results file; none where there is no file."""
    return [Measured(**row) for row in json.loads(path.read_text(encoding="utf-8"))["fits"]] if path.exists() else []


def write(path: Path, fits: list[Measured]) -> None:
    """The fits, and what made them."""
    versions = {name: version(name) for name in ("infonn", "cblearn", "numpy", "scipy", "scikit-learn", "torch")}
    results = {"versions": versions, "machine": platform.machine(), "fits": [asdict(one) for one in fits]}
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def table(fits: list[Measured]) -> str:
    """Mean accuracy with its standard deviation over the seeds, and the median time, as Markdown."""
    lines = []
    for case in CASES:
        own = [one for one in fits if (one.data, one.answers) == (case.data, case.answers)]
        n_seeds = len({one.seed for one in own})
        lines += [
            f"**{case.data}, {case.answers:,} answers, {case.dims} dimensions** ({n_seeds} draws of the answers)",
            "",
            "| | accuracy on other questions | seconds |",
            "|---|---|---|",
        ]
        by_name = {name: [one for one in own if one.estimator == name] for name in ESTIMATORS}
        ranked = sorted((name for name in by_name if by_name[name]), key=lambda n: -_mean(by_name[n]))
        for name in ranked:
            spread = stdev([one.accuracy for one in by_name[name]]) if len(by_name[name]) > 1 else 0.0
            seconds = median(one.seconds for one in by_name[name])
            shown = f"**{name}**" if name == OURS else name
            lines.append(f"| {shown} | {_mean(by_name[name]):.3f} ± {spread:.3f} | {seconds:.2f} |")
        lines.append("")
    return "\n".join(lines)


def _mean(fits: list[Measured]) -> float:
    return mean(one.accuracy for one in fits)


def with_table(page: str, fits: list[Measured]) -> str:
    """The page with the table of these fits between its marks."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table(fits)}{END}{after}"


def main(path: Path, page: Path, say: Callable[[str], None] = print) -> None:
    """Measure what is missing, keep every fit as it comes, and show them all."""
    import torch
    from numba import set_num_threads
    from threadpoolctl import threadpool_limits

    set_num_threads(1)
    torch.set_num_threads(1)
    fits = read(path)
    with threadpool_limits(1):
        for case, name, seed in list(missing(fits)):
            fits.append(measure(case, name, seed))
            write(path, fits)
            say(f"{case.data} {case.answers} {name} seed {seed}: {fits[-1].accuracy:.3f}, {fits[-1].seconds:.2f} s")
    page.write_text(with_table(page.read_text(encoding="utf-8"), fits), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
