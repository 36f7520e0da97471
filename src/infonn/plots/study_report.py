"""A study's report: one page to read and to print, with its map, its curve, its reliability and its methods."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import numpy as np

from infonn.arrays import FloatArray

WIDTH, HEIGHT, MARGIN = 1000, 680, 50
_LETTER = 6.6  # pixels of an average letter of a name


@dataclass(frozen=True)
class CurvePoint:
    """Accuracy after so many answers, with its interval."""

    n_answers: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class MapOf:
    """One map: (items, 2) points, NaN for an item without a place, and how uncertain each place is, in their unit."""

    title: str
    points: FloatArray
    spread: FloatArray | None = None


@dataclass(frozen=True)
class StudyReport:
    """What the page says. Every text is plain; `people` is a table with its header."""

    title: str
    made: str
    summary: Sequence[tuple[str, str]]
    item_names: Sequence[str]
    map: MapOf | None = None
    map_text: str = ""
    group_maps: Sequence[MapOf] = ()
    group_text: str = ""
    curve: Sequence[CurvePoint] = ()
    curve_text: str = ""
    chance: float = 0.0
    findings: Sequence[tuple[str, str]] = ()
    people: Sequence[Sequence[str]] = ()
    people_text: str = ""
    methods: Sequence[str] = ()
    cite: Sequence[str] = field(default_factory=tuple)


def report_html(report: StudyReport, style: str) -> str:
    """The page; `style` is the element that brings the style sheet, a <link> or a <style>."""
    parts = [
        _section("Summary", _summary(report.summary)),
        _section("Map of the items", _map_part(report)),
        _section("Maps by group", _groups(report)) if report.group_maps else "",
        _section("Accuracy on hold-out answers", _curve_part(report)),
        _section("How far it can be trusted", _findings(report.findings)),
        _section("People", _text(report.people_text) + (_table(report.people) if report.people else "")),
        _section("Methods", "".join(map(_text, report.methods))),
        _section("How to cite", "".join(map(_text, report.cite))),
    ]
    page = Template(Path(__file__).with_name("study_report.html").read_text(encoding="utf-8"))
    return page.substitute(
        title=html.escape(report.title), made=html.escape(report.made), style=style, sections="\n".join(parts)
    )


# --- figures ---------------------------------------------------------------------------------------------------


def map_svg(map: MapOf, names: Sequence[str], frame: FloatArray | None = None) -> str:
    """Dots with as many names as find room; halos show how uncertain places are. The scale fits the points `frame`."""
    frame = map.points if frame is None else frame
    told = np.isfinite(map.points).all(axis=1)
    low, high = np.nanmin(frame, axis=0), np.nanmax(frame, axis=0)
    room = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    unit = float(min(room / np.maximum(high - low, 1e-12)))
    middle = (low + high) / 2
    places = np.array([WIDTH / 2, HEIGHT / 2]) + (map.points - middle) * [unit, -unit]
    dots, texts, halos = [], [], []
    taken: list[tuple[float, float, float, float]] = [(x - 4, y - 4, x + 4, y + 4) for x, y in places[told]]
    for i in np.flatnonzero(told).tolist():
        x, y = places[i]
        name = html.escape(_short(names[i]))
        dots.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{html.escape(names[i])}</title></circle>')
        if map.spread is not None and np.isfinite(map.spread[i]):
            halos.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{min(map.spread[i] * unit, 200):.1f}"/>')
        wide = _LETTER * len(_short(names[i]))
        sides = {"start": (x + 5, y - 7, x + 8 + wide, y + 7), "end": (x - 8 - wide, y - 7, x - 5, y + 7)}
        for anchor, box in sides.items():  # right of its dot, or left of it
            if box[0] > 0 and box[2] < WIDTH and all(_apart(box, other) for other in taken):
                taken.append(box)
                at = x + 7 if anchor == "start" else x - 7
                texts.append(f'<text x="{at:.1f}" text-anchor="{anchor}" y="{y + 4:.1f}">{name}</text>')
                break
    return (
        f'<svg class="map" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(map.title)}">'
        f'<g class="halo">{"".join(halos)}</g><g class="dot">{"".join(dots)}</g>{"".join(texts)}</svg>'
    )


def curve_svg(points: Sequence[CurvePoint], chance: float) -> str:
    """Accuracy against answers with its interval, and chance."""
    width, height, left, right, top, bottom = 1000, 400, 64, 20, 14, 52
    most = max(point.n_answers for point in points)
    least = max(0.0, np.floor(10 * (min(chance, *(point.low for point in points)) - 0.02)) / 10)

    def x(n: float) -> float:
        return left + (width - left - right) * n / most

    def y(share: float) -> float:
        return top + (height - top - bottom) * (1 - share) / (1 - least)

    step = 0.1 if least > 0.45 else 0.2
    shares = [1 - step * i for i in range(int((1 - least) / step + 1e-9) + 1)]
    grid = "".join(
        f'<line x1="{left}" x2="{width - right}" y1="{y(s):.1f}" y2="{y(s):.1f}"/>'
        f'<text x="{left - 8}" y="{y(s) + 5:.1f}" text-anchor="end">{100 * s:.0f} %</text>'
        for s in shares
    )
    ticks = "".join(
        f'<text x="{x(n):.1f}" y="{height - bottom + 22}" text-anchor="middle">{n:,.0f}</text>' for n in _ticks(most)
    )
    band = " ".join(
        [f"{x(p.n_answers):.1f},{y(p.high):.1f}" for p in points]
        + [f"{x(p.n_answers):.1f},{y(p.low):.1f}" for p in reversed(points)]
    )
    line = " ".join(f"{x(p.n_answers):.1f},{y(p.accuracy):.1f}" for p in points)
    last = points[-1]
    said = f"Accuracy {100 * last.accuracy:.0f} % after {last.n_answers:,} answers"
    return (
        f'<svg class="curve" viewBox="0 0 {width} {height}" role="img" aria-label="{said}">'
        f'<g class="grid">{grid}</g>{ticks}'
        f'<line class="chance" x1="{left}" x2="{width - right}" y1="{y(chance):.1f}" y2="{y(chance):.1f}"/>'
        f'<text x="{width - right}" y="{y(chance) - 6:.1f}" text-anchor="end">chance</text>'
        f'<polygon points="{band}"/><polyline points="{line}"/>'
        f'<circle cx="{x(last.n_answers):.1f}" cy="{y(last.accuracy):.1f}" r="5"/>'
        f'<text x="{(left + width - right) / 2}" y="{height - 6}" text-anchor="middle">'
        "answers that trained the model</text></svg>"
    )


def _ticks(most: int) -> list[float]:
    """Round numbers up to `most`, four to eight of them."""
    power = 10.0 ** np.floor(np.log10(max(most, 1)))
    step = next(power * size for size in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0) if most / (power * size) <= 8)
    return [step * i for i in range(int(most / step) + 1)]


def _apart(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[2] < other[0] or one[0] > other[2] or one[3] < other[1] or one[1] > other[3]


def _short(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:25]}…"


# --- parts of the page -----------------------------------------------------------------------------------------


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _text(text: str) -> str:
    return f"<p>{_escaped(text)}</p>" if text else ""


def _escaped(text: str) -> str:
    """As HTML, in which a percent sign stays with its number."""
    return html.escape(text).replace(" %", "\N{NO-BREAK SPACE}%")


def _summary(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>" for name, value in rows)
    return f'<dl class="summary">{cells}</dl>'


def _map_part(report: StudyReport) -> str:
    if report.map is None:
        return _text("There is no map yet: the first fit draws it.")
    scrolls = 'class="scroll" tabindex="0" role="region" aria-label="Map of the items"'
    return f"<div {scrolls}>{map_svg(report.map, report.item_names)}</div>{_text(report.map_text)}"


def _groups(report: StudyReport) -> str:
    every = np.vstack([one.points for one in report.group_maps])
    figures = "".join(
        f"<figure>{map_svg(one, report.item_names, every)}<figcaption>{html.escape(one.title)}</figcaption></figure>"
        for one in report.group_maps
    )
    return f'{_text(report.group_text)}<div class="groups">{figures}</div>'


def _curve_part(report: StudyReport) -> str:
    drawn = curve_svg(report.curve, report.chance) if len(report.curve) > 1 else ""
    return drawn + _text(report.curve_text)


def _findings(findings: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<dt>{html.escape(title)}</dt><dd>{_escaped(sentence)}</dd>" for title, sentence in findings)
    return f'<dl class="findings">{rows}</dl>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    scrolls = 'class="scroll" tabindex="0" role="region" aria-label="Table of people"'
    return f"<div {scrolls}><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
