"""Studies built from their settings, new or stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.loop import Learner, Strategy, Task
from infonn.contracts.storage import LiveStorage, Storage
from infonn.errors import DataError, StudyError
from infonn.records import StudyRecord
from infonn.specs.compiling import compile_in_background, wait_for_kernels
from infonn.specs.registry import (
    DEFAULT_LEARNERS,
    DEFAULT_STRATEGIES,
    OWN,
    STORAGES,
    TASKS,
    Part,
    build_part,
    check_name,
    learners_of,
    load_part,
    strategies_of,
)
from infonn.specs.settings import LearnerTable, Settings, StrategyTable, check_settings
from infonn.study import Study, check_same_items, check_same_study

if TYPE_CHECKING:
    from infonn.datasets.items import ItemSet

# People answer at the same time, and the best queries of one moment resemble each other: one per reference, then.
_LIVE_PER_REFERENCE = ("info_nn", "info_nn_distances", "info_nn_embedding", "entropy")


# --- storages --------------------------------------------------------------------------------------


def open_storage(url: str) -> Storage:
    """`memory://`, `jsonl:///results.jsonl`, `sqlite:///study.db`, or `postgresql+psycopg://user@host/database`."""
    scheme, path = _scheme(url)
    part: Callable[..., Storage] = load_part("Storage", STORAGES, scheme)
    if scheme in ("memory", "jsonl"):
        return part(path.removeprefix("/")) if path else part()
    return part(url)


def open_live_storage(url: str) -> LiveStorage:
    """A storage that servers and workers can share."""
    scheme, _ = _scheme(url)
    if scheme == "jsonl":
        raise StudyError(f"{url} is a results file for one script. To serve people use sqlite:///study.db.")
    part: Callable[..., LiveStorage] = load_part("Storage", STORAGES, scheme)
    return part() if scheme == "memory" else part(url)


def _scheme(url: str) -> tuple[str, str]:
    scheme, separator, path = url.partition("://")
    if not separator:
        raise StudyError(f'Storage "{url}" is no URL. Examples: memory://, sqlite:///study.db, jsonl:///results.jsonl.')
    return scheme, path


# --- stored studies --------------------------------------------------------------------------------


def build_task(spec: Mapping[str, Any], storage: Storage, pool: IntArray | None = None) -> Task:
    """What may be asked in a stored study; loads no learner, so that a web page can start at once."""
    settings = check_settings(spec)
    task: Task = build_part("Task", TASKS, settings.study.task, {}, _context(settings, storage, pool))
    return task


def build_study(
    spec: Mapping[str, Any],
    storage: Storage,
    pool: IntArray | None = None,
    *,
    learner: Learner | None = None,
    strategy: Strategy | None = None,
) -> Study:
    """The study that `spec` describes, on a storage that holds it already; `pool` limits what may be asked.

    `learner` and `strategy` are parts of one's own, for a study that was made with such.
    """
    settings = check_settings(spec)
    task, context = settings.study.task, _context(settings, storage, pool)
    learners, strategies = learners_of(task), strategies_of(task)
    return Study(
        settings.study.name,
        storage,
        build_task(spec, storage, pool),
        learner or _build_named("Learner", learners, _named(settings, "learner", context), context),
        strategy or _build_named("Strategy", strategies, _named(settings, "strategy", context), context),
        kind=settings.queries.kind,
        candidates=settings.queries.candidates,
        first=settings.queries.first,
        seed=settings.study.seed,
        strategy_name=settings.strategy.name,
        resolve=settings.people.resolve,
    )


def load_study(
    storage: str | Storage, name: str, *, learner: Learner | None = None, strategy: Strategy | None = None
) -> Study:
    """A stored study, built from what the storage holds; parts of one's own have to be given again."""
    opened = open_storage(storage) if isinstance(storage, str) else storage
    return _compiling(build_study(opened.study(name).spec, opened, learner=learner, strategy=strategy))


def _compiling(study: Study) -> Study:
    """The study, whose kernels are compiled in the background where they are not yet."""
    if type(study.learner).__module__.startswith("infonn.learners.posterior."):
        compile_in_background()
        study.wait_until_ready = wait_for_kernels
    return study


