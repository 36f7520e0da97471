"""A whole study as data, with an oracle in place of people: what `infonn run` and the demo do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.contracts.loop import Measure, Oracle
from infonn.contracts.storage import Storage
from infonn.datasets.items import ItemSet, load_items
from infonn.datasets.named import NamedData
from infonn.errors import DataError, StudyError, unknown_name
from infonn.maths.accuracy import aggregate_kendall_tau, triplet_accuracy
from infonn.maths.responses import ResponseSettings
from infonn.oracles.distances import DistanceOracle
from infonn.oracles.noise import Corrupted
from infonn.oracles.replay import Recorded, ReplayOracle
from infonn.queries import Answers, draw_queries, split_into_triplets
from infonn.records import Round
from infonn.specs.build import start_study
from infonn.specs.registry import DATASETS, build_part
from infonn.specs.settings import check_spec
from infonn.study import Study

N_TEST = 20_000  # queries held out, as in the paper's experiments
_SPLIT = 7  # the stream of randomness that splits recorded answers


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
    full = check_spec(spec)
    data = load_data(full, folder)
    seed, queries, budget = full["study"]["seed"], full["queries"], full["budget"]
    rounds = -(-max(0, budget["answers"] - queries["first"]) // budget["batch"])
    oracle_name = full["oracle"]["name"] or ("replay" if data.recorded is not None else "distances")
    settings = {key: value for key, value in full["oracle"].items() if key != "name"}
    corrupt = float(settings.pop("corrupt", 0.0))
    oracle, pool, measures = _builder(oracle_name)(data, full, settings)
    if corrupt:
        oracle = Corrupted(oracle, corrupt, seed, queries["kind"])
    study = start_study(full, data.items, storage, load_if_exists=True, pool=pool)
    return Simulation(study, oracle, measures, rounds, budget["batch"])


def load_data(full: Mapping[str, Any], folder: Path) -> NamedData:
    """The items that [items] names: a data set, or a file whose features are taken as the truth."""
    table = full["items"]
    settings = {key: value for key, value in table.items() if key not in ("file", "dataset", "features")}
    if bool(table["file"]) == bool(table["dataset"]):
        raise StudyError(f"[items] needs either `file` or `dataset`. Data sets: {', '.join(sorted(DATASETS))}.")
    if table["dataset"]:
        context = {"candidates": full["queries"]["candidates"], "seed": full["study"]["seed"]}
        data: NamedData = build_part("Data set", DATASETS, table["dataset"], settings, context)
        return data
    if settings:
        raise unknown_name("Key in [items]", next(iter(settings)), ("file", "dataset", "features"))
    items: ItemSet = load_items(folder / table["file"], folder / table["features"] if table["features"] else None)
    return NamedData(items, truth=items.features)


def _replay(
    data: NamedData, full: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[Oracle, IntArray | None, dict[str, Measure]]:
    """People's recorded answers: a part of the questions is the pool, others are held out."""
    _no_settings("replay", settings)
    if data.recorded is None:
        raise StudyError(
            f'Oracle "replay" needs recorded answers to queries of {full["queries"]["candidates"]} candidates, and '
            "these items have none. Use oracle distances."
        )
    if full["queries"]["kind"] != data.recorded.kind:
        raise StudyError(
            f'[queries] kind is "{full["queries"]["kind"]}", and the answers on record are to "{data.recorded.kind}" '
            f'questions. Use kind = "{data.recorded.kind}", or oracle distances.'
        )
    recorded = Recorded(data.recorded)
    questions = recorded.queries
    order = default_rng([full["study"]["seed"], _SPLIT]).permutation(len(questions))
    n_pool = min(full["queries"]["pool_size"], len(questions) // 2)
    held_out = questions[order[n_pool : n_pool + N_TEST]]
    oracle = ReplayOracle(recorded, full["study"]["seed"])
    triplets = split_into_triplets(Answers(held_out, oracle.answer(held_out, default_rng(0))))
    return oracle, questions[order[:n_pool]], {"triplet_accuracy": TripletAccuracy(triplets)}


def _distances(
    data: NamedData, full: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[Oracle, IntArray | None, dict[str, Measure]]:
    """The true metric; with mu, sharpness or lapse, answers are drawn from the response model."""
    if data.truth is None:
        raise StudyError('Oracle "distances" needs items whose true distances are known, and these have none.')
    unknown = set(settings) - {"mu", "sharpness", "lapse"}
    if unknown:
        raise unknown_name('Setting of oracle "distances"', min(unknown), ("corrupt", "mu", "sharpness", "lapse"))
    response = ResponseSettings(**{"mu": 1e-3, **settings}) if settings else None
    oracle = DistanceOracle(data.truth, full["queries"]["kind"], response)
    held_out = draw_queries(N_TEST, len(data.items), 2, default_rng([full["study"]["seed"], _SPLIT]))
    exact = DistanceOracle(data.truth).answer(held_out, default_rng(0))
    triplets = split_into_triplets(Answers(held_out, exact))
    measures: dict[str, Measure] = {"triplet_accuracy": TripletAccuracy(triplets)}
    if len(data.items) <= 500:
        measures["kendall_tau"] = KendallTau(data.truth)
    return oracle, None, measures


_BUILDERS = {"replay": _replay, "distances": _distances}


def _builder(name: str) -> Any:
    if name not in _BUILDERS:
        raise unknown_name("Oracle", name, _BUILDERS)
    return _BUILDERS[name]


def _no_settings(name: str, settings: Mapping[str, Any]) -> None:
    if settings:
        raise unknown_name(f'Setting of oracle "{name}"', next(iter(settings)), ("corrupt",))


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
