"""A whole study as one ZIP file: settings, items with their files, and every answer; restored on another machine."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from infonn.arrays import FloatArray
from infonn.contracts.storage import Answered
from infonn.errors import DataError
from infonn.formats.archives import check_size
from infonn.formats.csv import answer_rows, read_json_lines, write_json_lines
from infonn.formats.media import safe_image, safe_sound, safe_video
from infonn.records import Deletion, Item, ItemFile, StudyRecord

FORMAT = 1
MAX_BYTES = 2 << 30
MAX_RATIO = 60  # of the settings and items, unpacked bytes per packed byte; they come to about 10


@dataclass(frozen=True)
class Bundle:
    """Everything of a study but who its people are."""

    record: StudyRecord
    items: Sequence[Item]
    features: FloatArray | None = None
    files: Sequence[ItemFile] = ()
    answered: Sequence[Answered] = ()  # undone and excluded ones too
    excluded: set[str] = field(default_factory=set)
    deletions: Sequence[Deletion] = ()  # what is missing, as people asked for it


def write(bundle: Bundle) -> bytes:
    """The study as a file. Only text is packed: what packs too well is refused when it is read."""
    buffer = io.BytesIO()
    names = [item.name for item in bundle.items]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        study = {
            "format": FORMAT,
            "study": {key: value for key, value in bundle.record.to_json().items() if key != "key"},
            "items": [item.to_json() for item in bundle.items],
            "files": [{"path": file.path, "content_type": file.content_type} for file in bundle.files],
            "excluded": sorted(bundle.excluded),
            "deletions": [deletion.to_json() for deletion in bundle.deletions],
        }
        archive.writestr("study.json", json.dumps(study, indent=1))
        archive.writestr("answers.jsonl", write_json_lines(answer_rows(bundle.answered, names, bundle.excluded)))
        if bundle.features is not None:
            rows = io.BytesIO()
            np.save(rows, bundle.features, allow_pickle=False)
            archive.writestr("features.npy", rows.getvalue(), zipfile.ZIP_STORED)
        for number, file in enumerate(bundle.files):
            archive.writestr(f"files/{number}", file.data, zipfile.ZIP_STORED)
    return buffer.getvalue()


def read(data: bytes, name: str | None = None) -> Bundle:
    """The study in a file that `write` wrote; `name` is what it will be called here."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_size(archive.infolist(), len(data), MAX_BYTES)
            settings = archive.getinfo("study.json")
            check_size([settings], settings.compress_size, MAX_BYTES, MAX_RATIO)
            return _bundle(archive, name)
    except DataError:
        raise
    except Exception as error:  # a file from anywhere: zipfile, json and numpy raise anything
        raise DataError("The file cannot be read as a study that infonn exported.") from error


def _bundle(archive: zipfile.ZipFile, name: str | None) -> Bundle:
    study = json.loads(archive.read("study.json"))
    if study["format"] != FORMAT:
        raise DataError(f"The file has format {study['format']}; this infonn reads format {FORMAT}.")
    record = StudyRecord.from_json(study["study"])
    renamed = name or record.name
    spec = {**record.spec, "study": {**record.spec.get("study", {}), "name": renamed}}
    created_at, retention_days = float(record.created_at), float(record.retention_days)
    record = StudyRecord(
        renamed,
        spec,
        int(record.seed),
        created_at,
        bool(record.archived),
        retention_days=retention_days,
        paused=bool(record.paused),
    )
    items = [Item.from_json(item) for item in study["items"]]
    files = []
    for number, entry in enumerate(study["files"]):
        sort = str(entry["content_type"]).partition("/")[0]
        make_safe = {"image": safe_image, "video": safe_video}.get(sort, safe_sound)
        files.append(ItemFile(entry["path"], *make_safe(archive.read(f"files/{number}"), entry["path"])))
    features = None
    if "features.npy" in archive.namelist():
        features = np.load(io.BytesIO(archive.read("features.npy")), allow_pickle=False)
    text = archive.read("answers.jsonl").decode()
    answered = read_json_lines(text, record.name, [item.name for item in items])
    excluded = {str(person) for person in study["excluded"]}
    deletions = [Deletion.from_json(deletion) for deletion in study.get("deletions", [])]
    return Bundle(record, items, features, files, answered, excluded, deletions)
