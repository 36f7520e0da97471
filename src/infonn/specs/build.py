"""Studies built from their settings, new or stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.loop import Learner, Strategy, Task
from infonn.contracts.storage import LiveStorage, Storage
from infonn.errors import DataError, StudyError, unknown_name
from infonn.records import StudyRecord
from infonn.specs.registry import (
    DEFAULT_LEARNERS,
    LEARNERS_BY_TASK,
    STORAGES,
    STRATEGIES_BY_TASK,
    TASKS,
    build_part,
    load_part,
)
from infonn.specs.settings import check_spec
from infonn.study import Study, check_same_items, check_same_study

if TYPE_CHECKING:
    from infonn.datasets.items import ItemSet

# People answer at the same time, and the best queries of one moment resemble each other: one per reference, then.
_LIVE_PER_REFERENCE = ("info_nn", "info_nn_distances", "info_nn_embedding", "entropy")


def open_storage(url: str) -> Storage:
    """`memory://`, `jsonl:///results.jsonl`, `sqlite:///study.db`, or `postgresql+psycopg://user@host/database`."""
    scheme, separator, path = url.partition("://")
    if not separator:
        raise StudyError(f'Storage "{url}" is no URL. Examples: memory://, sqlite:///study.db, jsonl:///results.jsonl.')
    part: Callable[..., Storage] = load_part("Storage", STORAGES, scheme)
    if scheme in ("memory", "jsonl"):
        return part(path.removeprefix("/")) if path else part()
    return part(url)


def open_live_storage(url: str) -> LiveStorage:
    """A storage that servers and workers can share."""
    storage = open_storage(url)
    if url.startswith("jsonl://"):
        raise StudyError(f"{url} is a results file for one script. To serve people use sqlite:///study.db.")
    return cast("LiveStorage", storage)


def build_task(spec: Mapping[str, Any], storage: Storage, pool: IntArray | None = None) -> Task:
    """What may be asked in a stored study; loads no learner, so that a web page can start at once."""
    full = check_spec(spec)
    task: Task = build_part("Task", TASKS, full["study"]["task"], {}, _context(full, storage, pool))
    return task


def build_study(spec: Mapping[str, Any], storage: Storage, pool: IntArray | None = None) -> Study:
    """The study that `spec` describes, on a storage that holds it already; `pool` limits what may be asked."""
    full = check_spec(spec)
    context = _context(full, storage, pool)
    queries = full["queries"]
    task = full["study"]["task"]
    learner: Learner = _build_named("Learner", LEARNERS_BY_TASK[task], full["learner"], context)
    strategy: Strategy = _build_named("Strategy", STRATEGIES_BY_TASK[task], full["strategy"], context)
    return Study(
        full["study"]["name"],
        storage,
        build_task(full, storage, pool),
        learner,
        strategy,
        kind=queries["kind"],
        candidates=queries["candidates"],
        first=queries["first"],
        seed=full["study"]["seed"],
        strategy_name=full["strategy"]["name"],
    )


def _context(full: Mapping[str, Any], storage: Storage, pool: IntArray | None) -> dict[str, Any]:
    """What parts may ask for besides their own settings."""
    name, queries = full["study"]["name"], full["queries"]
    kept = storage.items(name)
    return {
        "names": [item.name for item in kept],
        "n_items": len(kept),
        "features": storage.features(name),
        "candidates": queries["candidates"],
        "kind": queries["kind"],
        "classes": queries["classes"],
        "n_classes": len(queries["classes"]),
        "pool_size": queries["pool_size"],
        "pool": pool,
    }


def _build_named(kind: str, table: Mapping[str, str], values: Mapping[str, Any], context: Mapping[str, Any]) -> Any:
    settings = {key: value for key, value in values.items() if key != "name"}
    return build_part(kind, table, values["name"], settings, context)


def create_study(
    items: ItemSet | Sequence[str] | str | Path,
    *,
    features: FloatArray | None = None,
    task: str = "similarity",
    candidates: int = 3,
    kind: str = "nearest",
    classes: Sequence[str] = (),
    learner: str | Mapping[str, Any] = "default",
    strategy: str | Mapping[str, Any] = "info_nn",
    storage: str | Storage = "memory://",
    name: str | None = None,
    seed: int = 0,
    first: int = 20,
    load_if_exists: bool = False,
) -> Study:
    """A new study of `items` (names, an items.csv, a folder of images), ready to `ask` and `tell`.

    `learner` and `strategy` are names, or tables like {"name": "mds", "n_dims": 3}. The first `first` questions are
    random. With `load_if_exists` a stored study of this name and these settings goes on. Task "labels" asks for the
    class of items, one of `classes`, and needs features.
    """
    spec = {
        "study": {"name": name or "study", "task": task, "seed": seed},
        "queries": {"candidates": candidates, "kind": kind, "first": first, "classes": list(classes)},
        "learner": _table_of("learner", learner),
        "strategy": _table_of("strategy", strategy),
    }
    from infonn.datasets.items import as_items

    opened = open_storage(storage) if isinstance(storage, str) else storage
    return start_study(spec, as_items(items, features), opened, load_if_exists)


def _table_of(kind: str, part: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(part, str):
        return {"name": part}
    if isinstance(part, Mapping):
        return dict(part)
    raise StudyError(
        f"{kind} is of type {type(part).__name__}; create_study takes a name, or a table with a name and settings. "
        f"To use your own, set study.{kind} = ... once the study is made."
    )


def start_study(
    spec: Mapping[str, Any],
    items: ItemSet,
    storage: Storage,
    load_if_exists: bool = False,
    pool: IntArray | None = None,
) -> Study:
    """Build the study, so that what is wrong shows first; then put it into the storage, or go on with it."""
    full = check_spec(spec)
    if full["learner"]["name"] == "default":
        full["learner"]["name"] = DEFAULT_LEARNERS[full["study"]["task"], items.features is not None]
    name = full["study"]["name"]
    exists = name in {record.name for record in storage.studies()}
    if exists and not load_if_exists:
        raise StudyError(f'Study "{name}" exists already. Load it with load_if_exists=True, or use another name.')
    if exists:
        check_same_study(name, check_spec(storage.study(name).spec), full)
        check_same_items(name, storage.items(name), items.items)
        return build_study(full, storage, pool)
    from infonn.storage.memory import MemoryStorage

    record = StudyRecord(name, full, full["study"]["seed"], time.time())
    rehearsal = MemoryStorage()
    rehearsal.create_study(record, items.items, items.features)
    build_study(full, rehearsal, pool)
    storage.create_study(record, items.items, items.features)
    return build_study(full, storage, pool)


def read_items(path: str | Path, features: str | Path | None = None) -> ItemSet:
    """Items of a CSV file or a folder of images; `features` names a .npy file."""
    from infonn.datasets.items import load_items

    return load_items(path, features)


def items_of(texts: Sequence[tuple[str, str | None]], features: Sequence[Sequence[float]] | None = None) -> ItemSet:
    """Items from (name, text) pairs, and maybe a row of features for each."""
    from infonn.datasets.items import ItemSet, as_features
    from infonn.records import Item

    rows = None if features is None else as_features(features)
    return ItemSet(tuple(Item(name, text) for name, text in texts), rows)


def new_record(spec: Mapping[str, Any], items: ItemSet) -> StudyRecord:
    """A study's record, checked as far as that goes without loading a learner; whatever is left the worker finds."""
    from infonn.storage.memory import MemoryStorage

    full = check_spec(spec)
    task = full["study"]["task"]
    if task == "labels" and items.features is None:
        raise DataError("Labels are learned from features of the items: numeric columns of items.csv, or a .npy file.")
    if full["learner"]["name"] == "default":
        full["learner"]["name"] = DEFAULT_LEARNERS[task, items.features is not None]
    for kind, table, name in (
        ("Learner", LEARNERS_BY_TASK[task], full["learner"]["name"]),
        ("Strategy", STRATEGIES_BY_TASK[task], full["strategy"]["name"]),
    ):
        if name not in table:
            raise unknown_name(kind, name, table)
    if task == "similarity" and full["strategy"]["name"] in _LIVE_PER_REFERENCE:
        full["strategy"].setdefault("per_reference", True)
    record = StudyRecord(full["study"]["name"], full, full["study"]["seed"], time.time())
    rehearsal = MemoryStorage()
    rehearsal.create_study(record, items.items, items.features)
    build_task(full, rehearsal)
    return record


def load_study(storage: str | Storage, name: str) -> Study:
    """A stored study, built from what the storage holds."""
    opened = open_storage(storage) if isinstance(storage, str) else storage
    return build_study(opened.study(name).spec, opened)
