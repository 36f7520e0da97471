"""`serve.toml`: how a server is set up, as a file; and its limits, from that file or from words NAME=VALUE."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from infonn.errors import DataError, unknown_name
from infonn.web.server import Limits

KEYS: dict[str, type] = {
    "storage": str,
    "host": str,
    "port": int,
    "workers": int,
    "public_url": str,
    "proxy": bool,
    "access_log": str,
}
_LIMITS: dict[str, Any] = {field.name: type(field.default) for field in dataclasses.fields(Limits)}


def read_serve_file(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keys of a `serve.toml`, and its table [limits]; both checked."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} cannot be read as TOML: {error}.") from error
    limits = tables.pop("limits", {})
    if not isinstance(limits, dict):
        raise DataError(f"[limits] of {path} is {limits!r}; it must be a table of names and numbers.")
    if "url" in tables:
        tables["public_url"] = tables.pop("url")
    for key, value in tables.items():
        if key not in KEYS:
            raise unknown_name(f"Key in {path}", key, [*KEYS, "limits"])
        if type(value) is not KEYS[key]:
            raise DataError(f"{key} in {path} is {value!r}; it must be {_WORDS[KEYS[key]]}.")
    return tables, limits


_WORDS = {str: "text", int: "a whole number", bool: "true or false"}


def limits_of(table: Mapping[str, Any], words: Iterable[str] = ()) -> Limits:
    """Limits from a table, changed by words such as `per_client=2`; a rate or number of 0 is no limit."""
    given = dict(table)
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise DataError(f'A limit is written NAME=VALUE, such as per_client=2, and not "{word}".')
        given[name.strip()] = value.strip()
    return Limits(**{name: _number(name, value) for name, value in given.items()})


def _number(name: str, value: Any) -> Any:
    if name not in _LIMITS:
        raise unknown_name("Limit", name, _LIMITS)
    try:
        number = _LIMITS[name](value) if not isinstance(value, bool) else None
    except (TypeError, ValueError):
        number = None
    if number is None or not 0 <= number < 1e15:
        raise DataError(f"Limit {name} is {value!r}; it must be a {_KINDS[_LIMITS[name]]} of 0 or more.")
    return number


_KINDS = {int: "whole number", float: "number"}
