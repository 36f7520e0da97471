"""Labels as people write them: a CSV file with the columns `item` and `label`."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from infonn.errors import DataError


def read_labels(path: str | Path, names: Sequence[str], classes: Sequence[str]) -> dict[int, int]:
    """Item -> class, both as indices. Rows with an empty label are left out; anything else that makes no sense is
    refused with its line. An item may be named with or without the ending of its file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    reader = csv.DictReader(io.StringIO(text))
    if not {"item", "label"} <= set(reader.fieldnames or []):
        raise DataError(f"{path} has the columns {', '.join(reader.fieldnames or ['none'])}; it needs item and label.")
    by_name = {name: index for index, name in enumerate(names)}
    class_of = {name: index for index, name in enumerate(classes)}
    found: dict[int, int] = {}
    for row in reader:
        line, name, label = reader.line_num, (row["item"] or "").strip(), (row["label"] or "").strip()
        if not label:
            continue
        item = by_name.get(name, by_name.get(os.path.splitext(name)[0]))
        if item is None:
            raise DataError(f'Line {line} of {path} labels "{name}", and there is no such item.')
        if label not in class_of:
            raise DataError(f'Line {line} of {path} has the label "{label}". The classes are {", ".join(classes)}.')
        if found.get(item, class_of[label]) != class_of[label]:
            earlier = classes[found[item]]
            raise DataError(f'Line {line} of {path} calls "{name}" {label}; an earlier line calls it {earlier}.')
        found[item] = class_of[label]
    return found


def joined_labels(
    parts: Mapping[str, Mapping[int, int]], names: Sequence[str], classes: Sequence[str]
) -> dict[int, int]:
    """The labels of several files; files that disagree about an item are refused."""
    found: dict[int, int] = {}
    said_by: dict[int, str] = {}
    for file, labels in parts.items():
        for item, label in labels.items():
            if found.setdefault(item, label) != label:
                raise DataError(
                    f'{file} calls "{names[item]}" {classes[label]}; {said_by[item]} calls it {classes[found[item]]}.'
                )
            said_by.setdefault(item, file)
    return found


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A CSV file, written in one step: readers see the old file or the new one."""
    beside = path.with_name(path.name + ".new")
    with beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    beside.replace(path)
