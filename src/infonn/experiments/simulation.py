"""A whole study as data, with an oracle in place of people: for `infonn run`, `infonn compare` and the demo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.beliefs import Belief
from infonn.contracts.loop import Measure, Oracle
from infonn.contracts.storage import Storage
from infonn.datasets.items import ItemSet, load_items
from infonn.datasets.named import NamedData
from infonn.errors import DataError, StudyError, unknown_name
from infonn.formats.labels import read_labels
from infonn.maths.accuracy import aggregate_kendall_tau, triplet_accuracy
from infonn.maths.responses import ResponseSettings
from infonn.oracles.distances import DistanceOracle
from infonn.oracles.labels import LabelOracle
from infonn.oracles.noise import Corrupted
from infonn.oracles.replay import Recorded, ReplayOracle
from infonn.queries import Answers, draw_queries, split_into_triplets
from infonn.records import Round
from infonn.specs.build import start_study
from infonn.specs.registry import DATASETS, build_part
from infonn.specs.settings import Settings, check_settings
from infonn.study import Study

N_TEST = 20_000  # queries held out, as in the paper's experiments
N_TEST_ITEMS = 500  # items held out where labels are asked for, or a third of them
_SPLIT = 7  # the stream of randomness that splits recorded answers


@dataclass(frozen=True)
class World:
    """What a simulation knows and a study does not: who answers, what is measured, what may be asked.

    `pool` are the only queries that may be asked, where that is limited; `never` are queries of a test set.
    """

    items: ItemSet
    oracle: Oracle
    measures: Mapping[str, Measure]
    pool: IntArray | None = None
    never: IntArray | None = None
    classes: Sequence[str] = ()


def build_world(settings: Settings, folder: Path = Path(), data: NamedData | None = None) -> World:
    """The world that [items] and [oracle] describe, or the one of `data`; files are named relative to `folder`."""
    data = load_data(settings, folder) if data is None else data
    name = settings.oracle.name or _usual_oracle(settings, data)
    if name not in _BUILDERS:
        raise unknown_name("Oracle", name, _BUILDERS)
    if (name == "labels") != (settings.study.task == "labels"):
        raise StudyError(
            f'Oracle "{name}" does not answer questions of task "{settings.study.task}". '
            f"Use {'labels' if name != 'labels' else 'replay or distances'}."
        )
    own = settings.oracle.settings
    corrupt = float(own.pop("corrupt", 0.0))
    world = _BUILDERS[name](data, settings, own)
    if corrupt:
        kind = settings.queries.kind
        world = replace(world, oracle=Corrupted(world.oracle, corrupt, settings.study.seed, kind))
    return world


def _usual_oracle(settings: Settings, data: NamedData) -> str:
    if settings.study.task == "labels":
        return "labels"
    return "replay" if data.recorded is not None else "distances"


def n_rounds(settings: Settings) -> int:
    """Rounds after the opening until the budget is spent."""
    return -(-max(0, settings.budget.answers - settings.queries.first) // settings.budget.batch)


@dataclass(frozen=True)
class Simulation:
    """A study, who answers it, what is measured, and for how long."""

    study: Study
    oracle: Oracle
    measures: Mapping[str, Measure]
    rounds: int
    batch: int

    def run(self) -> Iterator[Round]:
        """Round after round; what the storage already holds is not asked again."""
        return self.study.run(self.oracle, self.rounds, self.batch, self.measures)


def build_simulation(spec: Mapping[str, Any], storage: Storage, folder: Path = Path()) -> Simulation:
    """The simulation that `spec` describes, new or gone on with; files are named relative to `folder`."""
    settings = check_settings(spec)
    if settings.study.task == "labels":
        raise StudyError(
            "A study of labels keeps test items apart, which `infonn compare` does; simulate it with that."
        )
    world = build_world(settings, folder)
    study = start_study(settings.as_tables(), world.items, storage, load_if_exists=True, pool=world.pool)
    return Simulation(study, world.oracle, world.measures, n_rounds(settings), settings.budget.batch)


def load_data(settings: Settings, folder: Path) -> NamedData:
    """The items that [items] names: a data set, or a file whose features are taken as the truth."""
    table, own = settings.items, settings.items.settings
    if bool(table.file) == bool(table.dataset):
        raise StudyError(f"[items] needs either `file` or `dataset`. Data sets: {', '.join(sorted(DATASETS))}.")
    if table.dataset:
        context = {"candidates": settings.queries.candidates, "seed": settings.study.seed}
        data: NamedData = build_part("Data set", DATASETS, table.dataset, own, context)
        return data
    labels = own.pop("labels", "")
    if own:
        raise unknown_name("Key in [items]", next(iter(own)), ("file", "dataset", "features", "labels"))
    items: ItemSet = load_items(folder / table.file, folder / table.features if table.features else None)
    if not labels:
        return NamedData(items, truth=items.features)
    classes = tuple(settings.queries.classes)
    if not classes:
        raise StudyError(f'[queries] classes is empty; name the classes of {labels}, like ["cat", "dog"].')
    return NamedData(items, items.features, labels=_all_labels(folder / labels, items, classes), classes=classes)


def _all_labels(path: Path, items: ItemSet, classes: Sequence[str]) -> IntArray:
    """The class of every item, from a file with the columns `item` and `label`."""
    known = read_labels(path, items.names, classes)
    missing = [name for item, name in enumerate(items.names) if item not in known]
    if missing:
        raise DataError(f'{path} has no label for "{missing[0]}"; a simulation needs the class of every item.')
    return np.array([known[item] for item in range(len(items))], np.int64)


def _replay(data: NamedData, settings: Settings, own: Mapping[str, Any]) -> World:
    """People's recorded answers: a part of the questions is the pool, others are held out."""
    _known_settings("replay", own, ())
    if data.recorded is None:
        raise StudyError(
            f'Oracle "replay" needs recorded answers to queries of {settings.queries.candidates} candidates, and '
            "these items have none. Use oracle distances."
        )
    if settings.queries.kind != data.recorded.kind:
        raise StudyError(
            f'[queries] kind is "{settings.queries.kind}", and the answers on record are to "{data.recorded.kind}" '
            f'questions. Use kind = "{data.recorded.kind}", or oracle distances.'
        )
    recorded = Recorded(data.recorded)
    questions = recorded.queries
    order = default_rng([settings.study.seed, _SPLIT]).permutation(len(questions))
    n_pool = min(settings.queries.pool_size, len(questions) // 2)
    held_out = questions[order[n_pool : n_pool + N_TEST]]
    oracle = ReplayOracle(recorded, settings.study.seed)
    answers = Answers(held_out, oracle.answer(held_out, default_rng(0)), data.recorded.kind)
    triplets = split_into_triplets(answers)
    measures = {"triplet_accuracy": TripletAccuracy(triplets)}
    return World(data.items, oracle, measures, pool=questions[order[:n_pool]])


def _distances(data: NamedData, settings: Settings, own: Mapping[str, Any]) -> World:
    """The true metric; with mu, sharpness or lapse, answers are drawn from the response model."""
    if data.truth is None:
        raise StudyError('Oracle "distances" needs items whose true distances are known, and these have none.')
    _known_settings("distances", own, ("mu", "sharpness", "lapse"))
    response = ResponseSettings(**{"mu": 1e-3, **own}) if own else None
    oracle = DistanceOracle(data.truth, settings.queries.kind, response)
    held_out = draw_queries(N_TEST, len(data.items), 2, default_rng([settings.study.seed, _SPLIT]))
    exact = DistanceOracle(data.truth).answer(held_out, default_rng(0))
    triplets = split_into_triplets(Answers(held_out, exact))
    measures: dict[str, Measure] = {"triplet_accuracy": TripletAccuracy(triplets)}
    if len(data.items) <= 500:
        measures["kendall_tau"] = KendallTau(data.truth)
    return World(data.items, oracle, measures)


def _labels(data: NamedData, settings: Settings, own: Mapping[str, Any]) -> World:
    """The true classes; a part of the items is held out to be predicted."""
    _known_settings("labels", own, ())
    if data.labels is None:
        raise StudyError(
            'Oracle "labels" needs the true class of every item, and these have none. Use [items] dataset = "digits", '
            'or labels = "labels.csv" beside the file (columns item and label).'
        )
    order = default_rng([settings.study.seed, _SPLIT]).permutation(len(data.items))
    held_out = np.sort(order[: min(N_TEST_ITEMS, len(order) // 3)]).astype(np.int32)
    measures = {"test_accuracy": ClassAccuracy(held_out, data.labels[held_out])}
    never = np.column_stack([held_out, np.full((len(held_out), 2), -1, np.int32)])
    return World(data.items, LabelOracle(data.labels), measures, never=never, classes=data.classes)


_BUILDERS = {"replay": _replay, "distances": _distances, "labels": _labels}


def _known_settings(name: str, settings: Mapping[str, Any], known: Sequence[str]) -> None:
    unknown = set(settings) - set(known)
    if unknown:
        raise unknown_name(f'Setting of oracle "{name}"', min(unknown), ("corrupt", *known))


@dataclass(frozen=True)
class TripletAccuracy:
    """Share of held-out triplets that the belief's embedding orders rightly."""

    triplets: IntArray

    def __call__(self, belief: Belief) -> float:
        if not np.isfinite(belief.embedding).all():
            raise DataError("The learner gave an embedding that is not finite.")
        return triplet_accuracy(belief.embedding, self.triplets)


@dataclass(frozen=True)
class KendallTau:
    """Agreement of the distance rankings of every item with the truth."""

    truth: FloatArray

    def __call__(self, belief: Belief) -> float:
        return aggregate_kendall_tau(belief.embedding, self.truth)


@dataclass(frozen=True)
class ClassAccuracy:
    """Share of held-out items whose class the belief predicts, on average over its draws."""

    items: IntArray
    labels: IntArray

    def __call__(self, belief: Belief) -> float:
        log_probs = belief.log_probs_of(self.items)
        if log_probs is None:
            raise DataError("The learner predicts no classes; a study of labels needs a classifier.")
        predicted = np.exp(to_numpy(log_probs)).mean(axis=0).argmax(axis=1)
        return float((predicted == self.labels).mean())
