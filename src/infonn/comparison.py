"""compare(): several strategies and learners on paired seeds, through the one loop; a table and a figure of it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infonn.arrays import FloatArray
from infonn.contracts.loop import Learner, Strategy
from infonn.datasets.items import ItemSet
from infonn.datasets.named import NamedData
from infonn.engines import Engine, travels
from infonn.errors import DataError, StudyError, unknown_name
from infonn.experiments.curve_file import plain
from infonn.experiments.figures import lines
from infonn.experiments.simulation import World, build_world, n_rounds
from infonn.experiments.statistics import (
    PairedDifference,
    mean_level,
    median_answers,
    paired_curves,
    paired_difference,
    pick,
    value_at,
)
from infonn.experiments.sweep import Claim, Experiment, Plan, Progress, run_experiment
from infonn.experiments.trial import Curve, Setup
from infonn.records import Item
from infonn.specs.build import start_study
from infonn.specs.registry import learners_of, strategies_of
from infonn.specs.settings import check_settings, check_spec, read_spec
from infonn.storage.memory import MemoryStorage
from infonn.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

RANDOM = "random"
N_COUNTS = 4  # counts of answers that a table shows where none are named
TOGETHER = 10  # trials that learners may fit as one model
FEWEST = 2  # trials that an interval needs

Tables = Mapping[str, Mapping[str, Any]]
NamedStrategy = str | Mapping[str, Any] | Strategy  # a name, a table with a name and settings, or a strategy
NamedLearner = str | Mapping[str, Any] | Learner


def compare(
    about: str | Path | Tables | ItemSet | NamedData | FloatArray,
    *,
    strategies: Sequence[str] | Mapping[str, NamedStrategy] = ("default", RANDOM),
    learners: Sequence[str] | Mapping[str, NamedLearner] = ("default",),
    trials: int = 20,
    answers: int | None = None,
    batch: int | None = None,
    seed: int = 0,
    processes: int = 1,
    engine: Engine | None = None,
    folder: str | Path | None = None,
    restart: bool = False,
    progress: Progress | None = None,
    say: Callable[[str], None] = print,
) -> Comparison:
    """Run every strategy under every learner, `trials` times each; within a trial all share truth, start and seed.

    `about` says what is asked about and who answers: a `study.toml` (its path or its tables), items with features
    that are taken as the truth, or the true places themselves, an array (items, dims). Strategies and learners are
    names, or a mapping from what you call them to a name, to a table with a name and settings, or to an object of
    your own. `answers` and `batch` stand in for the study's [budget]. `processes` splits the trials over so many
    processes of this machine, and an `engine` of `infonn.engines` over a cluster; neither changes a curve.

    With a `folder`, finished curves are kept there as they come: the same call goes on where it stopped, and one
    with further strategies or trials runs those alone. An object of your own is known there by what you call it.
    """
    runs = _Runs.of(about, strategies, learners, answers, batch)
    runs.build(Plan({}, seed), 0)  # so that what is wrong shows before a folder is begun
    if processes > 1 or (engine is not None and not engine.is_here):
        _check_travels(runs)
    experiment = runs.experiment(drawn=folder is not None)
    with tempfile.TemporaryDirectory() as beside:
        results = run_experiment(
            experiment,
            trials=trials,
            seed=seed,
            folder=Path(beside if folder is None else folder),
            processes=processes,
            engine=engine,
            restart=restart,
            progress=progress,
            say=say,
        )
    curves = [Curve.from_json(curve) for curve in results["curves"]]
    asked_for = [c for c in curves if c.method in runs.strategies and c.learner in runs.learners]
    order = {name: place for place, name in enumerate(runs.strategies)}
    return Comparison(sorted(asked_for, key=lambda c: (c.trial, order[c.method])))


# --- what came out -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """The curves of a comparison, and what they say."""

    curves: Sequence[Curve]

    @cached_property
    def strategies(self) -> list[str]:
        return list(dict.fromkeys(curve.method for curve in self.curves))

    @cached_property
    def learners(self) -> list[str]:
        return list(dict.fromkeys(curve.learner for curve in self.curves))

    @cached_property
    def measures(self) -> list[str]:
        """What was measured; the first is what tables and figures show unless told otherwise."""
        return list(self.curves[0].measures)

    def table(
        self, measure: str | None = None, counts: Sequence[int] | None = None, target: float | None = None
    ) -> DataFrame:
        """One row for each strategy and learner.

        The measure after each of `counts` answers and the answers to `target` are medians over trials; the opening
        is counted, and infinity means that half of the trials never stayed there. The target is the median that the
        baseline ends with, unless it is given. `difference` is the mean over the rounds minus the baseline's, trial
        by trial, with its 95 % interval `low` to `high`. The baseline of a strategy is random under the same learner.
        """
        import pandas as pd

        measure = self._measure(measure)
        counts = self._counts() if counts is None else counts
        rows = []
        for learner in self.learners:
            for strategy in self.strategies:
                own, beside = pick(self.curves, strategy, learner), self._baseline(strategy, learner)
                goal = _last_median(beside, measure) if target is None else target
                row: dict[str, Any] = {"strategy": strategy, "learner": learner, "trials": len(own)}
                row |= {f"{measure} at {n}": _median_at(own, measure, n) for n in counts}
                row["target"], row["answers to target"] = goal, median_answers(own, measure, goal) + own[0].queries[0]
                row |= _difference_columns(own, beside, measure)
                rows.append(row)
        return pd.DataFrame(rows)

    def difference(
        self,
        first: str,
        second: str,
        measure: str | None = None,
        *,
        learner: str | None = None,
        second_learner: str | None = None,
        at: float | None = None,
    ) -> PairedDifference:
        """First strategy minus second, trial by trial: after `at` answers, or on average over the rounds.

        Learners are the first one unless named; `second_learner` compares two learners.
        """
        measure, learner = self._measure(measure), self.learners[0] if learner is None else learner
        own = self._curves_of(first, learner)
        beside = self._curves_of(second, learner if second_learner is None else second_learner)
        return _difference(own, beside, measure, at)

    def figure(self, measure: str | None = None) -> Figure:
        """Medians over trials with quartile bands, a panel for each learner; random is grey."""
        return _figure(self.curves, self._measure(measure))

    def _measure(self, name: str | None) -> str:
        if name is not None and name not in self.measures:
            raise unknown_name("Measure", name, self.measures)
        return self.measures[0] if name is None else name

    def _curves_of(self, strategy: str, learner: str) -> list[Curve]:
        if strategy not in self.strategies:
            raise unknown_name("Strategy", strategy, self.strategies)
        if learner not in self.learners:
            raise unknown_name("Learner", learner, self.learners)
        return pick(self.curves, strategy, learner)

    def _baseline(self, strategy: str, learner: str) -> list[Curve]:
        """Random under the same learner; of one strategy alone, its curves under the first learner."""
        if len(self.strategies) == 1:
            return pick(self.curves, strategy, self.learners[0])
        return pick(self.curves, RANDOM if RANDOM in self.strategies else self.strategies[0], learner)

    def _counts(self) -> list[int]:
        """Counts of answers evenly along the shortest curve."""
        queries = min((curve.queries for curve in self.curves), key=len)
        steps = np.ceil(np.linspace(0, len(queries) - 1, N_COUNTS + 1)).astype(int)[1:]
        return list(dict.fromkeys(queries[step] for step in steps))


def _difference(
    own: Sequence[Curve], beside: Sequence[Curve], measure: str, at: float | None = None
) -> PairedDifference:
    def level(curve: Curve) -> float:
        if at is not None:
            return value_at(curve, measure, at)
        return mean_level(curve, measure) if len(curve.queries) > 1 else curve.measures[measure][0]

    first, second = paired_curves(own, beside)
    return paired_difference([level(curve) for curve in first], [level(curve) for curve in second])


def _difference_columns(own: Sequence[Curve], beside: Sequence[Curve], measure: str) -> dict[str, float]:
    """The paired difference; a baseline is not compared with itself, and one trial gives no interval."""
    names = ("difference", "low", "high")
    if own[0].method == beside[0].method and own[0].learner == beside[0].learner:
        return dict.fromkeys(names, np.nan)
    found = _difference(own, beside, measure)
    return dict(zip(names, (found.mean, found.low, found.high) if found.n >= FEWEST else (found.mean, np.nan, np.nan)))


def _median_at(curves: Sequence[Curve], measure: str, n: int) -> float:
    return float(np.median([value_at(curve, measure, n) for curve in curves]))


def _last_median(curves: Sequence[Curve], measure: str) -> float:
    return float(np.median([curve.measures[measure][-1] for curve in curves]))


def _figure(curves: Sequence[Curve], measure: str) -> Figure:
    from infonn.plots.curves import draw_curves

    panels = {name: lines(pick(curves, learner=name), measure) for name in dict.fromkeys(c.learner for c in curves)}
    return draw_curves(panels, "answers", measure.replace("_", " "), width=5.4, height=3.8)


# --- what is run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Runs:
    """The setups of a comparison; it travels to other processes as it is, so it holds data and the parts alone."""

    tables: Mapping[str, Mapping[str, Any]]
    strategies: Mapping[str, NamedStrategy]
    learners: Mapping[str, NamedLearner]
    folder: Path = field(default_factory=Path)  # of the files that the tables name
    data: NamedData | None = None  # None: each trial loads, or draws, what [items] says

    @classmethod
    def of(
        cls,
        about: str | Path | Tables | ItemSet | NamedData | FloatArray,
        strategies: Sequence[str] | Mapping[str, NamedStrategy],
        learners: Sequence[str] | Mapping[str, NamedLearner],
        answers: int | None,
        batch: int | None,
    ) -> _Runs:
        """What the caller of `compare` means; refuses what is neither a study, items nor places."""
        tables, folder, data = _read(about)
        budget = {key: value for key, value in (("answers", answers), ("batch", batch)) if value is not None}
        tables = check_spec({**tables, "budget": {**tables.get("budget", {}), **budget}})
        return cls(tables, _by_name("strategies", strategies), _by_name("learners", learners), folder, data)

    def experiment(self, drawn: bool) -> Experiment:
        """What the sweep runs: it keeps finished curves, goes on after an interruption, and splits over processes."""
        kept = {
            table: values for table, values in self.tables.items() if table not in ("learner", "strategy", "people")
        }
        settings = {**kept, "data": None if self.data is None else _fingerprint(self.data)}
        return Experiment(
            name="comparison",
            title=f"Comparison: {self.tables['study']['name']}",
            where="a comparison",
            minutes={},
            presets={"paper": {"trials": 1, **plain(settings)}},
            build=self.build,
            claims=_no_claims,
            figures=_figures if drawn else _nothing,
            tables=_nothing,
            together=TOGETHER,
        )

    def build(self, plan: Plan, trial: int) -> list[Setup]:
        """Every strategy under every learner, on the same world."""
        seed = plan.seed_of(trial)
        settings = check_settings({**self.tables, "study": {**self.tables["study"], "seed": seed}})
        world = build_world(settings, self.folder, self.data)
        full = settings.as_tables()
        if world.classes and not settings.queries.classes:
            full["queries"]["classes"] = list(world.classes)
        learners = {name: _learner(full, world, part) for name, part in self.learners.items()}
        strategies = {name: _strategy(full, world, part) for name, part in self.strategies.items()}
        task = _study(full, world).task
        return [
            Setup(
                method=strategy,
                learner_name=learner,
                settings=_settings_of(self.strategies[strategy], self.learners[learner]),
                trial=trial,
                seed=seed,
                learner=learners[learner],
                task=task,
                strategy=strategies[strategy],
                oracle=world.oracle,
                measures=world.measures,
                first=settings.queries.first,
                size=settings.budget.batch,
                rounds=n_rounds(settings),
                kind=settings.queries.kind,
                asked=world.never,
            )
            for learner in learners
            for strategy in strategies
        ]


def _read(about: Any) -> tuple[Mapping[str, Any], Path, NamedData | None]:
    """Tables, the folder of the files they name, and the data where they were given as such."""
    if isinstance(about, str | Path):
        path = Path(about)
        if path.suffix == ".toml":
            return read_spec(path), path.parent, None
        return {"items": {"file": path.name}}, path.parent, None
    if isinstance(about, Mapping):
        return about, Path(), None
    if isinstance(about, NamedData):
        return {"study": {"task": "similarity" if about.labels is None else "labels"}}, Path(), about
    if isinstance(about, ItemSet):
        return {}, Path(), NamedData(about, truth=about.features)
    if isinstance(about, np.ndarray) and about.ndim == 2:
        items = ItemSet(tuple(Item(str(item)) for item in range(len(about))))
        return {}, Path(), NamedData(items, truth=np.asarray(about, float))
    shape = f" of shape {about.shape}" if isinstance(about, np.ndarray) else ""
    raise DataError(
        f"compare() is given a {type(about).__name__}{shape}; it takes a study.toml or its tables, items with "
        "features, or their true places as an array (items, dims)."
    )


def _by_name(kind: str, parts: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(parts, str):
        raise StudyError(f'{kind} is "{parts}"; give a list of names, like ["{parts}"].')
    named = dict(parts) if isinstance(parts, Mapping) else {name: name for name in parts}
    if not named:
        raise StudyError(f"There are no {kind} to compare; name at least one.")
    for name, part in named.items():
        if not isinstance(name, str):
            raise StudyError(
                f"{kind} holds a {type(name).__name__} without a name; give your own as a mapping, "
                'like {"mine": my_strategy, "random": "random"}.'
            )
        method = "select_with_scores" if kind == "strategies" else "fit"
        if not isinstance(part, str | Mapping) and not hasattr(part, method):
            wanted = "a Strategy" if kind == "strategies" else "a learner, which has `fit`"
            raise StudyError(f'"{name}" in {kind} is a {type(part).__name__}; it must be a name, a table, or {wanted}.')
    return named


def _learner(full: Tables, world: World, part: NamedLearner) -> Learner:
    return _study(full, world, learner=_table(part)).learner if isinstance(part, str | Mapping) else part


def _strategy(full: Tables, world: World, part: NamedStrategy) -> Strategy:
    return _study(full, world, strategy=_table(part)).strategy if isinstance(part, str | Mapping) else part


def _table(part: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"name": part} if isinstance(part, str) else dict(part)


def _study(full: Tables, world: World, **parts: dict[str, Any]) -> Study:
    """The study that `infonn run` would run, with these parts; every other part is the quickest to make."""
    quick = {"learner": {"name": "default"}, "strategy": {"name": RANDOM}}
    return start_study({**full, **quick, **parts}, world.items, MemoryStorage(), pool=world.pool)


def _settings_of(strategy: NamedStrategy, learner: NamedLearner) -> dict[str, Any]:
    """What tells the curves of a table with settings from those of its bare name."""
    parts = {"strategy": strategy, "learner": learner}
    return {kind: dict(part) for kind, part in parts.items() if isinstance(part, Mapping)}


def _fingerprint(data: NamedData) -> str:
    """A short text that differs where the data do."""
    digest = hashlib.sha256(repr(data.items.names).encode())
    for array in (data.items.features, data.truth, data.labels):
        digest.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    if data.recorded is not None:
        digest.update(data.recorded.queries.tobytes() + data.recorded.responses.tobytes())
    return digest.hexdigest()[:16]


def _check_travels(runs: _Runs) -> None:
    """Refuse, before anything is run, a part that other processes could not be given."""
    task = runs.tables["study"]["task"]
    for known, parts in ((strategies_of(task), runs.strategies), (learners_of(task), runs.learners)):
        for name, part in parts.items():
            called = _table(part)["name"] if isinstance(part, str | Mapping) else None
            if called is not None and callable(known.get(called)):
                raise StudyError(
                    f'"{called}" is registered in this process alone, and others would not know it: give the object '
                    "itself, or use processes=1."
                )
            if not travels(part):
                raise StudyError(
                    f'"{name}" cannot be sent to other processes, for it cannot be pickled: give an object without '
                    "open files, locks or threads, or use processes=1."
                )


def _no_claims(curves: Sequence[Curve]) -> list[Claim]:
    return []


def _nothing(curves: Sequence[Curve]) -> dict[str, Any]:
    return {}


def _figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    return {measure: _figure(curves, measure) for measure in curves[0].measures}
