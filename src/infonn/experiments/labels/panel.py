"""The panel that decides how labels are chosen: many data sets, every method, the same learner for all.

Seeds 0 to 9 choose the default by its mean rank of labels to a target; seeds 10 to 29 judge it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.contracts.loop import Strategy
from infonn.experiments.figures import lines
from infonn.experiments.labels.sets import SETS, WITHOUT_FILES, LabelSet
from infonn.experiments.statistics import answers_to_target, paired_curves, paired_difference, pick, value_at
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup
from infonn.learners.classifiers.bayes_logistic import BayesLogistic, Posterior
from infonn.oracles.labels import LabelOracle
from infonn.plots.curves import draw_curves
from infonn.queries import Answers
from infonn.selection import class_strategies as rules
from infonn.selection.class_batches import typical_items
from infonn.selection.strategies import random
from infonn.tasks.labels import LabelTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACCURACY = "test_accuracy"
LEARNER = "bayes_logistic"
COUNTS = (20, 40, 60, 100, 200)
FIRST = 20  # labels that a start gives
CHOOSING, JUDGING = range(10), range(10, 30)  # trials
BELOW_RANDOM, BELOW_BEST = -0.01, -0.03  # how far the lower end of the interval may lie below 0

METHODS: Mapping[str, Callable[[int], Strategy]] = {  # by number of classes
    "random": lambda n: random(),
    "entropy": lambda n: rules.entropy(),
    "margin": lambda n: rules.margin(),
    "margin_spread": lambda n: rules.margin_spread(),
    "bald": lambda n: rules.bald(),
    "batch_bald": lambda n: rules.batch_bald(max_configurations=64),
    "power_bald": lambda n: rules.power_bald(),
    "k_center": lambda n: rules.k_center(),
    "badge": lambda n: rules.badge(),
    "typicality": lambda n: rules.typicality(),
    "epig": lambda n: rules.epig(candidates=500),
    "parbals": lambda n: rules.parbals(candidates=500),
    "info_nn": lambda n: rules.info_nn(n),
    "info_nn_draws": lambda n: rules.info_nn_draws(max_configurations=64),
    "typical4_margin": lambda n: rules.typical_margin(n, spread=False, per_class=4),
    "typical4_margin_spread": lambda n: rules.typical_margin(n, per_class=4),
}
DEFAULT = ("margin_spread", "typicality", 10)  # method, start and batch: what `typical_margin` does
Run = tuple[str, str, int]  # method, start, batch
LEADERS: tuple[Run, ...] = (  # after three trials; the others stay behind
    ("random", "random", 10),
    *((method, "typicality", 10) for method in ("typical4_margin", "typical4_margin_spread", "badge", "margin")),
    DEFAULT,
)
MAIN: tuple[Run, ...] = (
    *((method, "random", 10) for method in METHODS if not method.startswith("typical4")),
    *LEADERS[1:],
)
BEST = ("margin", "margin_spread", "badge", "typical4_margin_spread")
JUDGED: tuple[Run, ...] = (("random", "random", 10), *((method, "typicality", 10) for method in BEST))
STARTS: tuple[Run, ...] = tuple(
    (method, start, batch)
    for method in BEST
    for start, batch in (("random", 10), ("random", 1), ("typicality", 1), ("random", 100), ("typicality", 100))
)
STARTS_TRIALS, STARTS_SETS = range(27, 30), ("digits", "overlap", "MNIST pixels")
COSTLY = ("bald", "batch_bald", "power_bald", "epig", "parbals", "info_nn_draws")  # by draws
ALL_TRIALS, COSTLY_TRIALS = range(3), range(1)  # of the choosing trials: all methods but the costly ones; all
SHORT = {"50 blobs": (*range(6), *range(10, 18))}  # the costliest set: trials it has


@dataclass(frozen=True)
class TestAccuracy:
    """Share of the test items whose class is predicted."""

    __test__ = False  # no test of pytest's
    features: FloatArray
    labels: IntArray

    def __call__(self, belief: Belief) -> float:
        assert isinstance(belief.class_log_probs, Posterior)
        return float((belief.class_log_probs.point_of(self.features).argmax(axis=1) == self.labels).mean())


def build(plan: Plan, trial: int) -> list[Setup]:
    """One curve for each set and run; runs of a set share its items, their learner and the start."""
    seed, built = plan.seed_of(trial), list[Setup]()
    for name in plan.settings["sets"]:
        runs = _runs(plan, trial, name)
        if not runs:
            continue
        data = SETS[name](default_rng([seed, 77]))
        learner = BayesLogistic(data.features[: data.n_pool], data.n_classes)
        accuracy = TestAccuracy(data.features[data.n_pool :], data.labels[data.n_pool :])
        starts = {start: _start(start, data, learner, seed) for start in {run[1] for run in runs}}
        upto = min(plan.settings["labels"], data.n_pool)
        for method, start, batch in runs:
            last = min(upto, plan.settings["labels_one_by_one"]) if batch == 1 else upto
            built.append(
                Setup(
                    method=method,
                    learner_name=LEARNER,
                    settings={"set": name, "start": start, "batch": batch},
                    trial=trial,
                    seed=seed,
                    learner=learner,
                    task=LabelTask(data.n_pool, data.classes),
                    strategy=METHODS[method](data.n_classes),
                    oracle=LabelOracle(data.labels),
                    measures={ACCURACY: accuracy},
                    first=starts[start],
                    size=batch,
                    rounds=-(-(last - FIRST) // batch),
                    kind="label",
                    warm=False,
                )
            )
    return built


def _runs(plan: Plan, trial: int, name: str) -> list[Run]:
    """All runs in the first trials, then the leading ones; where the default is judged, the best of them."""
    if not plan.settings["in_few_trials"]:
        return list(plan.settings["runs"])
    if name in SHORT and trial not in SHORT[name]:
        return []
    if trial not in CHOOSING:
        more = trial in STARTS_TRIALS and name in STARTS_SETS
        return [*JUDGED, *(STARTS if more else ())]
    if trial in COSTLY_TRIALS:
        return list(plan.settings["runs"])
    return [run for run in plan.settings["runs"] if run[0] not in COSTLY] if trial in ALL_TRIALS else list(LEADERS)


def _start(start: str, data: LabelSet, learner: BayesLogistic, seed: int) -> Answers:
    """The first labels, the same for all methods."""
    rng, everything = default_rng([seed, 99]), np.arange(data.n_pool)
    if start == "random":
        items: IntArray = rng.permutation(data.n_pool)[:FIRST]
    else:
        items = typical_items(learner.rows.embedding, everything, everything[:0], FIRST, rng)
    queries = np.full((len(items), 1 + min(3, data.n_classes)), -1, np.int32)
    queries[:, 0] = items
    return Answers(queries, data.labels[items].astype(np.int32), "label")


# --- choosing and judging --------------------------------------------------------------------------------


def runs_of(curves: Sequence[Curve]) -> list[Run]:
    """The runs that curves are of, in their order."""
    return list(dict.fromkeys((c.method, c.settings["start"], c.settings["batch"]) for c in curves))


def of_run(curves: Sequence[Curve], name: str, run: Run, trials: Sequence[int] | range | None = None) -> list[Curve]:
    """The curves of one run on one set, by trial."""
    found = pick(curves, run[0], set=name, start=run[1], batch=run[2])
    return [curve for curve in found if trials is None or curve.trial in trials]


def sets_of(curves: Sequence[Curve]) -> list[str]:
    return list(dict.fromkeys(curve.settings["set"] for curve in curves))


def target_of(curves: Sequence[Curve], name: str, trials: range = CHOOSING) -> float:
    """The accuracy that random labels reach in the end, on average."""
    own = of_run(curves, name, ("random", "random", 10), trials)
    return float(np.mean([curve.measures[ACCURACY][-1] for curve in own])) if own else float("nan")


def labels_to_target(curves: Sequence[Curve], name: str, run: Run, trials: range = CHOOSING) -> float:
    """Median labels until the accuracy stays at or above the set's target; one that never gets there is infinite."""
    target = target_of(curves, name, trials)
    counts = [answers_to_target(c, ACCURACY, target) + c.queries[0] for c in of_run(curves, name, run, trials)]
    return float(np.sort(counts)[(len(counts) - 1) // 2]) if counts else float("nan")


def mean_ranks(curves: Sequence[Curve], trials: range = CHOOSING) -> dict[Run, float]:
    """Each run's rank by labels to target, averaged over the sets; equal ones share their ranks. Batches of 10.

    Runs that some set lacks come last, without a rank.
    """
    from scipy.stats import rankdata

    names = sets_of(curves)
    runs = [run for run in runs_of(curves) if run[2] == 10 and any(of_run(curves, name, run, trials) for name in names)]
    whole = [run for run in runs if all(of_run(curves, name, run, trials) for name in names)]
    table = np.array([[labels_to_target(curves, name, run, trials) for run in whole] for name in names])
    ranks = rankdata(np.nan_to_num(table, nan=np.inf), axis=1).mean(axis=0) if whole else np.empty(0)
    found = dict(sorted(zip(whole, ranks.tolist()), key=lambda entry: entry[1]))
    return found | {run: float("nan") for run in runs if run not in found}


def best_run(curves: Sequence[Curve], name: str, trials: range = CHOOSING) -> Run:
    """Of the runs that are judged the one with the highest accuracy on a set, averaged over the counts of labels."""
    runs = [run for run in runs_of(curves) if run[2] == 10 and of_run(curves, name, run, JUDGING)]

    def level(run: Run) -> float:
        own = of_run(curves, name, run, trials)
        return float(np.nanmean([[value_at(c, ACCURACY, n) for n in COUNTS] for c in own])) if own else -np.inf

    return max(runs, key=level, default=DEFAULT)


@dataclass(frozen=True)
class Verdict:
    """How far the default is above another run at a count of labels on a set, over the judging trials."""

    set: str
    labels: int
    against: str  # "random" or "best"
    other: Run
    mean: float
    low: float
    high: float
    holds: bool


def judge(curves: Sequence[Curve], default: Run = DEFAULT, trials: range = JUDGING) -> list[Verdict]:
    """The default against random labels, and against the best of each set as the choosing trials know it."""
    found = []
    for name in sets_of(curves):
        others = {"random": (("random", "random", 10), BELOW_RANDOM), "best": (best_run(curves, name), BELOW_BEST)}
        for against, (other, allowed) in others.items():
            first, second = paired_curves(of_run(curves, name, default, trials), of_run(curves, name, other, trials))
            for n in COUNTS:
                pairs = [(value_at(a, ACCURACY, n), value_at(b, ACCURACY, n)) for a, b in zip(first, second)]
                pairs = [pair for pair in pairs if not np.isnan(pair).any()]
                if len(pairs) < 3:
                    continue
                d = paired_difference([a for a, _ in pairs], [b for _, b in pairs])
                found.append(Verdict(name, n, against, other, d.mean, d.low, d.high, d.low > allowed))
    return found


def claims(curves: Sequence[Curve]) -> list[Claim]:
    verdicts = judge(curves)
    made = []
    for against, text in (
        ("random", "At 20 to 200 labels the default is nowhere more than .01 below random labels."),
        ("best", "At 20 to 200 labels the default is nowhere more than .03 below the best method of the set."),
    ):
        own = [verdict for verdict in verdicts if verdict.against == against]
        exceptions = [asdict(verdict) for verdict in own if not verdict.holds]
        holds = None if not own else not exceptions
        evidence = {"compared": len(own), "exceptions": exceptions}
        made.append(Claim(f"label-panel-{against}", text, "ours, seeds 10 to 29", holds, evidence))
    ranks = mean_ranks(curves)
    chosen = next(iter(ranks), None)
    evidence = {" / ".join(map(str, run)): round(rank, 2) for run, rank in ranks.items() if not np.isnan(rank)}
    text = "The default has the best mean rank of labels to the accuracy that random labels reach in the end."
    return [*made, Claim("label-panel-chosen", text, "ours, seeds 0 to 9", chosen == DEFAULT, evidence)]


# --- tables and figures ----------------------------------------------------------------------------------


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    shown = ("random", "info_nn", "margin", "typicality", "parbals", DEFAULT[0])
    panels = {}
    for name in sets_of(curves):
        own = [c for c in pick(curves, set=name, batch=10) if c.method in shown and _usual_start(c)]
        panels[name] = lines(own, ACCURACY)
    return {"accuracy": draw_curves(panels, "labels", "test accuracy", width=3.6, height=3.0)}


def _usual_start(curve: Curve) -> bool:
    return bool(curve.settings["start"] == (DEFAULT[1] if curve.method == DEFAULT[0] else "random"))


def tables(curves: Sequence[Curve]) -> dict[str, str]:
    return {"ranks": rank_table(curves), "accuracy": accuracy_table(curves), "exceptions": exception_table(curves)}


def rank_table(curves: Sequence[Curve]) -> str:
    """Mean rank, and the labels to the target on every set."""
    names = sets_of(curves)
    rows = [
        "| method | start | mean rank | " + " | ".join(names) + " |",
        "| --- | --- | --- | " + " | ".join("---" for _ in names) + " |",
    ]
    for run, rank in mean_ranks(curves).items():
        counts = [labels_to_target(curves, name, run) for name in names]
        cells = " | ".join("never" if np.isinf(n) else "" if np.isnan(n) else f"{n:.0f}" for n in counts)
        rows.append(f"| {run[0]} | {run[1]} | {'' if np.isnan(rank) else f'{rank:.1f}'} | {cells} |")
    return "\n".join(rows) + "\n"


def accuracy_table(curves: Sequence[Curve]) -> str:
    """Mean accuracy at each count of labels over all trials."""
    rows = [
        "| set | method | start | batch | trials | " + " | ".join(f"{n} labels" for n in COUNTS) + " |",
        "| --- | --- | --- | --- | --- | " + " | ".join("---" for _ in COUNTS) + " |",
    ]
    for name in sets_of(curves):
        for run in runs_of(curves):
            own = of_run(curves, name, run)
            if own:
                means = [np.mean([value_at(c, ACCURACY, n) for c in own]) for n in COUNTS]
                cells = " | ".join("" if np.isnan(mean) else f"{mean:.3f}" for mean in means)
                rows.append(f"| {name} | {run[0]} | {run[1]} | {run[2]} | {len(own)} | {cells} |")
    return "\n".join(rows) + "\n"


def exception_table(curves: Sequence[Curve]) -> str:
    """Where the default does not hold what it promises, over the judging trials."""
    rows = ["| set | labels | against | difference | 95 % interval |", "| --- | --- | --- | --- | --- |"]
    rows += [
        f"| {v.set} | {v.labels} | {v.against} ({v.other[0]}) | {v.mean:+.3f} | {v.low:+.3f} to {v.high:+.3f} |"
        for v in judge(curves)
        if not v.holds
    ]
    return "\n".join(rows) + "\n"


PAPER: dict[str, Any] = {
    "trials": 30,
    "sets": tuple(SETS),
    "runs": MAIN,
    "in_few_trials": COSTLY,
    "labels": 200,
    "labels_one_by_one": 60,
}

EXPERIMENT = Experiment(
    name="label-panel",
    title="Labels: the panel that decides the default",
    where="not in the paper: eleven data sets, fifteen ways to choose",
    minutes={"smoke": 1, "paper": 30},
    presets={
        "paper": PAPER,
        "smoke": PAPER
        | {
            "trials": 2,
            "in_few_trials": (),
            "sets": ("digits", "overlap", "iris"),
            "labels": 60,
            "runs": (*((method, "random", 10) for method in ("random", "margin", "epig", "info_nn")), DEFAULT),
        },
        "without_files": PAPER | {"sets": WITHOUT_FILES},
    },
    build=build,
    claims=claims,
    figures=figures,
    tables=tables,
    notes=(
        "All methods share one learner, a Bayesian logistic regression, and in each trial the first 20 labels.",
        "EPIG looks at 500 items drawn from the pool; BatchBALD and Info-NN on draws hold 64 joint answers.",
        "Test items are never asked for. Each trial draws its own pool; of MNIST 2,000 items.",
        "What falls behind leaves early: methods by draws of the belief are in trial 0, all others in trials 0 to 2, "
        "the leading ones in trials 0 to 9, the best four and random labels in trials 10 to 29. The costliest set, "
        "50 blobs, has trials 0 to 5 and 10 to 17. Other starts and batches of the best four: three trials on three "
        "sets.",
    ),
)
