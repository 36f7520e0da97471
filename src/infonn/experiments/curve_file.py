"""The file that remembers finished curves: one JSON line each, safe on disk before the next begins."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infonn.errors import ResultsFileError
from infonn.experiments.trial import Curve, Probe, Setup


class Journal:
    """Finished curves of one spec. The first line is the spec; a line is only counted when it is whole.

    Every line also says how many seconds went by since the line before, so that a run which is killed loses none but
    those of its unfinished curves. `seconds` is the sum over all sittings.
    """

    def __init__(self, path: Path, curves: list[Curve], seconds: float = 0.0) -> None:
        self.path = path
        self.curves = curves
        self.seconds = seconds
        self._looked = time.perf_counter()

    @classmethod
    def open(cls, path: Path, spec: Mapping[str, Any], *, restart: bool, say: Callable[[str], None] = print) -> Journal:
        """Go on with the file at `path`, or begin it. A file of another spec is refused unless `restart`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = _whole_lines(path, say) if path.exists() and not restart else []
        if not lines:
            _replace(path, _line({"spec": spec}))
            return cls(path, [])
        kept = lines[0].get("spec")
        if kept != spec:
            raise ResultsFileError(
                f"{path} was begun with other settings ({_difference(kept or {}, spec)}). "
                "Use --out for another folder, or --restart to begin afresh."
            )
        curves = [Curve.from_json(line["curve"]) for line in lines[1:] if "curve" in line]
        seconds = sum(line["seconds"] for line in lines[1:] if "seconds" in line)
        if curves:
            say(f"{path} holds {len(curves)} finished curves; going on from there.")
        return cls(path, curves, seconds)

    def keys_of(self, trials: Collection[int]) -> frozenset[str]:
        """Keys of the finished curves of these trials."""
        return frozenset(key_of(curve) for curve in self.curves if curve.trial in trials)

    def add(self, curve: Curve) -> None:
        """Keep a finished curve; it is on disk when this returns."""
        curve = Curve.from_json(plain(curve.to_json()))
        _append(self.path, _line({"curve": curve.to_json(), "seconds": self._since()}))
        self.curves.append(curve)

    def close(self) -> None:
        """Keep the seconds since the last curve."""
        _append(self.path, _line({"seconds": self._since()}))

    def _since(self) -> float:
        """Seconds since the line before, counted once."""
        now = time.perf_counter()
        since, self._looked = round(now - self._looked, 3), now
        self.seconds += since
        return since


def plain(value: Any) -> Any:
    """`value` as JSON knows it: numpy numbers and arrays as Python's, nothing infinite (None instead)."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file in one step: readers see the old file or the new one, never half of it."""
    entries = [f"{json.dumps(key)}: {_one_per_line(value)}" for key, value in plain(data).items()]
    _replace(path, ("{\n" + ",\n".join(entries) + "\n}\n").encode())


def _one_per_line(value: Any) -> str:
    """JSON that diffs well and stays small: each curve and each claim is a line."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(json.dumps(entry, allow_nan=False) for entry in value) + "\n]"
    return json.dumps(value, allow_nan=False)


def key_of(part: Setup | Probe | Curve) -> str:
    """What tells a curve, to be run or finished, from all others of its experiment."""
    learner = part.learner if isinstance(part, Curve) else part.learner_name
    return json.dumps([part.method, str(learner), plain(part.settings), part.trial, part.seed], sort_keys=True)


def check_apart(parts: Sequence[Setup | Probe]) -> None:
    """Refuse curves that could not be told apart in the file."""
    known: set[str] = set()
    for part in parts:
        if key_of(part) in known:
            raise ResultsFileError(
                f"Two curves of trial {part.trial} are called {part.method} / {part.learner_name} / {part.settings}. "
                "Method, learner and settings together must tell the curves of a trial apart."
            )
        known.add(key_of(part))


def _line(data: Any) -> bytes:
    return (json.dumps(plain(data), allow_nan=False) + "\n").encode()


def _append(path: Path, line: bytes) -> None:
    with path.open("ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(path.name + ".new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _whole_lines(path: Path, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """The lines of a journal; a last line that was cut off is dropped from the file, and said so."""
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        say(f"The last line of {path} was cut off; that curve is run again.")
        _replace(path, whole)
    try:
        return [json.loads(line) for line in whole.splitlines()]
    except json.JSONDecodeError as error:
        raise ResultsFileError(
            f"{path} is not a file of curves ({error}). Nothing in it was changed; use --restart to begin afresh."
        ) from error


def _difference(kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The first settings that differ, in words."""

    def flat(spec: Mapping[str, Any]) -> dict[str, Any]:
        settings = spec.get("settings", {})
        return {**{key: value for key, value in spec.items() if key != "settings"}, **settings}

    old, new = flat(kept), flat(wanted)
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return "; ".join(f"{key} was {old.get(key)!r}, now {new.get(key)!r}" for key in changed[:3])
