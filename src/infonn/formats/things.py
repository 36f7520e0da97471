"""Odd-one-out answers as THINGS publishes them: which of three does not belong?

The two that belong together are the nearest pair, so an answer with odd one k among i, j, k says that i is nearer to j
than to k, and j nearer to i than to k: two triplets of one question.
"""

from __future__ import annotations

from collections.abc import Sequence

from infonn.contracts.storage import Answered
from infonn.errors import DataError
from infonn.formats.tables import number, rows_of, whole
from infonn.formats.triplets import Triplet, answered_from


def read(text: str, study: str, item_names: Sequence[str]) -> list[Answered]:
    """Answers of rows of three item numbers from 0, the odd one last, with spaces, commas or tabs between them."""
    rows = []
    for line, row in enumerate(text.splitlines(), start=1):
        if not row.strip():
            continue
        try:
            first, second, odd = (int(float(word)) for word in row.replace(",", " ").split())
        except ValueError:
            raise DataError(f'Line {line} is "{row}"; it must be three item numbers, the odd one last.') from None
        rows += odd_one_out(first, second, odd, f"line {line}")
    return answered_from(rows, study, item_names, "things")


def read_csv(text: str, study: str, item_names: Sequence[str]) -> list[Answered]:
    """Answers of a table with image1, image2, image3, counted from 1, and choice: the place of the odd one, 1 to 3.

    `subject_id` and `RT` (milliseconds) are taken where they are there.
    """
    table = text.replace("\t", ",") if "\t" in text.partition("\n")[0] else text
    rows = []
    for line, row in rows_of(table, ("image1", "image2", "image3", "choice"), "THINGS"):
        items = [whole(row, name, line) - 1 for name in ("image1", "image2", "image3")]
        choice = whole(row, "choice", line)
        if choice not in (1, 2, 3):
            raise DataError(f"Line {line}: choice is {choice}; it is the place of the odd one, 1 to 3.")
        odd = items.pop(choice - 1)
        milliseconds = number(row, "RT", line)
        rows += odd_one_out(
            items[0],
            items[1],
            odd,
            f"line {line}",
            row.get("subject_id", ""),
            None if milliseconds is None else milliseconds / 1000,
        )
    return answered_from(rows, study, item_names, "things")


def odd_one_out(
    first: int, second: int, odd: int, question_id: str = "", respondent: str = "", seconds: float | None = None
) -> list[Triplet]:
    """The two triplets that an odd one among three stands for."""
    return [
        Triplet(first, second, odd, question_id, respondent, seconds),
        Triplet(second, first, odd, question_id, respondent, seconds),
    ]
