"""`infonn bench growth`: how time and memory grow with items, answers, draws, queries, candidates and people.

Each way to grow is run at several sizes, several times in turn. Growth is the slope of log seconds on log size, by
least squares, with a 95 % interval: 1 is in proportion, 0 not at all. Seconds are those of this process's processors,
so that others at work on the machine change little. Memory is what the process itself takes more while it works.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from numpy.random import default_rng

from infonn.bench.entries import watched_anonymous_mb
from infonn.bench.information import MU, SIGMA, score
from infonn.bench.label_pool import choose, write_features
from infonn.contracts.storage import Serving
from infonn.errors import DataError
from infonn.experiments.sweep import machine
from infonn.learners.posterior.learner import Posterior
from infonn.live.transfer import put_study
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries
from infonn.records import Answer
from infonn.selection.predictions import DistanceNoise
from infonn.specs.build import items_of, load_study, open_live_storage

RUNS = 3
Work = Callable[[], object]


@dataclass(frozen=True)
class Way:
    """One way to grow: `prepare` makes, within a folder, the work that is measured at a size."""

    name: str
    what: str
    sizes: Sequence[int]
    prepare: Callable[[int, Path], Work]


def bench_growth(names: Sequence[str] = (), runs: int = RUNS) -> dict[str, Any]:
    """Seconds and megabytes by size, and the slopes, of the ways named; of all where none is."""
    ways = [way for way in WAYS if not names or way.name in names]
    if not ways:
        raise DataError(f"{', '.join(names)}: nothing grows by that name. Known: {', '.join(w.name for w in WAYS)}.")
    return {"runs": runs, "machine": machine("cpu"), "ways": [_measured(way, runs) for way in ways]}


def _measured(way: Way, runs: int) -> dict[str, Any]:
    with _prepared(way) as works:
        seconds: list[list[float]] = [[] for _ in works]
        for work in works:
            work()
        for _ in range(runs):
            for work, taken in zip(works, seconds):
                started = process_time()
                work()
                taken.append(max(process_time() - started, 1e-6))
        megabytes = [watched_anonymous_mb(work, 0.002) - _idle_mb() for work in works]
    sizes = np.repeat(way.sizes, runs)
    slope, low, high = slope_of(sizes, np.concatenate(seconds))
    known = [(size, mb) for size, mb in zip(way.sizes, megabytes) if mb > 1]  # less is the allocator's, not ours
    memory = slope_of(*np.array(known).T)[0] if len(known) > 2 else None
    return {
        "name": way.name,
        "what": way.what,
        "sizes": list(way.sizes),
        "seconds": [median(taken) for taken in seconds],
        "megabytes": [round(max(mb, 0.0), 1) for mb in megabytes],
        "slope": slope,
        "low": low,
        "high": high,
        "memory_slope": memory,
    }


def _idle_mb() -> float:
    return watched_anonymous_mb(lambda: None)


@contextmanager
def _prepared(way: Way) -> Iterator[list[Work]]:
    with tempfile.TemporaryDirectory() as name:
        yield [way.prepare(size, Path(name)) for size in way.sizes]


def slope_of(sizes: Any, values: Any) -> tuple[float, float, float]:
    """Slope of log values on log sizes, and its 95 % interval by Student's t; the interval is nan from two points."""
    from scipy.stats import t

    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(values, float))
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    free = len(x) - 2
    if free < 1:
        return slope, float("nan"), float("nan")
    residual = y - y.mean() - slope * x
    half = float(t.ppf(0.975, free) * np.sqrt(residual @ residual / free / (x @ x)))
    return slope, slope - half, slope + half


# --- the ways ----------------------------------------------------------------------------------------------


def _items_to_label(n: int, folder: Path) -> Work:
    file = folder / f"{n}.npy"
    write_features(file, n)
    return lambda: choose(file)


def _items_to_place(n: int, folder: Path) -> Work:
    return _posterior_update(n, 4 * n)


def _answers(n: int, folder: Path) -> Work:
    return _posterior_update(60, n)


def _posterior_update(n_items: int, n_answers: int) -> Work:
    """Twenty answers more, taken in warm, as the worker does while people answer."""
    rng = default_rng(0)
    queries = draw_queries(n_answers + 20, n_items, 3, rng)
    responses = DistanceOracle(rng.standard_normal((n_items, 2))).answer(queries, rng)
    answers, learner = Answers(queries, responses), Posterior(n_items, dims=2, n_chains=8)
    start = learner.fit(answers.take(slice(0, n_answers)), default_rng(1))
    return lambda: learner.fit(answers, default_rng(2), start)


def _draws(n: int, folder: Path) -> Work:
    embedding, queries = _places(100), draw_queries(20_000, 100, 3, default_rng(1))
    return lambda: score(embedding, queries, DistanceNoise(SIGMA, MU, n))


def _queries(n: int, folder: Path) -> Work:
    embedding, queries = _places(100), draw_queries(n, 100, 3, default_rng(1))
    return lambda: score(embedding, queries, DistanceNoise(SIGMA, MU))


def _candidates(n: int, folder: Path) -> Work:
    embedding, queries = _places(100), draw_queries(20_000, 100, n, default_rng(1))
    return lambda: score(embedding, queries, DistanceNoise(SIGMA, MU))


def _people(n: int, folder: Path) -> Work:
    """Each of so many people answers a question and gets the next one, in a SQLite file."""
    storage = open_live_storage(f"sqlite:///{folder}/{n}.db")
    spec = {"study": {"name": "people"}, "budget": {"answers": 10**9}}
    put_study(storage, spec, items_of([(f"item {i}", None) for i in range(60)]), [])
    study, rng = load_study(storage, "people"), default_rng(0)
    queries = draw_queries(12 * n + 50, 60, 3, rng)
    storage.add_questions("people", [study.make_question(query, "random", rng) for query in queries])
    serving = Serving(600, repeats=True)
    held = {f"p-{i}": storage.serve("people", f"p-{i}", 1, serving) for i in range(n)}

    def everybody_answers() -> None:
        for person, questions in held.items():
            answer = Answer(str(uuid.uuid4()), questions[0].id, person, 0)
            _, held[person], _ = storage.exchange("people", answer, 1, serving)

    return everybody_answers


def _places(n: int) -> Any:
    return default_rng(0).standard_normal((n, 3))


WAYS = [
    Way(
        "items_to_label",
        "fit 100 labels and choose 10 items, features of 64 columns in a file",
        (20_000, 60_000, 200_000, 600_000),
        _items_to_label,
    ),
    Way("items_to_place", "20 answers more, 4 answers an item before", (25, 50, 100, 200), _items_to_place),
    Way("answers", "20 answers more about 60 items", (125, 250, 500, 1000, 2000), _answers),
    Way("queries", "score a pool of queries of three, 128 draws", (10_000, 30_000, 100_000, 300_000), _queries),
    Way("draws", "score 20,000 queries of three", (64, 128, 256, 512, 1024), _draws),
    Way("candidates", "score 20,000 queries, 128 draws", (3, 4, 6, 8, 12), _candidates),
    Way("people", "everybody answers once, in a SQLite file", (5, 15, 50), _people),
]
