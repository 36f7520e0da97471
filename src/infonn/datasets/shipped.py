"""Reads the small data files that ship with the package."""

from __future__ import annotations

import csv
import gzip
import io
from importlib.resources import files


def read_table(name: str) -> dict[str, list[str]]:
    """The columns of a CSV file (plain or gzip) under `datasets/files`, by header."""
    content = files("infonn.datasets").joinpath("files", *name.split("/")).read_bytes()
    if name.endswith(".gz"):
        content = gzip.decompress(content)
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8")))
    return dict(zip(header, map(list, zip(*rows))))
