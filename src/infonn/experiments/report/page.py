"""The report as one HTML page that needs no other file and no network; on screen, or all unfolded to be printed."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from infonn import __version__
from infonn.experiments.report.chapters import Chapter, chapters_of
from infonn.experiments.report.evidence import (
    VERDICTS,
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

KINDS = dict(zip(VERDICTS, ("yes", "no", "open", "open")))
TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


def render_page(
    results: Mapping[str, Result],
    images: Mapping[str, Sequence[Path]],
    drawings: Path = Path("docs/images"),
    printed: bool = False,
) -> str:
    """The page; `images` are the files of each experiment's figures, `drawings` the folder of our own.

    `printed` leaves nothing folded: what a browser prints of it, or saves as PDF, is all there is.
    """

    def drawings_of(chapter: Chapter) -> list[Path]:
        path = drawings / chapter.drawing
        return [path] if chapter.drawing and path.exists() else []

    chapters = chapters_of(results)
    here = Path(__file__).parent
    environment = Environment(loader=FileSystemLoader(here), autoescape=True, undefined=StrictUndefined)
    environment.filters["words"] = _words
    return environment.get_template("page.html").render(
        printed=printed,
        numbers=_numbers(results),
        sentences=sentences_table(results),
        telling=told(images),
        results=[result for chapter in chapters for result in chapter.results],
        chapters=chapters,
        images={name: list(paths) for name, paths in images.items()},
        drawings_of=drawings_of,
        embedded=_embedded,
        verdicts=list(VERDICTS),
        verdict=verdict_of,
        kinds=KINDS,
        evidence=evidence_tables,
        would_decide=what_would_decide,
        counts=counts_of,
        remarks=remarks,
        groups=groups_of_claims,
        tally=tally,
        claims_table=claims_table,
        last_values=last_values,
        many_images=10**6 if printed else MANY_IMAGES,
        many_claims=MANY_CLAIMS,
        targets_title=TARGETS_TITLE,
        version=__version__,
    )


def _numbers(results: Mapping[str, Result]) -> list[tuple[str, int, str]]:
    verdicts = [verdict_of(claim) for result in results.values() for claim in result.claims]
    counted = [(KINDS[verdict], verdicts.count(verdict), f"claims: {verdict}") for verdict in VERDICTS]
    curves = sum(len(result.curves) for result in results.values())
    return [*counted, ("", curves, f"learning curves in {len(results)} experiments")]


def _embedded(path: Path) -> str:
    return f"data:{TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _words(text: str) -> str:
    """Links of the Markdown page, which lead nowhere from here, as their words."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
