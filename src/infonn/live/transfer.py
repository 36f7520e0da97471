"""Studies in and out: new ones, whole ones, their answers as files; for the owner's interface and the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any

from pydantic import StringConstraints, TypeAdapter, ValidationError

from infonn.contracts.storage import Answered, LiveStorage
from infonn.datasets.items import ItemSet
from infonn.errors import DataError, StudyError, unknown_name
from infonn.formats import bundle, cblearn, next, r, salmon, things
from infonn.formats.csv import (
    answer_rows,
    read_csv,
    read_json_lines,
    read_parquet,
    write_csv,
    write_json_lines,
    write_parquet,
)
from infonn.formats.named import ANSWERS, READ, WRITTEN
from infonn.live.studies import servings_for
from infonn.records import ItemFile, StudyRecord
from infonn.specs.build import new_record
from infonn.specs.settings import check_spec

Name = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.\-]*$")]


def exported(storage: LiveStorage, record: StudyRecord, format: str) -> tuple[bytes, str, str]:
    """(bytes, content type, file ending) of a study's answers."""
    if format not in WRITTEN:
        raise unknown_name("Format", format, WRITTEN)
    names = [item.name for item in storage.items(record.name)]
    if format in _TABLES:
        excluded = {person.name for person in storage.respondents(record.name) if person.excluded}
        data = _TABLES[format](answer_rows(storage.answers(record.name, None, everything=True), names, excluded))
    else:
        everything = storage.answers(record.name, None)
        answered = [pair for pair in everything if pair.question.purpose in ("train", "hold_out")]
        data = _WRITERS[format](answered, names, record)
    encoded = data if isinstance(data, bytes) else data.encode(errors="replace")
    return encoded, ANSWERS[format].content_type, ANSWERS[format].ending


_TABLES: dict[str, Callable[[Iterable[Mapping[str, Any]]], str | bytes]] = {  # everything on record
    "csv": write_csv,
    "jsonl": write_json_lines,
    "parquet": write_parquet,
}
_WRITERS: dict[str, Callable[[list[Answered], list[str], StudyRecord], str | bytes]] = {  # the answers in force
    "salmon": lambda answered, names, record: salmon.write(answered, names, record.created_at),
    "next": lambda answered, names, record: next.write(answered, names, record.name),
    "cblearn": lambda answered, names, _: cblearn.write(answered, names),
    "r": lambda answered, names, _: r.write(answered, names),
    "things": lambda answered, names, _: things.write(answered),
}
_READERS: dict[str, Callable[[Any, str, list[str]], list[Answered]]] = {
    "csv": read_csv,
    "jsonl": read_json_lines,
    "parquet": read_parquet,
    "salmon": salmon.read,
    "next": next.read,
    "cblearn": cblearn.read,
    "things": things.read,
}


def imported(storage: LiveStorage, record: StudyRecord, data: bytes, format: str) -> tuple[int, int]:
    """Answers read and answers new."""
    if format not in READ:
        raise unknown_name("Format", format, READ)
    names = [item.name for item in storage.items(record.name)]
    answered = _READERS[format](_text(data) if ANSWERS[format].is_text else data, record.name, names)
    return len(answered), storage.import_answers(record.name, _for_study(answered, record))


def bundle_of(storage: LiveStorage, record: StudyRecord) -> bundle.Bundle:
    files = [file for path in storage.files(record.name) if (file := storage.file(record.name, path)) is not None]
    excluded = {person.name for person in storage.respondents(record.name) if person.excluded}
    everything = storage.answers(record.name, None, everything=True)
    items, features = storage.items(record.name), storage.features(record.name)
    return bundle.Bundle(record, items, features, files, everything, excluded, storage.deletions(record.name))


def restored(storage: LiveStorage, data: bytes, name: str | None) -> StudyRecord:
    """The study in a bundle, put into the storage: all of it, or nothing."""
    kept = bundle.read(data, name)
    items = ItemSet(tuple(kept.items), kept.features)
    record = new_record(kept.record.spec, items)
    told = kept.record
    record = replace(record, created_at=told.created_at, archived=told.archived, retention_days=told.retention_days)
    record = replace(record, paused=told.paused)
    _check_new(storage, record.name)
    servings_for(storage, record, items.items)  # refuses what cannot be served
    storage.create_study(
        record,
        kept.items,
        kept.features,
        kept.files,
        answered=kept.answered,
        excluded=kept.excluded,
        deletions=kept.deletions,
    )
    return record


def put_study(storage: LiveStorage, spec: dict[str, Any], items: ItemSet, files: list[ItemFile]) -> StudyRecord:
    """A new study, once it is clear that its questions can be asked."""
    record = new_record({key: value for key, value in spec.items() if value}, items)
    _check_new(storage, record.name)
    servings = servings_for(storage, record, items.items)
    by_queue = {serving.condition: serving for serving in servings.values() if serving.draw_at is None}
    first = []
    for serving in by_queue.values():
        # The first questions are random by plan, and there before a worker has looked.
        drawn = islice(serving.draw("train"), record.spec["queries"]["first"]) if serving.draw else ()
        first += [replace(question, strategy_asked="random") for question in drawn]
    storage.create_study(record, items.items, items.features, files, questions=first)
    return record


def copied(storage: LiveStorage, record: StudyRecord, name: str) -> StudyRecord:
    """A new study of the same items and settings: nobody has seen it yet."""
    spec = {**record.spec, "study": {**record.spec.get("study", {}), "name": name}}
    files = [file for path in storage.files(record.name) if (file := storage.file(record.name, path)) is not None]
    items = ItemSet(tuple(storage.items(record.name)), storage.features(record.name))
    made = put_study(storage, spec, items, files)
    return storage.change_study(made.name, retention_days=record.retention_days)


def check_name(name: object) -> None:
    """Refuse names that cannot be part of an address."""
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise DataError('[study] name is needed: up to 80 letters, digits, spaces, "-", "_" and ".".') from None


# --- inside ----------------------------------------------------------------------------------------


def _check_new(storage: LiveStorage, name: str) -> None:
    check_name(name)
    if any(existing.name == name for existing in storage.studies()):
        raise StudyError(f'Study "{name}" exists already. Use another name.')


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("The file is not UTF-8 text.") from error


def _for_study(answered: list[Answered], record: StudyRecord) -> list[Answered]:
    """Imported questions carry the study's own kind of question, and its classes in their order."""
    queries = check_spec(record.spec)["queries"]
    kind, classes = queries["kind"], list(queries["classes"])
    for pair in answered:
        if pair.question.kind != kind:
            raise DataError(f'The file has answers of kind "{pair.question.kind}", and the study asks "{kind}".')
        offered = [option.label for option in pair.question.options]
        if kind == "label" and offered != classes:
            theirs, ours = ", ".join(offered), ", ".join(classes)
            raise DataError(f"The file has answers with the classes {theirs}, and those of the study are {ours}.")
    return answered
