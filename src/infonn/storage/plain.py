"""What a storage can keep: text and JSON that every database and every export takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from infonn.errors import DataError
from infonn.records import Answer, Item, Question, StudyRecord

_DEEPEST = 50


def is_plain(text: str) -> bool:
    """Whether a text can be kept anywhere: no NUL, no half of a surrogate pair."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def check_text(text: Any, what: str) -> None:
    """Refuse what is no text, or none that can be kept."""
    if not isinstance(text, str):
        raise DataError(f"{what} is {text!r}; it must be text.")
    if not is_plain(text):
        raise DataError(f"{what} is {text!r}, with a NUL or half of a surrogate pair. Leave such characters out.")


def check_json(value: Any, what: str, depth: int = 0) -> None:
    """Refuse values that JSON or a database has no way to write."""
    if depth > _DEEPEST:
        raise DataError(f"{what} is nested more than {_DEEPEST} deep.")
    if isinstance(value, str):
        check_text(value, what)
    elif isinstance(value, float):
        check_finite(value, what)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            check_text(key, f"A key in {what}")
            check_json(inner, what, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            check_json(inner, what, depth + 1)


def check_finite(value: float | None, what: str) -> None:
    if value is not None and not math.isfinite(value):
        raise DataError(f"{what} holds {value}; numbers must be finite.")


def check_answer(answer: Answer) -> None:
    """Refuse an answer that could not be kept or exported."""
    for name in ("id", "question_id", "respondent"):
        check_text(getattr(answer, name), f"An answer's {name}")
    check_finite(answer.response_time_s, "An answer's response_time_s")
    check_finite(answer.received_at, "An answer's received_at")
    if not isinstance(answer.context, Mapping):
        raise DataError(f"An answer's context is {answer.context!r}; it must be an object of names and values.")
    check_json(answer.context, "An answer's context")


def check_question(question: Question) -> None:
    """Refuse a question from elsewhere that could not be kept."""
    labels = [option.label for option in question.options]
    texts = (question.id, question.respondent, question.strategy_asked, question.strategy_used, question.copy_of or "")
    for text in (*texts, *question.names, *labels):
        check_text(text, "A text of a question")
    for number in (question.score, question.created_at):
        check_finite(number, "A number of a question")


def check_study(record: StudyRecord, items: Iterable[Item]) -> None:
    """Refuse a study whose settings or items could not be kept."""
    check_text(record.name, "A study's name")
    check_json(record.spec, "A study's settings")
    for item in items:
        for value in (item.name, item.text, item.image, item.audio):
            if value is not None:
                check_text(value, "An item's name, text or file")
