"""Published results as they lie in `results/`: one folder per experiment."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infonn.errors import DataError
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
    def made(self) -> str:
        """How, on what and for how long."""
        data, machine = self.data, self.data.get("machine", {})
        trials = len({curve.trial for curve in self.curves})
        where = ", ".join(str(machine[key]) for key in ("device", "system") if machine.get(key))
        cores = f"{machine['cores']} cores" if machine.get("cores") else ""
        return (
            f"{data['preset']} preset, {trials} trial{'s' * (trials != 1)}, {_duration(data.get('seconds', 0))} on "
            f"{', '.join(part for part in (where, cores) if part)}"
        )

    def experiment(self) -> Experiment:
        """The experiment that made it."""
        return experiment_named(self.name)


def read_results(folder: Path) -> dict[str, Result]:
    """Every experiment that has a results.json in `folder`, by name."""
    found = {}
    for path in sorted(folder.glob("*/results.json")):
        content = path.read_bytes()
        try:
            data = json.loads(content)
            curves = [Curve.from_json(curve) for curve in data["curves"]]
            name = data["experiment"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is not a file of results ({error!r}).") from error
        found[name] = Result(name, data, curves, hashlib.sha256(content).hexdigest()[:12])
    return found


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
