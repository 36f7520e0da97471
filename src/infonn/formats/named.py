"""The formats of answers by name, once for the shell, the HTTP interface and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from infonn.queries import Kind

_CSV, _BYTES = "text/csv; charset=utf-8", "application/octet-stream"


@dataclass(frozen=True)
class Format:
    """What a person calls a format, how its file ends, and what it may be used for."""

    title: str
    ending: str
    content_type: str
    written: bool = True
    read: bool = True
    kinds: tuple[Kind, ...] = get_args(Kind)  # of questions whose answers it can hold

    @property
    def is_text(self) -> bool:
        return self.content_type != _BYTES


ANSWERS = {
    "csv": Format("Answers (CSV)", ".csv", _CSV),
    "jsonl": Format("JSON lines", ".jsonl", "application/x-ndjson"),
    "parquet": Format("Parquet", ".parquet", _BYTES),
    "salmon": Format("Salmon", "-salmon.csv", _CSV),
    "next": Format("NEXT", "-next.csv", _CSV),
    "cblearn": Format("cblearn", "-cblearn.npz", _BYTES),
    "r": Format("R", "-r.csv", _CSV, read=False),
    "things": Format("THINGS", "-things.txt", "text/plain; charset=utf-8", kinds=("odd_one_out",)),
}
WRITTEN = [name for name, format in ANSWERS.items() if format.written]
READ = [name for name, format in ANSWERS.items() if format.read]


def format_of_file(ending: str) -> str:
    """The format that a file's ending stands for: of those that end alike the first, and csv where none does."""
    own = {format.ending.rpartition(".")[2]: name for name, format in reversed(ANSWERS.items()) if format.read}
    return own.get(ending.lower().removeprefix("."), "csv")
