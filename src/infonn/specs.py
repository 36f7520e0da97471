"""A study written as data, and built from it; the only table of names.

`study.toml` has the tables below. A part's own settings stand beside its name; unknown tables, keys and names
are refused with the near miss named.
"""

from __future__ import annotations

import importlib
import inspect
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args, get_type_hints

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.errors import DataError, InfonnError, MissingPartError, StudyError, unknown_name
from infonn.framework import Learner, LiveStorage, Storage, Strategy, Task
from infonn.queries import Kind
from infonn.records import StudyRecord
from infonn.study import Study, check_same_items, check_same_study

if TYPE_CHECKING:
    from infonn.datasets.items import ItemSet

TASKS = {
    "similarity": "infonn.tasks.similarity:SimilarityTask",
    "labels": "infonn.tasks.labels:LabelTask",
}
LEARNERS = {
    "mds": "infonn.learners.mds:MDS",
    "posterior": "infonn.learners.choice:posterior",
    "network": "infonn.learners.network:network",
}
CLASS_LEARNERS = {  # for task "labels"
    "logistic": "infonn.learners.classifier:SklearnClassifier",
    "head": "infonn.learners.heads:Head",
}
LEARNERS_BY_TASK = {"similarity": LEARNERS, "labels": CLASS_LEARNERS}
STRATEGIES = {
    "random": "infonn.selection.strategies:random",
    "info_nn": "infonn.selection.strategies:info_nn",
    "info_nn_distances": "infonn.selection.strategies:info_nn_distances",
    "info_nn_embedding": "infonn.selection.strategies:info_nn_embedding",
    "info_nn_joint": "infonn.selection.joint:info_nn_joint",
    "info_nn_pairwise": "infonn.selection.joint:info_nn_pairwise",
    "info_nn_gaussian": "infonn.selection.joint:info_nn_gaussian",
    "info_nn_targets": "infonn.selection.joint:info_nn_targets",
    "info_ranking": "infonn.selection.strategies:info_ranking",
    "entropy": "infonn.selection.strategies:entropy",
    "random_triplets": "infonn.selection.triplet_batches:random_triplets",
    "batch_euclidean": "infonn.selection.triplet_batches:batch_euclidean",
    "batch_centroid": "infonn.selection.triplet_batches:batch_centroid",
    "batch_gradient": "infonn.selection.triplet_batches:batch_gradient",
}
CLASS_STRATEGIES = {  # for task "labels"
    "random": "infonn.selection.strategies:random",
    "info_nn": "infonn.selection.class_strategies:info_nn",
    "entropy": "infonn.selection.class_strategies:entropy",
    "margin": "infonn.selection.class_strategies:margin",
    "bald": "infonn.selection.class_strategies:bald",
    "batch_bald": "infonn.selection.class_strategies:batch_bald",
    "power_bald": "infonn.selection.class_strategies:power_bald",
    "k_center": "infonn.selection.class_strategies:k_center",
    "badge": "infonn.selection.class_strategies:badge",
    "typicality": "infonn.selection.class_strategies:typicality",
}
STRATEGIES_BY_TASK = {"similarity": STRATEGIES, "labels": CLASS_STRATEGIES}
DATASETS = {
    "food73": "infonn.datasets.named:food73",
    "alien_eggs": "infonn.datasets.named:alien_eggs",
    "gaussian": "infonn.datasets.named:gaussian",
    "mahalanobis": "infonn.datasets.named:mahalanobis",
}
STORAGES = {
    "memory": "infonn.storage.memory:MemoryStorage",
    "jsonl": "infonn.storage.journal:JournalStorage",
    "sqlite": "infonn.storage.sql:SqlStorage",
    "postgresql": "infonn.storage.sql:SqlStorage",
    "postgresql+psycopg": "infonn.storage.sql:SqlStorage",
}
DEFAULT_LEARNERS = {  # by task, and by whether the items bring features
    ("similarity", False): "posterior",
    ("similarity", True): "posterior",
    ("labels", False): "logistic",  # refuses items without features in its own words
    ("labels", True): "logistic",
}

SPEC: dict[str, dict[str, Any]] = {
    "study": {"name": "study", "task": "similarity", "seed": 0},
    "items": {"file": "", "dataset": "", "features": ""},
    "queries": {"candidates": 3, "kind": "nearest", "first": 20, "pool_size": 20_000, "classes": []},
    "learner": {"name": "default"},
    "strategy": {"name": "info_nn"},
    "budget": {"answers": 300, "batch": 10},
    "oracle": {"name": ""},
    "people": {
        "title": "",
        "question": "",  # asked above every question; empty for the page's own words
        "instructions": "",  # Markdown
        "consent": "",  # Markdown
        "thanks": "",  # Markdown, on the last page
        "language": "en",
        "hold_out": 0.12,  # share of random questions that never train, for an unbiased accuracy
        "at_random": 0.0,  # share of the questions that train which are random, to compare the chosen ones with
        "overlap": 1,  # people who are asked the same query
        "repeats": False,  # whether one person may be asked the same query again
        "per_person": 0,  # questions for each person; 0 for no limit
        "lease_s": 600.0,  # after this an unanswered question goes to somebody else
        "prefetch": 2,  # questions a page holds beside the one on the screen
        "practice": [],  # {reference, candidates, expected}, by item name
        "catch": [],  # {position, reference, candidates, expected}
        "completion_code": "",
        "completion_url": "",
    },
}
# People answer at the same time, and the best queries of one moment resemble each other: one per reference, then.
_LIVE_PER_REFERENCE = ("info_nn", "info_nn_distances", "info_nn_embedding", "entropy")
_OPEN_TABLES = ("items", "learner", "strategy", "oracle")  # these also hold the part's own settings


