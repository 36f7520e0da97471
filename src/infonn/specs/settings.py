"""The tables of `study.toml`: their keys, defaults and ranges; unknown ones are refused with the near miss named."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import numpy as np

from infonn.errors import DataError, unknown_name
from infonn.queries import Kind
from infonn.specs.registry import TASKS

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
_OPEN_TABLES = ("items", "learner", "strategy", "oracle")  # these also hold the part's own settings


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
