"""CSV tables of other tools: rows by column name, and cells read with the line named when they cannot be."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from infonn.errors import DataError


def rows_of(text: str, needed: Sequence[str], tool: str) -> list[tuple[int, dict[str, str]]]:
    """(line, cells by column) of a CSV table that has the `needed` columns."""
    try:
        reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
        header = list(reader.fieldnames or ())
        for column in needed:
            if column not in header:
                raise DataError(f"The table has no column `{column}`; it is not one of {tool}'s.")
        rows = []
        for row in reader:
            if None in row or None in row.values():
                raise DataError(f"Line {reader.line_num} does not have as many cells as the header.")
            rows.append((reader.line_num, dict(row)))
    except csv.Error as error:
        raise DataError(f"The file cannot be read as CSV: {error}.") from error
    return rows


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A CSV table; None is an empty cell."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows({name: "" if row.get(name) is None else row[name] for name in columns} for row in rows)
    return buffer.getvalue()


def whole(row: Mapping[str, str], column: str, line: int) -> int:
    """A cell that holds an index."""
    try:
        number = float(row[column])
        if number != int(number):
            raise ValueError
        return int(number)
    except (ValueError, OverflowError):
        raise DataError(f'Line {line}: column "{column}" is "{row[column]}"; it must be a whole number.') from None


def number(row: Mapping[str, str], column: str, line: int) -> float | None:
    """A cell that holds a number, or nothing."""
    text = row.get(column, "").strip()
    if text.lower() in ("", "nan", "none"):
        return None
    try:
        value = float(text)
    except ValueError:
        raise DataError(f'Line {line}: column "{column}" is "{text}"; it must be a number.') from None
    return value if math.isfinite(value) else None