def _context(settings: Settings, storage: Storage, pool: IntArray | None) -> dict[str, Any]:
    """What parts may ask for besides their own settings."""
    name, queries = settings.study.name, settings.queries
    stored = storage.items(name)
    features = features_of(settings, storage, len(stored))
    return {
        "names": [item.name for item in stored],
        "n_items": len(stored),
        "features": features,
        "original": _originals(features) if settings.study.task == "labels" else None,
        "candidates": queries.candidates,
        "kind": queries.kind,
        "classes": queries.classes,
        "n_classes": len(queries.classes),
        "pool_size": queries.pool_size,
        "pool": pool,
    }


def features_of(settings: Settings, storage: Storage, n_items: int) -> FloatArray | None:
    """The items' features: those in the storage, or the file that the study maps."""
    if not settings.items.mapped:
        return storage.features(settings.study.name)
    from infonn.datasets.items import load_features

    features = load_features(settings.items.mapped)
    if features.ndim != 2 or len(features) != n_items:
        raise DataError(
            f"{settings.items.mapped} has shape {features.shape} by now, and the study has {n_items} items: it is the "
            "study's file of features, one row per item."
        )
    return features


def _originals(features: FloatArray | None) -> IntArray | None:
    """Which item stands for each item and its copies; None where there are no copies."""
    if features is None or features.ndim != 2:
        return None
    from infonn.maths.holdout import copy_groups, originals

    groups = copy_groups(features)
    return originals(groups) if len(groups) and int(groups.max()) + 1 < len(groups) else None


def _named(settings: Settings, part: str, context: Mapping[str, Any]) -> LearnerTable | StrategyTable:
    """The part's table with the name that "default" stands for here."""
    table: LearnerTable | StrategyTable = getattr(settings, part)
    if table.name == OWN:
        raise StudyError(
            f'Study "{settings.study.name}" was made with a {part} of its own ({table.settings.get("made_by", "?")}). '
            f"Give it again: load_study(storage, name, {part}=...), or create_study(..., load_if_exists=True)."
        )
    return _without_default(settings, part, context["features"] is not None)


def _without_default(settings: Settings, part: str, has_features: bool) -> LearnerTable | StrategyTable:
    table: LearnerTable | StrategyTable = getattr(settings, part)
    task = settings.study.task
    default = DEFAULT_LEARNERS[task, has_features] if part == "learner" else DEFAULT_STRATEGIES[task]
    return table.model_copy(update={"name": default}) if table.name == "default" else table


def _build_named(
    kind: str, table: Mapping[str, Part], values: LearnerTable | StrategyTable, context: Mapping[str, Any]
) -> Any:
    return build_part(kind, table, values.name, values.settings, context)


# --- new studies -----------------------------------------------------------------------------------


def create_study(
    items: ItemSet | Sequence[str] | str | Path,
    *,
    features: FloatArray | None = None,
    task: str = "similarity",
    candidates: int | None = None,
    kind: str = "nearest",
    classes: Sequence[str] = (),
    learner: str | Mapping[str, Any] | Learner = "default",
    strategy: str | Mapping[str, Any] | Strategy = "default",
    storage: str | Storage = "memory://",
    name: str | None = None,
    seed: int = 0,
    first: int = 20,
    pool: IntArray | None = None,
    pool_size: int = 20_000,
    load_if_exists: bool = False,
) -> Study:
    """A new study of `items` (names, an items.csv, a folder of images), ready to `ask` and `tell`.

    `learner` and `strategy` are names, tables like {"name": "mds", "dims": 3}, or objects of your own. The first
    `first` questions are random: 20, or none where a strategy for labels begins by itself. What may be asked is `pool`
    (rows of queries), or else drawn, `pool_size` at a time.
    With `load_if_exists` a stored study of this name and these settings goes on. Task "labels" asks for the class of
    items, one of `classes`, and needs features. A question has 3 `candidates` unless you say otherwise, and is of
    `kind` "nearest", "ranking" or "odd_one_out": which of three items does not belong?
    """
    from infonn.datasets.items import as_items

    queries: dict[str, Any] = {"kind": kind, "pool_size": pool_size, "classes": list(classes)}
    if first is not None:
        queries["first"] = first  # else as many as the strategy needs
    if candidates is not None:
        queries["candidates"] = candidates
    spec = {
        "study": {"name": name or "study", "task": task, "seed": seed},
        "queries": queries,
        "learner": _table_of("learner", learner),
        "strategy": _table_of("strategy", strategy),
    }
    opened = open_storage(storage) if isinstance(storage, str) else storage
    made = start_study(
        spec,
        as_items(items, features),
        opened,
        load_if_exists,
        pool,
        learner=None if isinstance(learner, str | Mapping) else learner,
        strategy=None if isinstance(strategy, str | Mapping) else strategy,
    )
    return _compiling(made)


