"""The report as Markdown: `docs/paper.md`. The same results give the same text, so a test can compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infonn.experiments.report.chapters import Chapter, chapters_of
from infonn.experiments.report.evidence import (
    VERDICTS,
    Table,
    evidence_tables,
    last_values,
    tally,
    verdict_of,
    what_would_decide,
)
from infonn.experiments.report.results import Result
from infonn.experiments.report.summary import (
    MANY_CLAIMS,
    MANY_IMAGES,
    TARGETS_TITLE,
    claims_table,
    counts_of,
    groups_of_claims,
    remarks,
    sentences_table,
)
from infonn.experiments.report.telling import told

SIGNS = dict(zip(VERDICTS, "✓✗≈○"))

HEAD = """\
<!-- Written by `infonn report` from results/. Do not edit: run the command again. -->
# The paper, claim by claim

This page is made from the files in `results/` by `infonn report`; a test fails when the two disagree. It begins with
what *Active metric learning and classification using similarity queries* (Nadagouda, Xu, Davenport) says, sentence by
sentence, and what became of it here; then come the figures that tell most, and then every figure and table with our
run of the same experiment beside it: medians with quartiles over trials, and differences paired by seed with 95 %
bootstrap intervals. A claim *holds* where every interval it needs lies on the claimed side, *does not hold* where a
difference is on the other side on average, and is *undecided* otherwise; then the page says how many trials would
decide it four times in five. `infonn reproduce NAME` runs an experiment again.
"""


def render_markdown(results: Mapping[str, Result], images: Mapping[str, Sequence[str]]) -> str:
    """The page; `images` are paths of an experiment's figures, relative to it."""
    chapters = chapters_of(results)
    lines = [HEAD, *_sentences(results), *_telling(images), *_overview(chapters)]
    for chapter in chapters:
        lines += _chapter(chapter, images)
    return "\n".join(lines).rstrip() + "\n"


def _sentences(results: Mapping[str, Result]) -> Iterator[str]:
    if results:
        yield "## What the paper says\n"
        yield from _table(sentences_table(results))


def _telling(images: Mapping[str, Sequence[str]]) -> Iterator[str]:
    shown = told(images)
    if shown:
        yield "## The figures that tell most\n"
    for telling, image in shown:
        yield f"[{telling.experiment}](#{telling.experiment}): {telling.caption}\n"
        yield f"![{telling.caption}]({image})\n"


def _overview(chapters: Sequence[Chapter]) -> Iterator[str]:
    """How many claims hold, experiment by experiment."""
    results = [result for chapter in chapters for result in chapter.results]
    if not results:
        yield "No results are there yet.\n"
        return
    rows = [(f"[{result.name}](#{result.name})", result.title, *counts_of(result)) for result in results]
    verdicts = [verdict_of(claim) for result in results for claim in result.claims]
    total = ("", "**in all**", *(f"**{verdicts.count(verdict)}**" for verdict in VERDICTS))
    yield "## Every experiment\n"
    yield "How many of its claims hold:\n"
    yield from _table(Table(("experiment", "what it shows", *map(_marked, VERDICTS)), (*rows, total)))


def _chapter(chapter: Chapter, images: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield f"## {chapter.heading}\n"
    if chapter.shows:
        yield f"**The paper:** {chapter.shows}\n"
    if chapter.drawing:
        yield f"![{chapter.heading}](images/{chapter.drawing})\n"
    if chapter.targets is not None:
        yield f"{TARGETS_TITLE}:\n"
        yield from _table(chapter.targets)
    for result in chapter.results:
        yield from _result(result, images.get(result.name, ()))
    for name in chapter.elsewhere:
        yield f"Ours: see [{name}](#{name}) above.\n"
    for name in chapter.missing:
        yield f"No results of `{name}` are published here yet: `infonn reproduce {name}`.\n"


def _result(result: Result, images: Sequence[str]) -> Iterator[str]:
    yield f"### {result.name}\n"
    yield f"{result.title}: {result.made}. `results/{result.name}/results.json` `{result.digest}`\n"
    yield from (f"{sentence}\n" for sentence in remarks(result))
    shown = [f"![{result.title}]({image})\n" for image in images]
    yield from shown[:MANY_IMAGES]
    if len(shown) > MANY_IMAGES:
        yield from _folded(f"{len(shown) - MANY_IMAGES} more figures", shown[MANY_IMAGES:])
    if len(result.claims) > MANY_CLAIMS:
        yield from _grouped(result)
    else:
        for claim in result.claims:
            yield from _claim(claim, result.trials)
    yield from _folded("Last values: median (quartiles)", _table(last_values(result.curves)))
    if result.notes:
        yield "**What we changed, and why**\n"
        yield from (f"- {note}" for note in result.notes)
        yield ""


def _grouped(result: Result) -> Iterator[str]:
    for text, claims in groups_of_claims(result):
        yield from _folded(f"<b>{text}</b> Here: {tally(claims)}.", _table(claims_table(claims, result.trials)))


def _claim(claim: Mapping[str, Any], trials: int) -> Iterator[str]:
    sentence, tables = evidence_tables(claim["evidence"])
    parts = [f"**{_marked(verdict_of(claim))}.**", claim["text"], _capital(sentence), what_would_decide(claim, trials)]
    yield " ".join(part for part in parts if part) + "\n"
    if tables:
        yield from _folded("Evidence", (line for table in tables for line in _table(table)))


def _marked(verdict: str) -> str:
    return f"{SIGNS[verdict]} {verdict}"


def _folded(title: str, lines: Any) -> Iterator[str]:
    yield f'<details markdown="1"><summary>{title}</summary>\n'
    yield from lines
    yield "</details>\n"


def _table(table: Table) -> Iterator[str]:
    for place, row in enumerate([table.header, *table.rows]):
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
        if place == 0:
            yield "|" + "---|" * len(row)
    yield ""


def _capital(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence and not sentence.endswith(".") else sentence
