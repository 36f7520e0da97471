"""Every experiment by name. A module is imported when its experiment is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from infonn.errors import unknown_name

if TYPE_CHECKING:
    from infonn.experiments.sweep import Experiment

EXPERIMENTS = {  # name: (module:object, what it shows)
    "mds-random": ("infonn.experiments.paper.mds_random:EXPERIMENT", "MDS: chosen against random NN queries"),
    "mds-random-variants": ("infonn.experiments.paper.mds_random:VARIANTS", "MDS: the same, read in two other ways"),
    "mds-ranking": ("infonn.experiments.paper.mds_ranking:EXPERIMENT", "MDS: NN queries against rankings"),
    "dml-synthetic": ("infonn.experiments.paper.dml_synthetic:EXPERIMENT", "Networks: a hidden metric, noisy answers"),
    "dml-food73": ("infonn.experiments.paper.dml_food73:EXPERIMENT", "Networks: how 73 dishes taste"),
    "dml-synthetic-variants": ("infonn.experiments.paper.dml_variants:SYNTHETIC", "Networks: raw features, validation"),
    "dml-food73-variants": ("infonn.experiments.paper.dml_variants:FOOD", "Networks: raw features, validation"),
    "dml-admissions": ("infonn.experiments.paper.dml_admissions:EXPERIMENT", "Networks: a ranking of applicants"),
    "food73-map": ("infonn.experiments.paper.dml_maps:FOOD", "Networks: maps of the dishes"),
    "admissions-map": ("infonn.experiments.paper.dml_maps:ADMISSIONS", "Networks: maps of the applicants"),
    "mnist": ("infonn.experiments.paper.mnist:EXPERIMENT", "Labels: handwritten digits"),
    "mnist-published": ("infonn.experiments.paper.mnist:AS_PUBLISHED", "Labels: the same, trained as published"),
    "mnist-clustering": ("infonn.experiments.paper.mnist:CLUSTERING", "Labels: Info-NN with and without clusters"),
    "mnist-query-length": ("infonn.experiments.paper.mnist:QUERY_LENGTH", "Labels: classes that a query compares"),
    "mnist-selected": ("infonn.experiments.paper.mnist_selected:EXPERIMENT", "Labels: what three methods ask for"),
    "cifar10": ("infonn.experiments.paper.cifar10:EXPERIMENT", "Labels: small photographs"),
    "cifar10-query-length": ("infonn.experiments.paper.cifar10:QUERY_LENGTH", "Labels: classes that a query compares"),
    "svhn": ("infonn.experiments.paper.cifar10:SVHN", "Labels: house numbers"),
    "digits": ("infonn.experiments.paper.digits:EXPERIMENT", "Labels: small digits that need no file"),
    "label-accuracy": (
        "infonn.experiments.labels.accuracy:EXPERIMENT",
        "Labels: whether the accuracy that is told is true",
    ),
    "label-panel": ("infonn.experiments.labels.panel:EXPERIMENT", "Labels: the panel that decides the default"),
    "beyond-mds": ("infonn.experiments.beyond.mds:EXPERIMENT", "Beyond: points without features"),
    "beyond-synthetic": ("infonn.experiments.beyond.synthetic:EXPERIMENT", "Beyond: a hidden metric of the features"),
    "beyond-food73": ("infonn.experiments.beyond.food73:EXPERIMENT", "Beyond: how 73 dishes taste"),
    "beyond-eggs": ("infonn.experiments.beyond.eggs:EXPERIMENT", "Beyond: alien eggs, judged by people"),
    "beyond-features": ("infonn.experiments.beyond.features:EXPERIMENT", "Beyond: what features are worth"),
    "beyond-ablation": (
        "infonn.experiments.beyond.ablation:EXPERIMENT",
        "Beyond: what each part of the default brings",
    ),
    "beyond-ceilings": ("infonn.experiments.beyond.ceilings:EXPERIMENT", "Beyond: how far the ceilings are"),
    "beyond-search": ("infonn.experiments.beyond.search:EXPERIMENT", "Beyond: questions searched for, beside a pool"),
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