_STEPS = {"learner": "fit", "strategy": "choose"}


def _table_of(kind: str, part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"name": part}
    if isinstance(part, Mapping):
        return dict(part)
    if not hasattr(part, _STEPS[kind]) or isinstance(part, type):
        raise StudyError(
            f"{kind} is {part!r}; create_study takes a name, a table with a name and settings, or an object with the "
            f"method {_STEPS[kind]}."
        )
    return {"name": OWN, "made_by": type(part).__qualname__}


def start_study(
    spec: Mapping[str, Any],
    items: ItemSet,
    storage: Storage,
    load_if_exists: bool = False,
    pool: IntArray | None = None,
    *,
    learner: Learner | None = None,
    strategy: Strategy | None = None,
) -> Study:
    """Build the study, so that what is wrong shows first; then put it into the storage, or go on with it."""
    settings = check_settings(spec)
    name = settings.study.name
    exists = name in {record.name for record in storage.studies()}
    if exists and not load_if_exists:
        raise StudyError(f'Study "{name}" exists already. Load it with load_if_exists=True, or use another name.')
    if exists:
        stored = check_settings(storage.study(name).spec)
        settings = _as_stored(spec, settings, stored)
        check_same_study(name, stored.as_tables(), settings.as_tables())
        check_same_items(name, storage.items(name), items.items)
        return build_study(settings.as_tables(), storage, pool, learner=learner, strategy=strategy)
    record = _record(_with_names(settings, items.features is not None))
    build_study(record.spec, _try_out(record, items), pool, learner=learner, strategy=strategy)
    storage.create_study(record, items.items, None if settings.items.mapped else items.features)
    return build_study(record.spec, storage, pool, learner=learner, strategy=strategy)


def new_record(spec: Mapping[str, Any], items: ItemSet) -> StudyRecord:
    """A study's record, checked as far as that goes without loading a learner; whatever is left the worker finds."""
    settings = check_settings(spec)
    task = settings.study.task
    if task == "labels" and items.features is None:
        raise DataError("Labels are learned from features of the items: numeric columns of items.csv, or a .npy file.")
    settings = _with_names(settings, items.features is not None)
    for kind, table, name in (
        ("Learner", learners_of(task), settings.learner.name),
        ("Strategy", strategies_of(task), settings.strategy.name),
    ):
        check_name(kind, table, name)
    record = _record(settings)
    has_reference = task == "similarity" and settings.queries.kind != "odd_one_out"
    if has_reference and settings.strategy.name in _LIVE_PER_REFERENCE:
        record.spec["strategy"].setdefault("per_reference", True)  # type: ignore[index]
    build_task(record.spec, _try_out(record, items))
    return record


def _with_names(settings: Settings, has_features: bool) -> Settings:
    """What "default" stands for today is what the study keeps."""
    named = {part: _without_default(settings, part, has_features) for part in ("learner", "strategy")}
    return settings.model_copy(update=named)


def _as_stored(given: Mapping[str, Any], settings: Settings, stored: Settings) -> Settings:
    """What was left to us is as the study was made, even if the default is another today."""
    left: dict[str, Any] = {
        part: getattr(stored, part) for part in ("learner", "strategy") if getattr(settings, part).name == "default"
    }
    if "first" not in given.get("queries", {}):
        left["queries"] = settings.queries.model_copy(update={"first": stored.queries.first})
    return settings.model_copy(update=left)


def _record(settings: Settings) -> StudyRecord:
    return StudyRecord(settings.study.name, settings.as_tables(), settings.study.seed, time.time())


def _try_out(record: StudyRecord, items: ItemSet) -> Storage:
    """A storage in memory that holds the study, to find out whether it can be built."""
    from infonn.storage.memory import MemoryStorage

    storage = MemoryStorage()
    storage.create_study(record, items.items, items.features)
    return storage


# --- items -----------------------------------------------------------------------------------------


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
