"""Label Studio's JSON, there and back: its labelling config, tasks with predictions out, labels in."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from infonn.errors import DataError
from infonn.records import Item

_UPLOAD_PREFIX = re.compile(r"^[0-9a-f]{8}-")  # what Label Studio puts before the name of an uploaded file


@dataclass(frozen=True)
class Choices:
    """The question of a project: its `<Choices>`, what they are about, and the classes."""

    name: str
    to_name: str
    classes: tuple[str, ...]


def read_config(config: str) -> Choices:
    """The first `<Choices>` of a labelling config."""
    try:
        root = ElementTree.fromstring(config)
    except ElementTree.ParseError as error:
        raise DataError(f"The labelling config is not XML: {error}.") from error
    found = root.find(".//Choices")
    if found is None:
        raise DataError("The labelling config has no <Choices>; infonn learns the class of an item from them.")
    classes = tuple(str(choice.get("alias") or choice.get("value") or "") for choice in found.iter("Choice"))
    return Choices(found.get("name", ""), found.get("toName", ""), classes)


def write_config(classes: Sequence[str], shows: str = "Image", key: str = "image") -> str:
    """A labelling config that asks for the class of each item; `shows` is Image, Text or Audio."""
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, shows, name="item", value=f"${key}")
    choices = ElementTree.SubElement(view, "Choices", name="class", toName="item", choice="single")
    for name in classes:
        ElementTree.SubElement(choices, "Choice", value=name)
    return ElementTree.tostring(view, encoding="unicode")


def write_tasks(items: Sequence[Item], urls: Mapping[str, str] | None = None) -> str:
    """Tasks to import into a project, one per item. `urls` says by name where the server finds a file."""
    tasks = []
    for item in items:
        data = {"item": item.name, "text": item.text or item.name}
        if item.image or item.audio:
            data["image" if item.image else "audio"] = (urls or {}).get(item.name, item.image or item.audio or "")
        tasks.append({"data": data})
    return json.dumps(tasks, indent=1, ensure_ascii=False)


def prediction(choices: Choices, label: str | None, score: float, version: str) -> dict[str, Any]:
    """What a task says of a model: the class it expects, where it expects one, and the score tasks are sorted by."""
    result = [] if label is None else [_chosen(choices, label)]
    return {"result": result, "score": score, "model_version": version}


def _chosen(choices: Choices, label: str) -> dict[str, Any]:
    return {
        "from_name": choices.name,
        "to_name": choices.to_name,
        "type": "choices",
        "value": {"choices": [label]},
    }


def item_of(task: Mapping[str, Any], item_at: Mapping[str, int]) -> int | None:
    """The item that a task shows: named in its data as `item`, or by the name of a file; None where there is none."""
    data = task.get("data") or {}
    if data.get("item") in item_at:
        return item_at[data["item"]]
    for value in data.values():
        if isinstance(value, str):
            for name in _names_in(value):
                if name in item_at:
                    return item_at[name]
    return None


def _names_in(value: str) -> list[str]:
    """What a task's text may be the name of: itself, or the file a URL leads to, without upload prefix and ending."""
    parts = urlsplit(value)
    path = PurePosixPath(unquote(parts.query.partition("d=")[2] or parts.path))
    bare = _UPLOAD_PREFIX.sub("", path.name)
    return [value, str(path.with_suffix("")), path.stem, PurePosixPath(bare).stem] if path.name else [value]


def label_of(task: Mapping[str, Any]) -> str | None:
    """The class that the last finished annotation of a task chose."""
    last: tuple[str, str] | None = None
    for annotation in task.get("annotations") or []:
        label = chosen_label(annotation)
        when = str(annotation.get("updated_at") or annotation.get("created_at") or "")
        if label is not None and (last is None or when >= last[0]):
            last = when, label
    return None if last is None else last[1]


def chosen_label(annotation: Mapping[str, Any]) -> str | None:
    """The class an annotation chose; None where it was cancelled, or chose none or several."""
    if annotation.get("was_cancelled"):
        return None
    for region in annotation.get("result") or []:
        chosen = (region.get("value") or {}).get("choices") or []
        if region.get("type") == "choices" and len(chosen) == 1:
            return str(chosen[0])
    return None


def read_labels(text: str, names: Sequence[str], classes: Sequence[str]) -> dict[int, int]:
    """Item -> class, both as indices, of a JSON export; tasks without a label are left out."""
    try:
        tasks = json.loads(text)
    except ValueError as error:
        raise DataError(f"The export is not JSON: {error}.") from error
    if not isinstance(tasks, list):
        raise DataError(f"The export is a {type(tasks).__name__}; Label Studio's JSON format is a list of tasks.")
    item_at = {name: index for index, name in enumerate(names)}
    found: dict[int, int] = {}
    for number, task in enumerate(tasks):
        label = label_of(task)
        if label is None:
            continue
        item = item_of(task, item_at)
        if item is None:
            raise DataError(f"Task {number} of the export shows {task.get('data')}, and there is no such item.")
        if label not in classes:
            raise DataError(f'Task {number} has the label "{label}". The classes are {", ".join(classes)}.')
        found[item] = list(classes).index(label)
    return found
