"""Rows of the tables, there and back to records."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sqlalchemy import Row

from infonn.arrays import FloatArray
from infonn.queries import question_key
from infonn.records import Act, Answer, Item, Option, Question, Respondent, StudyRecord, Token

_LISTS = ("query", "names", "options", "shown")
_QUESTION = [field.name for field in fields(Question) if field.name not in ("study", *_LISTS)]
_ANSWER = [field.name for field in fields(Answer)]


def study_record(row: Row[Any]) -> StudyRecord:
    since = (row.created_at, row.archived, row.key, row.retention_days, row.paused)
    return StudyRecord(row.name, row.spec, row.seed, *since)


def item(row: Row[Any]) -> Item:
    return Item(row.name, row.text, row.image, row.audio)


def question(row: Row[Any], study: str) -> Question:
    values = row._mapping
    return Question(
        study=study,
        query=tuple(values["query"]),
        names=tuple(values["names"]),
        options=tuple(Option(label, item) for label, item in values["options"]),
        shown=tuple(values["shown"]),
        **{name: values[name] for name in _QUESTION},
    )


def question_values(question: Question, study_id: int) -> dict[str, Any]:
    return {
        "study_id": study_id,
        "query": list(question.query),
        "query_key": question_key(question.query, question.kind),
        "names": list(question.names),
        "options": [[option.label, option.item] for option in question.options],
        "shown": list(question.shown),
        "state": "open",
        **{name: getattr(question, name) for name in _QUESTION},
    }


def packed_question(question: Question, study_id: int, state: str = "open") -> dict[str, Any]:
    """As the driver takes them, so that nothing is left to do while a transaction is open."""
    values = {**question_values(question, study_id), "state": state}
    return values | {name: json.dumps(values[name], separators=(",", ":")) for name in _LISTS}


def answer(row: Row[Any], prefix: str = "") -> Answer:
    values = row._mapping
    return Answer(**{name: values[prefix + name] for name in _ANSWER})


def respondent(row: Row[Any]) -> Respondent:
    agreed = (row.consent_version, row.consented_at)
    return Respondent(row.name, row.joined_at, row.seen_at, row.excluded, *agreed, row.condition, row.about)


def token(row: Row[Any]) -> Token:
    return Token(row.id, row.person, row.role, row.study, row.made_at, row.revoked_at)


def act(row: Row[Any]) -> Act:
    return Act(row.number, row.at, row.who, row.what, row.study, row.details)


def pack_array(array: FloatArray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def unpack_array(data: bytes) -> FloatArray:
    array: FloatArray = np.load(io.BytesIO(data), allow_pickle=False)
    return array


def pack_model(model: Mapping[str, Any]) -> bytes:
    """A model as bytes: its arrays as .npy, the rest as JSON, nothing pickled."""
    arrays = {name: value for name, value in model.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in model.items() if name not in arrays}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{f"array.{name}": value for name, value in arrays.items()}, json=json.dumps(rest))  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack_model(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data), allow_pickle=False) as kept:
        arrays = {name.removeprefix("array."): kept[name] for name in kept.files if name.startswith("array.")}
        rest: dict[str, Any] = json.loads(str(kept["json"]))
    return {**rest, **arrays}
