"""The order of the page: the paper's figures and tables first, then what goes beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infonn.experiments.report.evidence import Table, answers_to_targets
from infonn.experiments.report.paper import PAPER
from infonn.experiments.report.results import Result


@dataclass(frozen=True)
class Chapter:
    """A figure or table of the paper, or a topic of our own, with the results that belong to it."""

    heading: str
    shows: str  # what the paper's figure is said to show; empty for our own
    results: tuple[Result, ...]
    elsewhere: tuple[str, ...] = ()  # results told in an earlier chapter
    missing: tuple[str, ...] = ()  # experiments without results
    drawing: str = ""

    @property
    def targets(self) -> Table | None:
        """Answers to a target of all its results, for chapters of our own."""
        return None if self.shows else answers_to_targets({result.name: result.claims for result in self.results})


def chapters_of(results: Mapping[str, Result]) -> list[Chapter]:
    """Every part of the paper, then our own results; each result is told once."""
    told: set[str] = set()
    chapters = []
    for part in PAPER:
        new = [name for name in part.experiments if name in results and name not in told]
        elsewhere = tuple(name for name in part.experiments if name in told)
        missing = tuple(name for name in part.experiments if name not in results)
        told |= set(new)
        found = tuple(results[name] for name in new)
        chapters.append(Chapter(f"{part.label}. {part.title}", part.shows, found, elsewhere, missing, part.drawing))
    own = [result for name, result in results.items() if name not in told]
    beyond = sorted((result for result in own if result.name.startswith("beyond-")), key=lambda result: result.name)
    others = tuple(result for result in own if not result.name.startswith("beyond-"))
    if beyond:
        chapters.append(Chapter("Beyond the paper: fewer answers for the same embedding", "", tuple(beyond)))
    if others:
        chapters.append(Chapter("Further experiments", "", others))
    return chapters
