"""What both forms of the page say of results: the paper's sentences, claims in groups, what the trials can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infonn.experiments.report.evidence import (
    VERDICTS,
    Table,
    evidence_tables,
    moved_by_a_second_run,
    resolution,
    tally,
    verdict_of,
    what_would_decide,
)
from infonn.experiments.report.results import Result
from infonn.experiments.report.sentences import SENTENCES

TARGETS_TITLE = "Answers to a target, median (quartiles) over trials, the shared start left out"
MANY_IMAGES = 4  # beyond these, figures are folded away
MANY_CLAIMS = 8  # beyond these, claims stand in tables that are folded away


def sentences_table(results: Mapping[str, Result]) -> Table:
    """The paper's sentences: what became of each, where it was tested, and what the authors' program shows."""
    rows = []
    for sentence in SENTENCES:
        tested = sentence.tested_by(results)
        held: dict[str, list[bool]] = {}
        for result, claim in tested:
            held.setdefault(result.name, []).append(claim["holds"] is True)
        where = ", ".join(f"[{name}](#{name}) {sum(each)}/{len(each)}" for name, each in held.items())
        rows.append((sentence.text, tally([claim for _, claim in tested]), where, sentence.theirs))
    return Table(("the paper says", "here", "tested in (holds / tests)", "the authors' program"), tuple(rows))


def counts_of(result: Result) -> tuple[str, ...]:
    """How many claims of a result got each verdict; nothing in place of 0."""
    verdicts = [verdict_of(claim) for claim in result.claims]
    return tuple(str(verdicts.count(verdict) or "") for verdict in VERDICTS)


def remarks(result: Result) -> list[str]:
    """What its trials can tell, and how far a second run moved it."""
    moved = ""
    if result.again is not None:
        moved = moved_by_a_second_run(result.curves, result.again.curves, result.again.machine)
    return [sentence for sentence in (resolution(result.claims, result.trials), moved) if sentence]


def groups_of_claims(result: Result) -> list[tuple[str, list[dict[str, Any]]]]:
    """The claims of a result by the sentence of the paper that they test; the rest are targets of ours."""
    groups = []
    for sentence in SENTENCES:
        own = [claim for _, claim in sentence.tested_by({result.name: result})]
        if own:
            groups.append((sentence.text, own))
    told = [claim for _, claims in groups for claim in claims]
    rest = [claim for claim in result.claims if claim not in told]
    return [*groups, *([("Targets of ours.", rest)] if rest else [])]


def claims_table(claims: Sequence[Mapping[str, Any]], trials: int) -> Table:
    """Claims with verdict and evidence, one row each."""
    rows = []
    for claim in claims:
        sentence, _ = evidence_tables(claim["evidence"])
        shown = " ".join(
            part for part in (f"{sentence}." if sentence else "", what_would_decide(claim, trials)) if part
        )
        rows.append((claim["text"], verdict_of(claim), shown))
    return Table(("claim", "verdict", "evidence"), tuple(rows))
