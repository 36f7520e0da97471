"""Evidence as tables: medians and quartiles of curves, paired differences, whatever a claim brings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infonn.experiments.judging import ENOUGH_TRIALS
from infonn.experiments.statistics import answers_to_target, paired_curves
from infonn.experiments.trial import Curve
from infonn.maths.paired import detectable, paired_difference, trials_to_decide
from infonn.plots.look import is_random

VERDICTS = ("holds", "does not hold", "undecided", "not testable here")
SPREAD = ("median", "low", "high")  # what an entry has when it is quartiles of a count; None is never
FEW = 4  # comparisons that stand beside a claim; more become a table
DIFFERENCE = ("mean", "low", "high")  # what an entry of evidence has when it is a paired difference


@dataclass(frozen=True)
class Table:
    """Cells as text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Group:
    """The trials of one method under one learner and settings."""

    method: str
    learner: str
    settings: Mapping[str, Any]
    curves: Sequence[Curve]

    def last(self, measure: str) -> Any:
        """Each trial's last value."""
        values = [curve.measures[measure][-1] for curve in self.curves if curve.measures.get(measure)]
        return np.array([math.nan if value is None else value for value in values], float)


def groups_of(curves: Sequence[Curve]) -> list[Group]:
    """Curves that differ in their trial only, in the order in which they first occur."""
    found: dict[str, list[Curve]] = {}
    for curve in curves:
        found.setdefault(json.dumps([curve.method, curve.learner, curve.settings], sort_keys=True), []).append(curve)
    return [Group(each[0].method, each[0].learner, each[0].settings, each) for each in found.values()]


def measures_of(curves: Sequence[Curve]) -> list[str]:
    """Measures with one number per point of the curve, in order; coordinates of a map are none."""
    names = dict.fromkeys(name for curve in curves for name in curve.measures)
    return [name for name in names if any(_is_measure(curve, name) for curve in curves)]


def _is_measure(curve: Curve, name: str) -> bool:
    values = curve.measures.get(name, [])
    return bool(values) and len(values) == len(curve.queries) and isinstance(values[-1], int | float)


def last_values(curves: Sequence[Curve]) -> Table:
    """For each group the last median with its quartiles; where random stands beside it, the paired difference too."""
    groups, measures = groups_of(curves), measures_of(curves)
    learners = len({group.learner for group in groups}) > 1
    settings = [
        key
        for key in dict.fromkeys(key for group in groups for key in group.settings)
        if len({json.dumps(group.settings.get(key)) for group in groups}) > 1
    ]
    compared = any(_baseline(group, groups) for group in groups)
    header = ["method", *(["learner"] * learners), *settings, "answers", *measures]
    if compared:
        header += [f"{measures[0]} over all rounds, minus random's (95 % interval)", "answers to random's last level"]
    rows = []
    for group in groups:
        row = [group.method, *([group.learner] * learners), *(_cell(group.settings.get(key, "")) for key in settings)]
        row.append(
            f"{int(np.median([curve.queries[-1] for curve in group.curves])):,}" if group.curves[0].queries else ""
        )
        row += [_quartiles(group.last(measure)) for measure in measures]
        if compared:
            row += _against(group, _baseline(group, groups), measures[0])
        rows.append(tuple(row))
    return Table(tuple(header), tuple(rows))


def _baseline(group: Group, groups: Sequence[Group]) -> Group | None:
    """Random under the same learner and settings, with as many answers where there are several; None without rounds."""
    if is_random(group.method) or len(group.curves[0].queries) < 2:
        return None
    same = [
        other
        for other in groups
        if is_random(other.method) and other.learner == group.learner and other.settings == group.settings
    ]
    alike = [other for other in same if other.curves[0].queries == group.curves[0].queries]
    return next(iter([*alike, *same]), None)


def _against(group: Group, random: Group | None, measure: str) -> list[str]:
    if random is None or measure not in group.curves[0].measures:  # data sets of one experiment may differ in measures
        return ["", ""]
    ours, theirs = paired_curves(group.curves, random.curves)
    if len(ours) < 2:
        return ["", ""]
    difference = paired_difference([_level(curve, measure) for curve in ours], [_level(c, measure) for c in theirs])
    median, other = _median_curve(group, measure), _median_curve(random, measure)
    target = other.measures[measure][-1]
    needed = [_count(answers_to_target(curve, measure, target)) for curve in (median, other)]
    return [
        f"{difference.mean:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})",
        f"{needed[0]} against {needed[1]}",
    ]


