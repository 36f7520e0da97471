"""docs/scale.md, made from the files of `infonn bench` in results/bench: what was measured, and what follows."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infonn.errors import DataError

FILES = ("growth", "speed", "workers")
ITEMS, PEOPLE, COLUMNS = 10**8, 10**4, 64  # of the plan
PAUSE_S = 5.0  # from one answer of a person to the next: most labels take longer
CORES, READ_GB_S = 16, 1.0  # of a machine that the plan buys: cores, and what its disk reads in a second
BATCH = 1000  # items that are chosen at once

ABOUT = """This page is made from `results/bench/` by `infonn bench scale`; a test keeps it in step. It was measured on
{cores} cores that others were busy on ({system}, Python {python}), so seconds by the clock are many times those of a
quiet machine; seconds of processors change little."""
SLOPES = """`infonn bench growth` runs each piece of work at several sizes. The slope is that of log seconds on log
size, with a 95 % interval: 1 is growth in proportion, below 1 there are costs that do not grow, above 1 it grows
faster. Ways to grow that are not in the table (answers, and items to place) are in the command and have
no measurement here yet."""


def scale_page(folder: Path) -> str:
    """What docs/scale.md should say, given the files."""
    found = {name: _read(folder / f"{name}.json") for name in FILES}
    speed = {entry["name"]: entry for entry in found["speed"]}
    about = _paragraph(ABOUT.format(**found["growth"]["machine"]))
    head = f"# How it grows, and how large a study may be\n\n{about}## Growth\n\n{_paragraph(SLOPES)}"
    parts = [head, _growth(found["growth"]["ways"]), _one_machine(speed), _workers(found["workers"])]
    return "".join([*parts, _plan(found, speed), _cluster()])


def write_scale_page(folder: Path, docs: Path) -> Path:
    """Write the page into `docs`."""
    path = docs / "scale.md"
    path.write_text(scale_page(folder), encoding="utf-8")
    return path


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise DataError(
            f"{path} is not there. `infonn bench growth|workers --json FILE` make {', '.join(FILES)}; speed is "
            "`infonn bench info_nn_default kernel_roofline label_pool_10m --json FILE`."
        ) from None


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def _growth(ways: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        [
            f"{way['name'].replace('_', ' ')}: {way['what']}",
            f"{way['sizes'][0]:,} to {way['sizes'][-1]:,}",
            f"{_seconds(way['seconds'][0])} to {_seconds(way['seconds'][-1])}",
            f"{way['slope']:.2f} ({way['low']:.2f} to {way['high']:.2f})",
            f"{way['megabytes'][-1]:,.0f} MB" if way["megabytes"][-1] >= 1 else "not seen",
            "" if way["memory_slope"] is None else f"{way['memory_slope']:.2f}",
        ]
        for way in ways
    ]
    head = ["what grows", "sizes", "processor time", "slope of time", "memory at the largest", "slope of memory"]
    return _table(head, lines)


def _one_machine(speed: Mapping[str, Any]) -> str:
    pool, roofline, default = speed["label_pool_10m"], speed["kernel_roofline"], speed["info_nn_default"]
    ns, limit = roofline["ns_per_query_draw"], roofline["limit_ns"]
    lines = [
        [
            "choose among 10,000,000 items to label (64 features, from a file)",
            f"{pool['seconds']:.1f} s, {pool['processor_seconds']:.1f} s of processors",
            f"{pool['anonymous_mb']:,.0f} MB of its own",
        ],
        [
            "score queries of three candidates",
            f"{1e3 / ns / 128:.1f} million a second and core, 128 draws",
            f"{ns:.2f} ns per query, draw and core; the machine's limit is {limit:.2f} ns",
        ],
        [
            "the same against one query at a time",
            f"{default['ratio']:,.0f} times as fast",
            f"rmse {default['rmse']:.4f}",
        ],
    ]
    return "## What one machine holds\n\nMeasured:\n\n" + _table(["work", "time", "beside it"], lines)


def _workers(workers: Mapping[str, Any]) -> str:
    small, large = workers["small"], workers["large"]
    text = f"""Measured by `infonn bench workers`: {workers["studies"]} studies on one PostgreSQL,
    {workers["workers"]} workers, learner `{workers["learner"]}`;
    all but one study have {small["items"]} items and {small["answers"]} answers,
    one has {large["items"]} items and {large["answers"]:,} answers. One worker was killed after
    {workers["killed_after_s"]:.0f} s. All {workers["fitted"]} were fitted cold: half of the small ones within
    {workers["small_median_s"]:.0f} s, the last one after {workers["small_last_s"]:.0f} s, the large one after
    {workers["large_s"]:.0f} s. Studies are shared out by claims that run out, so those of the dead worker moved
    to the others; {workers["small_after_large"]} small studies were fitted later than the large one."""
    return f"## Many studies, several workers\n\n{_paragraph(text)}"


def _plan(found: Mapping[str, Any], speed: Mapping[str, Any]) -> str:
    pool = speed["label_pool_10m"]
    people = next(way for way in found["growth"]["ways"] if way["name"] == "people")
    times, file_gb = ITEMS / 10**7, ITEMS * COLUMNS * 4 / 1e9
    core_s, memory_gb = pool["processor_seconds"] * times, pool["anonymous_mb"] * times / 1e3
    answers_s, storage_ms = PEOPLE / PAUSE_S, 1e3 * people["seconds"][-1] / people["sizes"][-1]
    read_s, choose_s, storage_cores = 2 * file_gb / READ_GB_S, core_s / CORES, PEOPLE / PAUSE_S * storage_ms / 1e3
    reading = f"reading the file twice at {READ_GB_S:g} GB/s"
    lines = [
        ["features of all items, in single precision", f"{file_gb:.1f} GB", "arithmetic"],
        ["processor time of one choice", f"{core_s:.0f} s", "measured at 10^7, times 10; it grows in proportion"],
        ["memory of its own for one choice", f"{memory_gb:.1f} GB", "measured at 10^7, times 10"],
        [f"one choice on {CORES} cores", f"{choose_s:.0f} s", "arithmetic"],
        [reading, f"{read_s:.0f} s", "arithmetic, and an assumption on the disk"],
        [f"answers a second, {PEOPLE:,} people, one every {PAUSE_S:g} s", f"{answers_s:,.0f}", "arithmetic"],
        [
            "processor time of an answer in the storage",
            f"{storage_ms:.1f} ms",
            f"measured, up to {people['sizes'][-1]} people",
        ],
        ["cores for the storage's part alone", f"{storage_cores:.1f}", "arithmetic"],
    ]
    bottleneck = "the disk that the features are read from" if read_s > choose_s else "the processors that choose"
    machines = max(1, -(-int(4 * storage_cores) // CORES))
    queue = BATCH * max(1, round(max(read_s, choose_s) * answers_s / BATCH))
    bullets = [
        f"""**One machine of {CORES} cores, {max(16, 2 * round(memory_gb))} GB and a local disk chooses.** The
        bottleneck of a choice is {bottleneck} ({read_s:.0f} s of reading against {choose_s:.0f} s of
        computing). The file of features is mapped and never copied; memory for the system to keep it in
        ({file_gb:.0f} GB) makes every choice after the first one a matter of processors. With `infonn label
        --engine dask` further machines score pieces of the pool, each from its own copy of the file.""",
        f"""**People need {machines} machine{"s" if machines > 1 else ""} of {CORES} cores before one PostgreSQL**, by
        processor time, with three times as much again for HTTP and the page. Answers of one study meet at its
        counter, so give people studies of their own (say 20 of 500 people), whose labels are joined for the fit.
        How many people one server of yours bears is what `infonn bench serve --people N` measures.""",
        f"""**Choose ahead.** At {answers_s:,.0f} answers a second a batch of {BATCH:,} items lasts {
            BATCH / answers_s:.1f} s; a queue of {queue:,} items bridges one choice.""",
    ]
    unknown = """What was not measured: 10^8 items in one file, 10^4 people at once, and servers on several
    machines. Growth up to 600,000 items is in the table at the top, and the pool of 10^7 is a measurement of its
    own."""
    listed = "".join(_paragraph(bullet, "- ", "  ", end="\n") for bullet in bullets)
    table = _table(["", "", "how it is known"], lines)
    return f"## A plan: 10^8 items to label, 10^4 people\n\n{table}{listed}\n{_paragraph(unknown)}"


def _cluster() -> str:
    text = """`pip install "infonn[cluster]"` on every machine. Start `dask scheduler` on one, and on all `dask
    worker tcp://HOST:8786 --nworkers auto --nthreads 1`; then `infonn reproduce`, `compare`, `plan` and `label`
    take `--engine dask --scheduler tcp://HOST:8786`. Results are the same to the last digit as here (with one
    thread) and as with any number of workers, also when a worker dies: its piece is worked on again elsewhere.
    Results are kept as they come, so an interrupted run goes on. Features in a `.npy` file are read by the
    workers themselves: put it where all have it under the same path. Studies that people answer are another
    matter: start `infonn work --storage postgresql://...` on as many machines as you like."""
    gpus = "GPUs: no kernel of selection runs on one, and no crossover was measured."
    return f"## On a cluster\n\n{_paragraph(text)}{_paragraph(gpus).rstrip()}\n"


def _paragraph(text: str, first: str = "", other: str = "", end: str = "\n\n") -> str:
    """Text without the line breaks of the source, in lines of its own."""
    words = " ".join(text.split())
    return textwrap.fill(words, 118, initial_indent=first, subsequent_indent=other, break_on_hyphens=False) + end


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s" if value >= 0.1 else f"{1e3 * value:.1f} ms"
