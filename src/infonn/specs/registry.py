"""Names to parts, as strings: a part is imported when it is asked for, and never earlier.

Parts of one's own come in three ways: as objects (`create_study(strategy=mine)`), by name for a script or notebook
(`register_strategy`, `register_learner`), or by name from an installed package, through the entry points
`infonn.strategies` and `infonn.learners`; there a name that begins with "labels." is for task "labels".
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from infonn.errors import InfonnError, MissingPartError, StudyError, unknown_name

TASKS = {
    "similarity": "infonn.tasks.similarity:SimilarityTask",
    "labels": "infonn.tasks.labels:LabelTask",
}
LEARNERS = {
    "mds": "infonn.learners.mds:MDS",
    "posterior": "infonn.learners.posterior.learner:posterior",
    "network": "infonn.learners.networks.network:network",
    "network_laplace": "infonn.learners.networks.laplace:network_laplace",
}
CLASS_LEARNERS = {  # for task "labels"
    "bayes_logistic": "infonn.learners.classifiers.bayes_logistic:BayesLogistic",
    "logistic": "infonn.learners.classifiers.sklearn_classifier:SklearnClassifier",
    "head": "infonn.learners.classifiers.heads:Head",
    "own_model": "infonn.learners.classifiers.own_model:own_model",
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
    "typical_margin": "infonn.selection.class_strategies:typical_margin",
    "info_nn": "infonn.selection.class_strategies:info_nn",
    "entropy": "infonn.selection.class_strategies:entropy",
    "info_nn_draws": "infonn.selection.class_strategies:info_nn_draws",
    "margin": "infonn.selection.class_strategies:margin",
    "margin_spread": "infonn.selection.class_strategies:margin_spread",
    "epig": "infonn.selection.class_strategies:epig",
    "parbals": "infonn.selection.class_strategies:parbals",
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
    "digits": "infonn.datasets.named:digits",
}
STORAGES = {
    "memory": "infonn.storage.memory:MemoryStorage",
    "jsonl": "infonn.storage.jsonl:JsonlStorage",
    "sqlite": "infonn.storage.sql:SqlStorage",
    "postgresql": "infonn.storage.sql:SqlStorage",
    "postgresql+psycopg": "infonn.storage.sql:SqlStorage",
}
DEFAULT_LEARNERS = {  # by task, and by whether the items bring features; panels of data decide (docs/selection.md)
    ("similarity", False): "posterior",
    ("similarity", True): "posterior",
    ("labels", False): "bayes_logistic",  # refuses items without features in its own words
    ("labels", True): "bayes_logistic",
}
DEFAULT_STRATEGIES = {"similarity": "info_nn", "labels": "typical_margin"}  # by task
EARLIER_NAMES = {"n_dims": "dims"}  # settings of parts as version 0.1 called them
NEIGHBOURS = {  # "skactiveml:UncertaintySampling", "cblearn:SOE": (kind, prefix) -> what turns the rest into a part
    ("Strategy", "skactiveml"): "infonn.adapters.scikit_activeml:strategy_part",
    ("Learner", "cblearn"): "infonn.adapters.cblearn:learner_part",
}
OWN = "own"  # the name under which a part given as an object is stored

Part = str | Callable[..., Any]  # "module:attribute", or what makes the part
_PLUGINS = {"Strategy": "infonn.strategies", "Learner": "infonn.learners"}
_registered: dict[tuple[str, str], dict[str, Part]] = {}  # (kind, task) -> name -> part


def register_strategy(name: str, make: Callable[..., Any], task: str = "similarity") -> None:
    """Let `name` stand for a strategy in this process: `make(**settings)` gives it, asking for `n_items` and the like.

    `make` may have any of the parameters names, n_items, features, candidates, kind, classes, n_classes, pool_size
    and pool, which the study fills in; its other parameters are settings.
    """
    _register("Strategy", STRATEGIES_BY_TASK, name, make, task)


def register_learner(name: str, make: Callable[..., Any], task: str = "similarity") -> None:
    """Let `name` stand for a learner in this process; as `register_strategy`."""
    _register("Learner", LEARNERS_BY_TASK, name, make, task)


def _register(kind: str, ours: Mapping[str, Mapping[str, str]], name: str, make: Part, task: str) -> None:
    if task not in ours:
        raise unknown_name("Task", task, ours)
    if name in ours[task] or name in ("default", OWN):
        raise StudyError(f'{kind} "{name}" is one of infonn\'s own names. Choose another.')
    if not callable(make):
        raise StudyError(
            f'{kind} "{name}" is registered as {make!r}; give what makes it: a class, or a function without required '
            "arguments but the study's own."
        )
    _registered.setdefault((kind, task), {})[name] = make


def strategies_of(task: str) -> dict[str, Part]:
    """Every strategy of a task by name: ours, those of installed packages, and those registered here."""
    return {**STRATEGIES_BY_TASK[task], **_plugins("Strategy", task), **_registered.get(("Strategy", task), {})}


def learners_of(task: str) -> dict[str, Part]:
    """Every learner of a task by name."""
    return {**LEARNERS_BY_TASK[task], **_plugins("Learner", task), **_registered.get(("Learner", task), {})}


def _plugins(kind: str, task: str) -> dict[str, Part]:
    found: dict[str, Part] = {}
    for point in importlib.metadata.entry_points(group=_PLUGINS[kind]):
        name = point.name.removeprefix("labels.")
        if (task == "labels") == (name != point.name):
            found[name] = point.value
    return found


def load_part(kind: str, table: Mapping[str, Part], name: str) -> Any:
    """What `name` stands for; the part is imported here and nowhere earlier."""
    check_name(kind, table, name)
    if name not in table:
        return _of_a_neighbour(kind, name)
    part = table[name]
    if not isinstance(part, str):
        return part
    module, _, attribute = part.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "torch":
            raise MissingPartError(f'{kind} "{name}" needs torch: pip install "infonn[deep]".') from error
        raise


def check_name(kind: str, table: Mapping[str, Part], name: str) -> None:
    """Refuse a name that stands for nothing, with the near miss named."""
    if name not in table and (kind, name.partition(":")[0]) not in NEIGHBOURS:
        raise unknown_name(kind, name, table)


def _of_a_neighbour(kind: str, name: str) -> Any:
    prefix, _, path = name.partition(":")
    module, _, attribute = NEIGHBOURS[kind, prefix].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)(path)
    except ModuleNotFoundError as error:
        raise MissingPartError(f'{kind} "{name}" needs {error.name}, which is not installed.') from error


def build_part(
    kind: str,
    table: Mapping[str, Part],
    name: str,
    settings: Mapping[str, Any],
    context: Mapping[str, Any],
) -> Any:
    """The part, made from its settings and whatever of `context` (items, features, ...) it asks for."""
    part = load_part(kind, table, name)
    settings = by_present_names(settings)
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


def by_present_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A part's settings, those of earlier versions by the names they have now."""
    return {EARLIER_NAMES.get(key, key): value for key, value in settings.items()}


def setting_names(part: Callable[..., Any]) -> list[str]:
    """The names of what a part takes; `**settings: Unpack[Settings]` stands for all keys of `Settings`."""
    names: list[str] = []
    for name, parameter in inspect.signature(part).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            names += get_type_hints(part)[name].__args__[0].__annotations__
        else:
            names.append(name)
    return names


def describe(kind: str, table: Mapping[str, Part]) -> dict[str, str]:
    """Name -> first line of the part's docstring, or what has to be installed for it."""

    def line(name: str) -> str:
        try:
            return (inspect.getdoc(load_part(kind, table, name)) or "").splitlines()[0]
        except MissingPartError as error:
            return str(error)

    return {name: line(name) for name in table}