def _median_curve(group: Group, measure: str) -> Curve:
    """The median over trials at every point that all trials have."""
    n_points = min(len(curve.queries) for curve in group.curves)
    values = np.array([curve.measures[measure][:n_points] for curve in group.curves], float)
    first = group.curves[0]
    middle = {measure: np.nanmedian(values, axis=0).tolist()}
    return Curve(first.method, first.learner, {}, 0, 0, first.queries[:n_points], [], middle)


def _level(curve: Curve, measure: str) -> float:
    values = np.array(curve.measures[measure][1:], float)
    return float(np.nanmean(values)) if np.isfinite(values).any() else math.nan


def _count(answers: float) -> str:
    return f"{answers:,.0f}" if math.isfinite(answers) else "not reached"


def _quartiles(values: Any) -> str:
    known = values[np.isfinite(values)]
    if not len(known):
        return ""
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
    return _number(middle) if len(known) < 2 else f"{_number(middle)} ({_number(low)} to {_number(high)})"


def _number(value: float) -> str:
    size = abs(value)
    if value == int(value) and size < 1e9:
        return f"{int(value):,}"
    if size < 0.1:
        return f"{value:.2g}"
    return f"{value:,.{3 if size < 10 else 1 if size < 100 else 0}f}"


# --- evidence of a claim ---------------------------------------------------------------------------


def verdict_of(claim: Mapping[str, Any]) -> str:
    """Holds or not; undecided where the numbers do not tell; not testable here where nothing was measured."""
    if claim["holds"] is not None:
        return "holds" if claim["holds"] else "does not hold"
    return "undecided" if _measured(claim["evidence"]) else "not testable here"


def _measured(evidence: Any) -> bool:
    if isinstance(evidence, Mapping):
        return any(_measured(value) for key, value in evidence.items() if key not in ("trials", "target"))
    return isinstance(evidence, int | float) and not isinstance(evidence, bool)


def tally(claims: Sequence[Mapping[str, Any]]) -> str:
    """What became of several claims, in a word and in numbers."""
    verdicts = [verdict_of(claim) for claim in claims]
    held, failed = verdicts.count("holds"), verdicts.count("does not hold")
    if not claims:
        return "not run"
    if len(claims) == 1:
        return verdicts[0]
    if held in (0, len(claims)) and failed in (0, len(claims)):
        return f"{verdicts[0]} ({len(claims)} tests)"
    parts = ((held, "holds", "hold"), (failed, "does not", "do not"), (len(claims) - held - failed, "open", "open"))
    counted = ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in parts if n)
    return ("in part: " if held else "no test holds: ") + counted


def what_would_decide(claim: Mapping[str, Any], n_trials: int) -> str:
    """For a claim that is open: how many trials would settle it, were the differences those observed."""
    if claim["holds"] is not None:
        return ""
    wanted = [_trials_wanted(entry, n_trials) for entry in differences_in(claim["evidence"])]
    most = max([ENOUGH_TRIALS, *wanted])
    many = f"{most:,.0f}" if math.isfinite(most) else "more than any number of"
    return f"About {many} trials would decide it (here {n_trials})."


def _trials_wanted(entry: Mapping[str, Any], n_trials: int) -> float:
    mean, low, high = (entry[key] for key in DIFFERENCE)
    if mean is None or low > 0:
        return ENOUGH_TRIALS
    return trials_to_decide(mean, low, high, entry.get("trials", n_trials))


def differences_in(evidence: Any) -> list[Mapping[str, Any]]:
    """The paired differences that a claim rests on."""
    if not isinstance(evidence, Mapping):
        return []
    if _is_difference(evidence):
        return [evidence]
    return [entry for entry in evidence.values() if _is_difference(entry)]


def resolution(claims: Sequence[Mapping[str, Any]], n_trials: int) -> str:
    """What the trials of an experiment can tell, from the intervals that its claims rest on."""
    entries = [entry for claim in claims for entry in differences_in(claim["evidence"])]
    smallest = [detectable(entry["low"], entry["high"]) for entry in entries if entry["low"] is not None]
    if not smallest or n_trials < ENOUGH_TRIALS:
        return ""
    return (
        f"{n_trials} trials tell a paired difference of {_number(float(np.median(smallest)))} from none four times in "
        "five (median over the comparisons below)."
    )


