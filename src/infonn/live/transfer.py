"""Studies in and out: new ones, whole ones, their answers as files; for the owner's interface and the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import StringConstraints, TypeAdapter, ValidationError

from infonn.contracts.storage import Answered, LiveStorage
from infonn.datasets.items import ItemSet
from infonn.errors import DataError, StudyError, unknown_name
from infonn.formats import bundle, cblearn, next, r, salmon, things
from infonn.formats.csv import (
    answer_rows,
    csv_text,
    read_csv,
    read_json_lines,
    read_parquet,
    write_csv,
    write_json_lines,
    write_parquet,
)
from infonn.formats.named import ANSWERS, READ, WRITTEN
from infonn.live.label_files import (
    LABEL_COLUMNS,
    Predictions,
    label_rows,
    linear_model,
    model_file,
    pictures_by_class,
)
from infonn.live.label_fits import LabelFit
from infonn.live.pictures import picture_folder
from infonn.live.studies import servings_for
from infonn.records import ItemFile, StudyRecord
from infonn.specs.build import features_of, new_record
from infonn.specs.settings import check_settings, check_spec

Name = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.\-]*$")]
LabelFormat = Literal["labels", "predictions", "predictions_parquet", "model", "folders"]


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


def exported_labels(
    storage: LiveStorage, record: StudyRecord, format: str, fitted: LabelFit | None = None
) -> tuple[bytes, str, str]:
    """(bytes, content type, file ending) of what a label study found out: by `fitted`, or by its stored model."""
    spec = check_spec(record.spec)
    if spec["queries"]["kind"] != "label":
        raise StudyError(f'Study "{record.name}" asks no labels; it has answers and an embedding to export.')
    items = storage.items(record.name)
    names, classes = [item.name for item in items], spec["queries"]["classes"]
    kept = storage.load_model(record.name) if fitted is None else None
    if fitted is None and kept is None:
        raise StudyError("No model has been fitted yet. The worker fits one once there are labels.")
    model = None if kept is None else kept[1]
    found = Predictions.of_model(names, classes, model) if model is not None else Predictions.of_fit(names, fitted)  # type: ignore[arg-type]
    if format == "labels":
        excluded = {person.name for person in storage.respondents(record.name) if person.excluded}
        everything = storage.answers(record.name, None, everything=True)
        text = csv_text(LABEL_COLUMNS, label_rows(everything, found.labels, excluded))
        return text.encode(errors="replace"), "text/csv; charset=utf-8", "-labels.csv"
    if format == "predictions":
        return found.csv(), "text/csv; charset=utf-8", "-predictions.csv"
    if format == "predictions_parquet":
        return found.parquet(), "application/octet-stream", "-predictions.parquet"
    if format == "folders":
        data = pictures_by_class(items, found, lambda path: _picture(storage, record, spec, path))
        return data, "application/zip", "-by-class.zip"
    if format != "model":
        raise unknown_name("Format", format, get_args(LabelFormat))
    if fitted is not None:
        data, ending = model_file(fitted)
    elif model is not None and "coefficients" in model:
        coefficients, intercept = (np.asarray(model[part]) for part in ("coefficients", "intercept"))
        data, ending = linear_model(coefficients, intercept, classes), ".skops"
    else:
        raise StudyError(
            f'Learner "{spec["learner"]["name"]}" is written from the shell alone: infonn study export -f model.'
        )
    return data, "application/octet-stream", f"-model{ending}"


def _picture(storage: LiveStorage, record: StudyRecord, spec: dict[str, Any], path: str) -> tuple[str, bytes] | None:
    """A picture's ending and bytes; None where there is none any more."""
    file = item_file(storage, record, spec, path)
    return None if file is None else (_ENDINGS.get(file.content_type, ".png"), file.data)


_ENDINGS = {"image/jpeg": ".jpg", "image/png": ".png"}


def item_file(storage: LiveStorage, record: StudyRecord, spec: Mapping[str, Any], path: str) -> ItemFile | None:
    """The file an item names: from the folder of pictures where the study has one, else from the storage."""
    folder = spec["items"]["pictures"]
    if folder:
        try:
            return picture_folder(folder).picture(path)
        except DataError:
            return None
    return storage.file(record.name, path)


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
    items, settings = storage.items(record.name), check_settings(record.spec)
    features = features_of(settings, storage, len(items))
    told = {**record.spec, "items": {}}  # what lies on this server's disk means nothing elsewhere
    record = replace(record, spec=told)
    return bundle.Bundle(record, items, features, files, everything, excluded, storage.deletions(record.name))


def restored(storage: LiveStorage, data: bytes, name: str | None) -> StudyRecord:
    """The study in a bundle, put into the storage: all of it, or nothing."""
    kept = bundle.read(data, name)
    items = ItemSet(tuple(kept.items), kept.features)
    check_from_outside(kept.record.spec)
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
    features = None if check_settings(record.spec).items.mapped else items.features
    storage.create_study(record, items.items, features, files, questions=first)
    return record


def copied(storage: LiveStorage, record: StudyRecord, name: str) -> StudyRecord:
    """A new study of the same items and settings: nobody has seen it yet."""
    spec = {**record.spec, "study": {**record.spec.get("study", {}), "name": name}}
    files = [file for path in storage.files(record.name) if (file := storage.file(record.name, path)) is not None]
    stored = tuple(storage.items(record.name))
    items = ItemSet(stored, features_of(check_settings(record.spec), storage, len(stored)))
    made = put_study(storage, spec, items, files)
    return storage.change_study(made.name, retention_days=record.retention_days)


def check_from_outside(spec: Mapping[str, Any]) -> None:
    """Refuse settings by which somebody who is not at the server's shell could read its files or run its code."""
    items, learner = spec.get("items") or {}, spec.get("learner") or {}
    named = [key for key in ("file", "features", "mapped", "pictures") if isinstance(items, dict) and items.get(key)]
    if named:
        raise DataError(f"[items] {named[0]} names files of the server, which only its shell can: infonn study create.")
    if isinstance(learner, dict) and learner.get("name") == "own_model":
        raise DataError("A model of your own is code, which only the server's shell can name: infonn study create.")


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
