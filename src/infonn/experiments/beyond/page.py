"""docs/selection.md: why the default is what it is, in numbers from `results/` alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from infonn.experiments.beyond.comparison import COMPARED, OURS, RANDOM

EXPERIMENTS = ("beyond-mds", "beyond-synthetic", "beyond-food73", "beyond-eggs")
ABLATION, CEILINGS = "beyond-ablation", "beyond-ceilings"


def selection_page(claims: Mapping[str, Sequence[Mapping[str, Any]]], images: Mapping[str, Sequence[str]]) -> str:
    """The page; `claims` of each experiment with results, `images` the paths of its figures."""
    published = {name: claims[name] for name in EXPERIMENTS if name in claims}
    text = Template(Path(__file__).with_name("page.md").read_text(encoding="utf-8"))
    return text.safe_substitute(
        levels=_table(
            "Accuracy (tau for `beyond-mds`) after so many answers beyond the shared start, median over trials:",
            ("experiment", "answers", "target", *COMPARED, ""),
            [row for name, own in published.items() for claim in own for row in _levels(name, claim)],
        ),
        answers=_table(
            "Answers to a target, median (quartiles) over trials:",
            ("experiment", "target", *COMPARED, f"{OURS} / {RANDOM}", ""),
            [row for name, own in published.items() for claim in own for row in _answers(name, claim)],
        ),
        figures="\n".join(_figures(name, claims, images) for name in EXPERIMENTS),
        ceilings=_ceilings(claims),
        ablation=_ablation(claims.get(ABLATION, ())),
        ablation_figures=_figures(ABLATION, claims, images),
    )


def _figures(name: str, claims: Mapping[str, Any], images: Mapping[str, Sequence[str]]) -> str:
    """The figures of an experiment, or that it has no results."""
    if name not in claims:
        return f"No results of `{name}` are published here yet: `infonn reproduce {name}`.\n"
    return "\n".join(f"![{name}]({image})\n" for image in images.get(name, ()))


def _ceilings(claims: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """What could be reached at best where the default missed its target."""
    rows = []
    for claim in claims.get(CEILINGS, ()):
        evidence = claim["evidence"]
        ours = _reached(claims.get(evidence["experiment"], ()), evidence["missed"], evidence["what"])
        best, wanted, sign = evidence["reached"], evidence["wanted"], -1 if evidence["at most"] else 1
        if ours is None or best is None or sign * (ours - wanted) >= 0:
            continue  # not measured, or not missed
        cells = (f"{value:.3f}" for value in (wanted, ours, best))
        part = evidence["missed"].rsplit("-", 1)[0]
        rows.append((f"{evidence['experiment']}, {part}", evidence["what"], evidence["ceiling"], *cells))
    header = ("experiment", "what", "ceiling", "target", OURS, "at the ceiling")
    return _table("Targets that the default missed, and what is reached at the ceiling (medians):", header, rows)


def _reached(claims: Sequence[Mapping[str, Any]], id: str, what: str) -> float | None:
    """What the default reached: its median level, or its share of random's answers."""
    for claim in claims:
        if claim["id"] == id:
            evidence = claim["evidence"]
            if what in evidence:
                return None if evidence[what][OURS] is None else float(evidence[what][OURS][1])
            ratio = evidence.get("ratio of medians")
            return None if ratio is None else float(ratio)
    return None


def _ablation(claims: Sequence[Mapping[str, Any]]) -> str:
    """For each part of the default, what another choice adds on each data set."""
    names = list(dict.fromkeys(key.split(": ")[0] for claim in claims for key in claim["evidence"]))
    rows = []
    for claim in claims:
        part = claim["id"].removeprefix("ablation-").replace("-", " ")
        for method in dict.fromkeys(key.split(": ")[1] for key in claim["evidence"]):
            found = [claim["evidence"].get(f"{name}: {method}") for name in names]
            rows.append((part, method, *("" if entry is None else _difference(entry) for entry in found)))
    trials = {entry["trials"] for claim in claims for entry in claim["evidence"].values()}
    title = (
        "Accuracy (tau for mds) that another choice adds to the default, mean over all rounds (95 % interval of the "
        f"mean over {min(trials, default=0)} paired trials; ↑ and ↓ mark intervals without 0):"
    )
    return _table(title, ("part", "instead", *names), rows)


def _difference(entry: Mapping[str, float]) -> str:
    sign = "" if entry["low"] <= 0 <= entry["high"] else " ↑" if entry["low"] > 0 else " ↓"
    return f"{entry['mean']:+.3f} ({entry['low']:+.3f} to {entry['high']:+.3f}){sign}"


def _levels(name: str, claim: Mapping[str, Any]) -> list[tuple[str, ...]]:
    if not claim["id"].endswith("-level"):
        return []
    return [
        (
            _named(name, claim),
            after.removeprefix("after "),
            f"{entry['target']:g}",
            *(_median(entry[method]) for method in COMPARED),
            _sign(None if entry[OURS] is None else entry[OURS][1] >= entry["target"]),
        )
        for after, entry in claim["evidence"].items()
    ]


def _answers(name: str, claim: Mapping[str, Any]) -> list[tuple[str, ...]]:
    if not claim["id"].endswith("-answers"):
        return []
    evidence = claim["evidence"]
    ratio = evidence["ratio of medians"]
    shown = "never" if ratio is None else f"{ratio:.2f}"
    counts = (_count(evidence[method]) for method in COMPARED)
    return [(_named(name, claim), f"{evidence['target']:g}", *counts, shown, _sign(claim["holds"]))]


def _named(name: str, claim: Mapping[str, Any]) -> str:
    """The experiment, and which part of it."""
    part = claim["id"].rsplit("-", 1)[0]
    return name if name.endswith(part) else f"{name}, {part}"


def _median(levels: Sequence[float] | None) -> str:
    return "" if levels is None else f"{levels[1]:.3f}"


def _count(spread: Mapping[str, float | None]) -> str:
    low, middle, high = (spread[key] for key in ("low", "median", "high"))
    if middle is None:
        return "never" if low is None else f"never ({low:.0f} to never)"
    return f"{middle:.0f} ({low:.0f} to {'never' if high is None else f'{high:.0f}'})"


def _sign(holds: bool | None) -> str:
    return {True: "✓", False: "✗", None: "≈"}[holds]


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return title + "\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)