def moved_by_a_second_run(curves: Sequence[Curve], again: Sequence[Curve], machine: str) -> str:
    """How far the last medians of the first measure lie apart in two runs of the same seeds."""
    measure = measures_of(curves)[0]
    shared = {curve.seed for curve in curves} & {curve.seed for curve in again}
    lasts = []
    for side in (curves, again):
        groups = groups_of([curve for curve in side if curve.seed in shared])
        lasts.append({(g.method, g.learner, str(g.settings)): float(np.nanmedian(g.last(measure))) for g in groups})
    both = [key for key in lasts[0] if key in lasts[1]]
    if not both:
        return ""
    most = max(both, key=lambda key: abs(lasts[0][key] - lasts[1][key]))
    return (
        f"A second run of {len(shared)} of these seeds ({machine}) moved the last medians of {_name(measure)} by at "
        f"most {abs(lasts[0][most] - lasts[1][most]):.3f} ({most[0]}: {lasts[0][most]:.3f} and {lasts[1][most]:.3f}): "
        "training amplifies the last digit of a sum, so single trials are not to be compared between machines."
    )


def answers_to_targets(claims: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table | None:
    """The claims (by experiment) that count answers to a target, side by side: one row each, a column per method."""
    counted = [
        (name, claim["id"], claim["evidence"])
        for name, several in claims.items()
        for claim in several
        if isinstance(claim["evidence"], Mapping)
        and "target" in claim["evidence"]
        and any(_is_spread(value) for value in claim["evidence"].values())
    ]
    if not counted:
        return None
    methods = list(dict.fromkeys(key for _, _, entry in counted for key, value in entry.items() if _is_spread(value)))
    rows = [
        (name, which, _cell(entry["target"]), *(_cell(entry.get(method, "")) for method in methods))
        for name, which, entry in counted
    ]
    return Table(("experiment", "claim", "target", *methods), tuple(rows))


def evidence_tables(evidence: Any) -> tuple[str, list[Table]]:
    """What a claim brings, as a sentence of its single values and tables of the others."""
    if not isinstance(evidence, Mapping):
        return _cell(evidence), []
    if _is_difference(evidence):
        return _interval(evidence), []
    nested = {key: value for key, value in evidence.items() if isinstance(value, Mapping) and not _is_spread(value)}
    single = {key: value for key, value in evidence.items() if key not in nested}
    tables = []
    differences = {key: value for key, value in nested.items() if _is_difference(value)}
    said = [f"{_name(key)}: {_cell(value)}" for key, value in single.items()]
    if len(differences) > FEW:
        tables.append(_differences(differences))
    else:
        said = [f"{_name(key)} {_interval(value)}" for key, value in differences.items()] + said
    others = {key: value for key, value in nested.items() if key not in differences}
    if others:
        columns = list(dict.fromkeys(str(column) for value in others.values() for column in value))
        rows = [(_name(key), *(_cell(value.get(column, "")) for column in columns)) for key, value in others.items()]
        tables.append(Table(("", *map(_name, columns)), tuple(rows)))
    return "; ".join(said), tables


def _is_spread(entry: Any) -> bool:
    return isinstance(entry, Mapping) and set(entry) == set(SPREAD)


def _spread(low: Any, middle: Any, high: Any) -> str:
    low, middle, high = ("not reached" if value is None else _cell(value) for value in (low, middle, high))
    return middle if low == middle == high else f"{middle} ({low} to {high})"


def _is_difference(entry: Any) -> bool:
    return isinstance(entry, Mapping) and all(key in entry for key in DIFFERENCE)


def _differences(entries: Mapping[str, Mapping[str, Any]]) -> Table:
    also = [
        column
        for column in dict.fromkeys(column for entry in entries.values() for column in entry)
        if column not in DIFFERENCE
    ]
    rows = [
        (_name(name), _interval(entry), *(_cell(entry.get(column, "")) for column in also))
        for name, entry in entries.items()
    ]
    return Table(("comparison", "mean difference (95 % interval)", *map(_name, also)), tuple(rows))


def _interval(entry: Mapping[str, Any]) -> str:
    mean, low, high = (entry[key] for key in DIFFERENCE)
    if mean is None or low is None or high is None:
        return "too few trials"
    return f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"


def _name(key: str) -> str:
    return str(key).replace("_", " ")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(value) if math.isfinite(value) else "not reached"
    if _is_spread(value):
        return _spread(value["low"], value["median"], value["high"])
    if isinstance(value, Mapping):
        return ", ".join(f"{_name(key)} {_cell(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple) and len(value) == 3 and all(isinstance(entry, float) for entry in value):
        return _spread(*value)  # quartiles
    if isinstance(value, list | tuple):
        return ", ".join(_cell(entry) for entry in value)
    return str(value)
