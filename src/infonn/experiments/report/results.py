"""Published results as they lie in `results/`: one folder per experiment."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infonn.errors import DataError
from infonn.experiments.curve_file import plain, write_json
from infonn.experiments.table import EXPERIMENTS, experiment_named
from infonn.experiments.trial import Curve

if TYPE_CHECKING:
    from infonn.experiments.sweep import Experiment


@dataclass(frozen=True)
class Result:
    """One results.json: its curves, and what it says of itself. `digest` names this very file."""

    name: str
    data: dict[str, Any]
    curves: list[Curve]
    digest: str
    again: Result | None = None  # a second run of the same seeds, kept as again.json

    @property
    def title(self) -> str:
        """What the experiment shows, in a line."""
        title = self.data.get("title") or EXPERIMENTS.get(self.name, ("", self.name))[1]
        return str(title)

    @property
    def claims(self) -> list[dict[str, Any]]:
        return list(self.data["claims"])

    @property
    def notes(self) -> list[str]:
        """What a reader should know: kept with the results, or else as the experiment says today."""
        return list(self.data.get("notes") or [])

    @property
    def trials(self) -> int:
        """How many trials it has."""
        return len({curve.trial for curve in self.curves})

    @property
    def machine(self) -> str:
        """On what it ran."""
        machine = self.data.get("machine", {})
        where = [str(machine[key]) for key in ("device", "system") if machine.get(key)]
        return ", ".join([*where, *([f"{machine['cores']} cores"] if machine.get("cores") else [])])

    @property
    def made(self) -> str:
        """How, on what and for how long."""
        trials = f"{self.trials} trial{'s' * (self.trials != 1)}"
        return f"{self.data['preset']} preset, {trials}, {_duration(self.data.get('seconds', 0))} on {self.machine}"

    def experiment(self) -> Experiment:
        """The experiment that made it."""
        return experiment_named(self.name)


def read_results(folder: Path) -> dict[str, Result]:
    """Every experiment that has a results.json in `folder`, by name; with its second run, where there is one."""
    found = {}
    for path in sorted(folder.glob("*/results.json")):
        result, second = _read(path), path.with_name("again.json")
        found[result.name] = replace(result, again=_read(second)) if second.exists() else result
    return found


def _read(path: Path) -> Result:
    content = path.read_bytes()
    try:
        data = json.loads(content)
        curves = [Curve.from_json(curve) for curve in data["curves"]]
        return Result(data["experiment"], data, curves, hashlib.sha256(content).hexdigest()[:12])
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not a file of results ({error!r}).") from error


def judge_again(folder: Path) -> list[str]:
    """Judge the claims of every result in `folder` by the code of today; gives the names of those that changed."""
    changed = []
    for name, result in read_results(folder).items():
        claims = plain([vars(claim) for claim in result.experiment().claims(result.curves)])
        if claims != result.claims:
            write_json(folder / name / "results.json", {**result.data, "claims": claims})
            changed.append(name)
    return changed


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
