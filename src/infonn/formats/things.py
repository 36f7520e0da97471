"""Odd-one-out answers as THINGS publishes them: which of three does not belong? In both of its forms, and out again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from infonn.contracts.storage import Answered
from infonn.errors import DataError
from infonn.formats.archives import check_number
from infonn.formats.tables import number, rows_of, whole
from infonn.records import Answer, Option, Question


def read(text: str, study: str, item_names: Sequence[str]) -> list[Answered]:
    """Answers of either form: a table that has the column image1, or rows of three numbers."""
    check_number(text.count("\n"))
    return (read_csv if "image1" in text.partition("\n")[0] else read_triples)(text, study, item_names)


def read_triples(text: str, study: str, item_names: Sequence[str]) -> list[Answered]:
    """Answers of rows of three item numbers from 0, the odd one last, with spaces, commas or tabs between them."""
    answered = []
    for line, row in enumerate(text.splitlines(), start=1):
        if not row.strip():
            continue
        try:
            first, second, odd = (int(float(word)) for word in row.replace(",", " ").split())
        except (ValueError, OverflowError):
            raise DataError(f'Line {line} is "{row}"; it must be three item numbers, the odd one last.') from None
        answered.append(_answered((first, second, odd), 2, line, study, item_names))
    return answered


def read_csv(text: str, study: str, item_names: Sequence[str]) -> list[Answered]:
    """Answers of a table with image1, image2, image3, counted from 1, and choice: the place of the odd one, 1 to 3.

    `subject_id` and `RT` (milliseconds) are taken where they are there.
    """
    table = text.replace("\t", ",") if "\t" in text.partition("\n")[0] else text
    answered = []
    for line, row in rows_of(table, ("image1", "image2", "image3", "choice"), "THINGS"):
        first, second, third = (whole(row, name, line) - 1 for name in ("image1", "image2", "image3"))
        choice = whole(row, "choice", line)
        if choice not in (1, 2, 3):
            raise DataError(f"Line {line}: choice is {choice}; it is the place of the odd one, 1 to 3.")
        milliseconds = number(row, "RT", line)
        seconds = None if milliseconds is None else milliseconds / 1000
        person = row.get("subject_id", "")
        answered.append(_answered((first, second, third), choice - 1, line, study, item_names, person, seconds))
    return answered


def write(answered: Iterable[Answered]) -> str:
    """Rows of three item numbers from 0, the odd one last, as SPoSE and its successors read them."""
    rows = []
    for pair in answered:
        response, query = pair.answer.response, list(pair.question.query)
        if response is None:
            continue
        if pair.question.kind != "odd_one_out":
            raise DataError(f'THINGS knows odd ones only, and these answers are of kind "{pair.question.kind}".')
        odd = query.pop(response)
        rows.append(f"{query[0]} {query[1]} {odd}\n")
    return "".join(rows)


def _answered(
    items: tuple[int, int, int],
    odd: int,
    line: int,
    study: str,
    item_names: Sequence[str],
    respondent: str = "",
    seconds: float | None = None,
) -> Answered:
    """An answer whose id is that of its line and contents: read again, it is the same answer."""
    if any(not 0 <= item < len(item_names) for item in items):
        raise DataError(f"Line {line} names items {list(items)}; the study's items are 0 to {len(item_names) - 1}.")
    if len(set(items)) < 3:
        raise DataError(f"Line {line} names items {list(items)}; the three must differ.")
    digest = hashlib.sha256(f"things/{line}/{respondent}/{items}/{odd}".encode()).hexdigest()
    names = tuple(item_names[item] for item in items)
    question = Question(
        id=f"things-{digest[:16]}",
        study=study,
        query=items,
        names=names,
        options=tuple(Option(name, item) for name, item in zip(names, items)),
        shown=(0, 1, 2),
        kind="odd_one_out",
        respondent=respondent,
    )
    return Answered(question, Answer(f"things-{digest[:24]}", question.id, respondent, odd, response_time_s=seconds))
