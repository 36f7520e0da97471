"""The label panel as words: the tables that stand in README.md and docs/label.md, made from its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from infonn.experiments.labels import panel
from infonn.experiments.statistics import value_at
from infonn.experiments.trial import Curve

BEGIN, END = "<!-- label panel: written by `infonn report` -->", "<!-- end of the label panel -->"
SHOWN = (("random", "random", 10), ("badge", "typicality", 10), ("margin", "typicality", 10), panel.DEFAULT)
NAMES = {panel.DEFAULT: "default"}


def with_tables(text: str, whole: bool, curves: Sequence[Curve], accuracy: Mapping[str, object] | None) -> str:
    """A page whose part between the marks is the panel of today; a page without marks stays as it is."""
    if BEGIN not in text or not curves:
        return text
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    parts = [summary(curves), counts_table(curves)]
    if whole:
        parts += ["Labels until the accuracy that random labels reach in the end (median):", panel.rank_table(curves)]
        parts += exceptions(curves)
    if accuracy:
        parts.append(told(accuracy))
    return before + BEGIN + "\n\n" + "\n\n".join(part.strip() for part in parts) + "\n\n" + END + after


def summary(curves: Sequence[Curve]) -> str:
    verdicts = panel.judge(curves)
    n_sets = len(panel.sets_of(curves))
    trials = sorted({curve.trial for curve in curves if curve.trial in panel.JUDGING})
    if not verdicts:
        return f"{n_sets} sets."
    sentences = []
    for against, limit in (("random", ".01"), ("best", ".03")):
        own = [verdict for verdict in verdicts if verdict.against == against]
        held = sum(verdict.holds for verdict in own)
        other = "random labels" if against == "random" else "the best of four"
        sentences.append(f"surely no more than {limit} below {other} in {held} of {len(own)} comparisons")
    return (
        f"Accuracy on test items of {n_sets} sets, mean over trials {trials[0]} to {trials[-1]}, which had no part in "
        f"choosing the default; all but random labels begin with 20 typical items. At 20 to 200 labels the default is "
        f"{' and '.join(sentences)}."
    )


def counts_table(curves: Sequence[Curve]) -> str:
    """Mean accuracy at 40, 60 and 100 labels over the judging trials."""
    counts = (40, 60, 100)
    runs = [run for run in SHOWN if any(panel.of_run(curves, name, run) for name in panel.sets_of(curves))]
    head = " | ".join(f"{NAMES.get(run, run[0])}, {n}" for n in counts for run in runs)
    rows = [f"| set, labels | {head} |", "| --- |" + " --- |" * (len(runs) * len(counts))]
    for name in panel.sets_of(curves):
        cells = []
        for n in counts:
            for run in runs:
                own = panel.of_run(curves, name, run, panel.JUDGING)
                values = [value_at(curve, panel.ACCURACY, n) for curve in own]
                known = [value for value in values if not np.isnan(value)]
                cells.append(f"{np.mean(known):.3f}".lstrip("0") if known else "")
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def exceptions(curves: Sequence[Curve]) -> list[str]:
    failed = [verdict for verdict in panel.judge(curves) if not verdict.holds]
    if not failed:
        return ["There are no exceptions."]
    return ["Exceptions, where the lower end of the paired 95 % interval is below that:", panel.exception_table(curves)]


def told(claims: Mapping[str, object]) -> str:
    """How often the interval that is told holds the truth."""
    parts = []
    for name in sorted(claims, key=lambda name: int(name.rsplit("-", 1)[1])):
        evidence: Mapping[str, float] = claims[name]  # type: ignore[assignment]
        n = name.rsplit("-", 1)[1]
        parts.append(
            f"with {n} hold-out labels in {evidence['covered']:.1%} of {evidence['studies']:.0f} simulated studies "
            f"({evidence['width_beside_wilson']:.2f} times as wide as Wilson's)"
        )
    return f"The 95 % interval that is told holds the accuracy on the unlabelled items {', '.join(parts)}."
