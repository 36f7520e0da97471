"""The report as one HTML page that needs no other file and no network."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from infonn import __version__
from infonn.experiments.report.chapters import Chapter, chapters_of
from infonn.experiments.report.evidence import VERDICTS, Table, evidence_tables, last_values, verdict_of
from infonn.experiments.report.markdown import MANY_IMAGES, TARGETS_TITLE, counts_of
from infonn.experiments.report.results import Result

KINDS = dict(zip(VERDICTS, ("yes", "no", "open", "open")))
TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


def render_page(
    results: Mapping[str, Result], images: Mapping[str, Sequence[Path]], drawings: Path = Path("docs/images")
) -> str:
    """The page; `images` are the files of each experiment's figures, `drawings` the folder of our own."""
    chapters = chapters_of(results)
    verdicts = [verdict_of(claim) for result in results.values() for claim in result.claims]
    numbers = [(KINDS[verdict], verdicts.count(verdict), f"claims: {verdict}") for verdict in VERDICTS]
    runs = sum(len(result.curves) for result in results.values())
    numbers.append(("", runs, f"learning curves in {len(results)} experiments"))
    return Template(Path(__file__).with_name("page.html").read_text()).substitute(
        numbers="".join(f'<div class="number {kind}"><b>{count:,}</b>{what}</div>' for kind, count, what in numbers),
        contents="".join(f'<a href="#c{place}">{_text(c.heading)}</a>' for place, c in enumerate(chapters)),
        overview=_overview([result for chapter in chapters for result in chapter.results]),
        chapters="\n".join(_chapter(place, chapter, images, drawings) for place, chapter in enumerate(chapters)),
        version=__version__,
    )


def _overview(results: Sequence[Result]) -> str:
    if not results:
        return ""
    rows = "".join(
        f'<tr><td><a href="#{result.name}">{result.name}</a></td><td>{_text(result.title)}</td>'
        + "".join(f"<td>{count}</td>" for count in counts_of(result))
        + "</tr>"
        for result in results
    )
    head = "".join(f"<th>{word}</th>" for word in ("experiment", "what it shows", *VERDICTS))
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _chapter(place: int, chapter: Chapter, images: Mapping[str, Sequence[Path]], drawings: Path) -> str:
    parts = [f'<h2 id="c{place}">{_text(chapter.heading)}</h2>']
    if chapter.shows:
        parts.append(f'<p class="said"><b>The paper:</b> {_text(chapter.shows)}</p>')
    if chapter.drawing and (drawings / chapter.drawing).exists():
        parts.append(_figures(chapter.heading, [drawings / chapter.drawing]))
    if chapter.targets is not None:
        parts.append(f"<p>{TARGETS_TITLE}:</p>{_table(chapter.targets)}")
    parts += [_result(result, images.get(result.name, ())) for result in chapter.results]
    parts += [f'<p class="quiet">Ours: see <a href="#{name}">{name}</a> above.</p>' for name in chapter.elsewhere]
    parts += [
        f'<p class="quiet">No results of <code>{name}</code> are there yet: <code>infonn reproduce {name}</code>.</p>'
        for name in chapter.missing
    ]
    return "\n".join(parts)


def _result(result: Result, images: Sequence[Path]) -> str:
    parts = [
        f'<h3 id="{result.name}">{_text(result.title)}</h3>',
        f'<p class="quiet"><code>{result.name}</code>: {_text(result.made)}.</p>',
        _figures(result.title, images[:MANY_IMAGES]),
        *_more_figures(result.title, images[MANY_IMAGES:]),
        '<div class="claims">',
        *(_claim(claim) for claim in result.claims),
        "</div>",
        f"<details><summary>Last values: median (quartiles)</summary>{_table(last_values(result.curves))}</details>",
    ]
    if result.notes:
        notes = "".join(f"<li>{_text(note)}</li>" for note in result.notes)
        parts.append(f"<details><summary>What we changed, and why</summary><ul>{notes}</ul></details>")
    return "\n".join(parts)


def _more_figures(title: str, paths: Sequence[Path]) -> list[str]:
    if not paths:
        return []
    return [f"<details><summary>{len(paths)} more figures</summary>{_figures(title, paths)}</details>"]


def _claim(claim: Mapping[str, Any]) -> str:
    sentence, tables = evidence_tables(claim["evidence"])
    verdict = verdict_of(claim)
    badge = f'<span class="badge {KINDS[verdict]}">{verdict}</span>'
    shown = f'<p class="quiet">{_text(sentence)}</p>' if sentence else ""
    folded = "".join(_table(table) for table in tables)
    evidence = f"<details><summary>Evidence</summary>{folded}</details>" if tables else ""
    return f'<div class="claim"><p>{badge}{_text(claim["text"])}</p>{shown}{evidence}</div>'


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in table.header)
    rows = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _figures(title: str, paths: Sequence[Path]) -> str:
    """Side by side where they are small enough."""
    drawn = "".join(f'<img alt="{_text(title)}" src="{_embedded(path)}">' for path in paths)
    return f'<div class="figure">{drawn}</div>' if drawn else ""


def _embedded(path: Path) -> str:
    return f"data:{TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _text(text: str) -> str:
    """Escaped; links of the Markdown page, which lead nowhere from here, become their words."""
    return html.escape(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
