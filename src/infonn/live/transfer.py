"""Studies in and out: new ones, whole ones, their answers as files; for the owner's interface and the command line."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Literal, get_args

from pydantic import StringConstraints, TypeAdapter, ValidationError

from infonn.contracts.storage import Answered, LiveStorage
from infonn.datasets.items import ItemSet
from infonn.errors import DataError, StudyError, unknown_name
from infonn.formats import bundle, cblearn, next, salmon
from infonn.formats.csv import (
    answer_rows,
    read_csv,
    read_json_lines,
    read_parquet,
    write_csv,
    write_json_lines,
    write_parquet,
)
from infonn.live.studies import servings_for
from infonn.records import ItemFile, StudyRecord
from infonn.specs.build import new_record
from infonn.specs.settings import check_spec

Name = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.\-]*$")]
ExportFormat = Literal["csv", "jsonl", "parquet", "salmon", "next", "cblearn"]


def exported(storage: LiveStorage, record: StudyRecord, format: str) -> tuple[bytes, str, str]:
    """(bytes, content type, file ending) of a study's answers."""
    names = [item.name for item in storage.items(record.name)]
    if format in ("csv", "jsonl", "parquet"):
        excluded = {person.name for person in storage.respondents(record.name) if person.excluded}
        rows = answer_rows(storage.answers(record.name, None, everything=True), names, excluded)
        if format == "csv":
            return write_csv(rows).encode(errors="replace"), "text/csv; charset=utf-8", ".csv"
        if format == "jsonl":
            return write_json_lines(rows).encode(), "application/x-ndjson", ".jsonl"
        return write_parquet(rows), "application/octet-stream", ".parquet"
    answered = [pair for pair in storage.answers(record.name, None) if pair.question.purpose in ("train", "hold_out")]
    if format == "salmon":
        return salmon.write(answered, names, record.created_at).encode(), "text/csv; charset=utf-8", "-salmon.csv"
    if format == "next":
        return next.write(answered, names, record.name).encode(), "text/csv; charset=utf-8", "-next.csv"
    if format == "cblearn":
        return cblearn.write(answered, names), "application/octet-stream", "-cblearn.npz"
    raise unknown_name("Format", format, get_args(ExportFormat))


def imported(storage: LiveStorage, record: StudyRecord, data: bytes, format: str) -> tuple[int, int]:
    """Answers read and answers new."""
    names = [item.name for item in storage.items(record.name)]
    of_text = {"csv": read_csv, "jsonl": read_json_lines, "salmon": salmon.read, "next": next.read}
    of_bytes = {"cblearn": cblearn.read, "parquet": read_parquet}
    if format in of_text:
        answered = of_text[format](_text(data), record.name, names)
    elif format in of_bytes:
        answered = of_bytes[format](data, record.name, names)
    else:
        raise unknown_name("Format", format, [*of_text, *of_bytes])
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