# --- names to parts --------------------------------------------------------------------------------


def load_part(kind: str, table: Mapping[str, str], name: str) -> Any:
    """What `name` stands for; the part is imported here and nowhere earlier."""
    if name not in table:
        raise unknown_name(kind, name, table)
    module, _, attribute = table[name].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "torch":
            raise MissingPartError(f'{kind} "{name}" needs torch: pip install "infonn[deep]".') from error
        raise


def build_part(
    kind: str,
    table: Mapping[str, str],
    name: str,
    settings: Mapping[str, Any],
    context: Mapping[str, Any],
) -> Any:
    """The part, made from its settings and whatever of `context` (items, features, ...) it asks for."""
    part = load_part(kind, table, name)
    parameters = inspect.signature(part).parameters
    allowed = [key for key in setting_names(part) if key not in context]
    for key in settings:
        if key not in allowed:
            raise unknown_name(f'Setting of {kind.lower()} "{name}"', key, allowed)
    given = {key: value for key, value in context.items() if key in parameters}
    try:
        return part(**given, **settings)
    except (TypeError, ValueError) as error:
        if isinstance(error, InfonnError):
            raise
        raise StudyError(f'{kind} "{name}" cannot be made with {dict(settings)}: {error}') from error


def setting_names(part: Callable[..., Any]) -> list[str]:
    """The names of what a part takes; `**settings: Unpack[Settings]` stands for all keys of `Settings`."""
    names: list[str] = []
    for name, parameter in inspect.signature(part).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            names += get_type_hints(part)[name].__args__[0].__annotations__
        else:
            names.append(name)
    return names


def describe(kind: str, table: Mapping[str, str]) -> dict[str, str]:
    """Name -> first line of the part's docstring, or what has to be installed for it."""

    def line(name: str) -> str:
        try:
            return (inspect.getdoc(load_part(kind, table, name)) or "").splitlines()[0]
        except MissingPartError as error:
            return str(error)

    return {name: line(name) for name in table}


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


# --- studies as data -------------------------------------------------------------------------------


def read_spec(path: str | Path) -> dict[str, dict[str, Any]]:
    """The tables of a `study.toml`, checked and with defaults filled in."""
    try:
        with Path(path).open("rb") as file:
            return check_spec(tomllib.load(file))
    except FileNotFoundError:
        raise DataError(f"{path} does not exist. `infonn run` takes a study written as TOML.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as a study written as TOML: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path} is not TOML: {error}.") from None


def check_spec(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """`spec` with defaults filled in; unknown tables, keys and kinds of values are refused."""
    full = deepcopy(SPEC)
    for table, values in spec.items():
        if table not in SPEC:
            raise unknown_name("Table", table, SPEC)
        if not isinstance(values, Mapping):
            raise DataError(f"[{table}] is {values!r}; it must be a table of keys and values.")
        for key, given in values.items():
            if key not in SPEC[table] and table not in _OPEN_TABLES:
                raise unknown_name(f"Key in [{table}]", key, SPEC[table])
            default = SPEC[table].get(key)
            value = given.item() if isinstance(given, np.generic) else given  # numbers of numpy, from a script
            if default is not None and not _same_type(value, default):
                raise DataError(
                    f"[{table}] {key} is {value!r}; it must be a {_TYPE_WORDS[type(default)]}, like {default!r}."
                )
            full[table][key] = value
            least = _LEAST.get((table, key))
            if least is not None and not least <= value < _TOO_LARGE:
                raise DataError(f"[{table}] {key} is {value}; it must be from {least} to {_TOO_LARGE - 1}.")
    task = full["study"]["task"]
    if task not in TASKS:
        raise unknown_name("Task", task, TASKS)
    if task == "labels":
        full["queries"]["kind"] = "label"
    if full["queries"]["kind"] not in get_args(Kind):
        raise unknown_name("Kind of question", full["queries"]["kind"], get_args(Kind))
    return full


_LEAST = {  # (table, key) -> smallest value that makes sense
    ("study", "seed"): 0,
    ("queries", "first"): 0,
    ("queries", "pool_size"): 1,
    ("budget", "answers"): 1,
    ("budget", "batch"): 1,
}
_TOO_LARGE = 2**63  # for a column of the database


_TYPE_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", list: "list"}


def _same_type(value: Any, default: Any) -> bool:
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(default)


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
