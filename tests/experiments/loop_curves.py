"""Three short trials whose curves every way to run the loop must give: `python tests/experiments/loop_curves.py` keeps
them anew. Whoever changes a learner or a strategy renews the file and says so in the commit."""

import json
from pathlib import Path
from typing import Any

import llvmlite.binding

from infonn.experiments.beyond import food73, mds
from infonn.experiments.paper import digits
from infonn.experiments.sweep import Plan
from infonn.experiments.trial import Setup, run_setups

FILE = Path(__file__).parent / "files" / "loop_curves.json"

SETTINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "mds": (mds.EXPERIMENT, {"rounds": 8}),
    "food73": (food73.EXPERIMENT, {"n_train": 2000, "n_test": 2000, "rounds": 3, "epochs": 10, "n_draws": 64}),
    "digits": (digits.EXPERIMENT, {"rounds": 3, "members": 2, "methods": ("Random", "PowerBALD", "Info-NN-3")}),
}


def setups(name: str) -> list[Setup]:
    """The setups of one short trial, a curve each."""
    experiment, settings = SETTINGS[name]
    plan = Plan(experiment.settings("smoke") | settings, seed=7)
    return [setup for setup in experiment.build(plan, 0) if isinstance(setup, Setup)]


def processor() -> str:
    """What the last digits of floating-point sums depend on."""
    return f"{llvmlite.binding.get_host_cpu_name()}"


if __name__ == "__main__":
    curves = {name: [curve.to_json() for curve in run_setups(setups(name))] for name in SETTINGS}
    FILE.write_text(json.dumps({"processor": processor(), "curves": curves}, indent=1) + "\n")
