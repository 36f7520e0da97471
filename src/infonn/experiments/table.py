"""Every experiment by name. A module is imported when its experiment is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from infonn.errors import unknown_name

if TYPE_CHECKING:
    from infonn.experiments.sweep import Experiment

EXPERIMENTS = {  # name: (module:object, what it shows)
    "mds-random": ("infonn.experiments.paper.mds_random:EXPERIMENT", "MDS: chosen against random NN queries"),
    "mds-ranking": ("infonn.experiments.paper.mds_ranking:EXPERIMENT", "MDS: NN queries against rankings"),
    "timing": ("infonn.experiments.paper.timing:EXPERIMENT", "Seconds to score all queries of one reference"),
}


def location(name: str) -> str:
    """Where the experiment of that name is, as "module:object", or an error that names the near miss."""
    if name not in EXPERIMENTS:
        raise unknown_name("Experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name][0]


def load(location: str) -> Experiment:
    """The experiment at "module:object"."""
    module, _, attribute = location.partition(":")
    experiment: Experiment = getattr(import_module(module), attribute)
    return experiment


def experiment_named(name: str) -> Experiment:
    """The experiment of that name."""
    return load(location(name))
