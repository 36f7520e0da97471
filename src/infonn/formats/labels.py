"""Labels as people write them: a CSV file with the columns `item` and `label`."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from infonn.errors import DataError, unknown_name
from infonn.maths.annotators import dawid_skene, majority


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


RULES = ("majority", "dawid_skene", "last")


def joined_labels(
    parts: Mapping[str, Mapping[int, int]], names: Sequence[str], classes: Sequence[str], rule: str | None = None
) -> dict[int, int]:
    """The labels of several files, each by one person. Where they disagree, `rule` says which label counts.

    "majority" and "dawid_skene" resolve as `maths.annotators` does, "last" takes the file named last; without a rule
    the first disagreement is told, with what may be asked for.
    """
    if rule is not None and rule not in RULES:
        raise unknown_name("Rule", rule, RULES)
    if rule is None:
        _refuse_disagreement(parts, names, classes)
    votes = [(item, person, label) for person, part in enumerate(parts.values()) for item, label in part.items()]
    if rule in (None, "last") or not votes:
        return {item: label for item, _, label in votes}
    items, people, labels = (np.array(column) for column in zip(*votes))
    resolve = dawid_skene if rule == "dawid_skene" else majority
    resolved = resolve(items, people, labels, len(classes))
    return dict(zip(resolved.items.tolist(), resolved.labels.tolist()))


def _refuse_disagreement(parts: Mapping[str, Mapping[int, int]], names: Sequence[str], classes: Sequence[str]) -> None:
    labels: dict[int, int] = {}
    said_by: dict[int, str] = {}
    for file, part in parts.items():
        for item, label in part.items():
            if labels.setdefault(item, label) != label:
                raise DataError(
                    f'{file} calls "{names[item]}" {classes[label]}; {said_by[item]} calls it '
                    f"{classes[labels[item]]}. Say which label counts: {', '.join(RULES)}."
                )
            said_by.setdefault(item, file)


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A CSV file, written in one step: readers see the old file or the new one."""
    beside = path.with_name(path.name + ".new")
    with beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    beside.replace(path)
