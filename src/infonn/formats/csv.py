"""Our own tables of answers, one row each, as CSV, JSON lines or Parquet: everything on record, there and back."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from infonn.contracts.storage import Answered
from infonn.errors import DataError, MissingPartError
from infonn.formats.archives import MAX_BYTES, check_number, check_unpacked
from infonn.queries import Kind
from infonn.records import Answer, Option, Outcome, Purpose, Question, check_response

# Lists are JSON in CSV cells; items go by name, so that a table can move between studies.
_LISTS = ("candidates", "options", "option_items", "shown", "context")
_QUESTION = ("expected", "strategy_asked", "strategy_used", "model_version", "score", "unseen_answers")
_QUESTION_TIMES = ("copy_of", "created_at", "asked_at", "lease_until")
COLUMNS = (
    *("number", "answer_id", "question_id", "respondent", "excluded", "purpose", "kind"),
    *(
        "reference",
        "candidates",
        "response",
        "chosen",
        "chosen_place",
        "outcome",
        "response_time_s",
        "received_at",
        "late",
        "undone",
    ),
    *("options", "option_items", "shown", *_QUESTION, *_QUESTION_TIMES, "context"),
)
_NUMBERS: dict[str, type] = {
    **dict.fromkeys(("number", "response", "chosen_place", "expected", "model_version", "unseen_answers"), int),
    **dict.fromkeys(("response_time_s", "received_at", "score", "created_at", "asked_at", "lease_until"), float),
}
_LARGEST = 2**31 - 1  # whole number that every database keeps
_LONGEST_LINE = 1 << 20  # characters of an answer as JSON
# A spreadsheet runs text that begins so; behind an apostrophe it is text. Reading takes one apostrophe away again.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED = re.compile(r"'+[=+\-@\t\r]")


# --- out -------------------------------------------------------------------------------------------


def answer_rows(
    answered: Iterable[Answered], item_names: Sequence[str], excluded: set[str]
) -> Iterator[dict[str, Any]]:
    """One row per answer, with the question it answers."""
    for pair in answered:
        question, answer = pair.question, pair.answer
        values = {name: getattr(question, name) for name in (*_QUESTION, *_QUESTION_TIMES)}
        if values["lease_until"] == math.inf:  # a script's, which never ends; JSON has no such number
            values["lease_until"] = None
        yield {
            "number": answer.number,
            "answer_id": answer.id,
            "question_id": question.id,
            "respondent": answer.respondent,
            "excluded": answer.respondent in excluded,
            "purpose": question.purpose,
            "kind": question.kind,
            **dict(zip(("reference", "candidates"), reference_and_candidates(question))),
            "response": answer.response,
            "chosen": None if answer.response is None else question.options[answer.response].label,
            "chosen_place": _place(pair),
            "outcome": answer.outcome,
            "response_time_s": answer.response_time_s,
            "received_at": answer.received_at,
            "late": answer.late,
            "undone": answer.undone,
            "options": [option.label for option in question.options],
            "option_items": [None if option.item is None else item_names[option.item] for option in question.options],
            "shown": list(question.shown),
            "context": dict(answer.context) if isinstance(answer.context, Mapping) else {"value": answer.context},
            **values,
        }


def _place(pair: Answered) -> int | None:
    """Where the chosen option stood on the screen, 1 for the first; an order of candidates stands nowhere."""
    question, response = pair.question, pair.answer.response
    if response is None or question.kind == "ranking" or response not in question.shown:
        return None
    return question.shown.index(response) + 1


def reference_and_candidates(question: Question) -> tuple[str | None, list[str]]:
    """What is compared with what, by name; the three of which one is odd are candidates without a reference."""
    if question.kind == "odd_one_out":
        return None, list(question.names)
    return question.names[0], list(question.names[1:])


def write_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(name, row[name]) for name in COLUMNS})
    return buffer.getvalue()


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Any table as CSV whose texts no spreadsheet runs."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([_cell("", column) for column in columns])
    writer.writerows([_cell("", value) for value in row] for row in rows)
    return buffer.getvalue()


def write_json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(_json(row) + "\n" for row in rows)


def write_parquet(rows: Iterable[Mapping[str, Any]]) -> bytes:
    pyarrow, parquet = arrow()
    types = {int: pyarrow.int64(), float: pyarrow.float64()}
    flags = ("excluded", "late", "undone")
    fields = [
        (name, types[_NUMBERS[name]] if name in _NUMBERS else pyarrow.bool_() if name in flags else pyarrow.string())
        for name in COLUMNS
    ]
    cells = [{name: _json(row[name]) if name in _LISTS else row[name] for name in COLUMNS} for row in rows]
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(cells, pyarrow.schema(fields)), buffer)
    return buffer.getvalue()


def arrow() -> tuple[Any, Any]:
    """pyarrow and its parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingPartError('Parquet needs the pyarrow package: pip install "infonn[parquet]".') from error
    return pyarrow, parquet


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in _LISTS:
        return _json(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return repr(value) if isinstance(value, float) else str(value)


def _json(value: Any) -> str:
    """JSON as others read it: a number that is none, from an earlier version's storage, becomes null."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


# --- in --------------------------------------------------------------------------------------------


def read_csv(text: str, study: str, item_names: Sequence[str]) -> list[Answered]:
    """Answers of a table that `write_csv` wrote, for a study that has the same items by name."""
    try:
        reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
        header = list(reader.fieldnames or ())
        missing = [name for name in ("answer_id", "question_id", "reference", "candidates") if name not in header]
        if missing:
            raise DataError(f"The table has no column `{missing[0]}`; it is not one of infonn's tables of answers.")
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise DataError(f"The file cannot be read as CSV: {error}.") from error
    return _answered_rows(((line, _parsed(row, line)) for line, row in rows), study, item_names)


def read_json_lines(text: str, study: str, item_names: Sequence[str]) -> list[Answered]:
    return _answered_rows(_json_rows(text), study, item_names)


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row by row, so that what is no table of answers is refused before it fills the memory."""
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        if len(content) > _LONGEST_LINE:
            raise DataError(f"Line {line} has {len(content):,} characters; at most {_LONGEST_LINE:,} are read.")
        try:
            row = json.loads(content, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise DataError(f"Line {line} is not JSON.") from error
        if not isinstance(row, dict):
            raise DataError(f"Line {line} is not a JSON object.")
        yield line, row


def read_parquet(data: bytes, study: str, item_names: Sequence[str]) -> list[Answered]:
    return _answered_rows(_parquet_rows(data), study, item_names)


def _parquet_rows(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, row in enumerate(_parquet_cells(data), start=1):
        try:
            yield line, row | {name: json.loads(row[name]) for name in _LISTS if row.get(name)}
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError(f"Row {line} has a list that cannot be read.") from error


def _parquet_cells(data: bytes) -> Iterator[dict[str, Any]]:
    """Row by row, read a few at a time: equal rows take nothing in the file, and much in memory."""
    pyarrow, parquet = arrow()
    try:
        file, n_bytes = parquet.ParquetFile(io.BytesIO(data)), 0
        check_number(file.metadata.num_rows)
        groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
        check_unpacked(sum(group.total_byte_size for group in groups), len(data), MAX_BYTES)
        columns = [name for name in file.schema_arrow.names if name in COLUMNS]
        for batch in file.iter_batches(batch_size=20, columns=columns):
            n_bytes += batch.nbytes
            check_unpacked(n_bytes, len(data), MAX_BYTES)
            yield from batch.to_pylist()
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError("The file cannot be read as Parquet.") from error


def _answered_rows(rows: Iterable[tuple[int, dict[str, Any]]], study: str, item_names: Sequence[str]) -> list[Answered]:
    index = {name: i for i, name in enumerate(item_names)}
    result = []
    for line, row in rows:
        try:
            numbers = {name: _number(name, row[name]) for name in _NUMBERS if name in row}
            result.append(_answered({**row, **numbers}, study, index))
        except (DataError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(f"Line {line} cannot be read: {reason}") from error
    return result


def _parsed(row: Mapping[str, Any], line: int) -> dict[str, Any]:
    if None in row or None in row.values():
        raise DataError(f"Line {line} does not have as many cells as the header.")
    parsed: dict[str, Any] = dict(row)
    try:
        for name, value in row.items():
            if name in _LISTS:
                parsed[name] = json.loads(value, parse_constant=_no_number) if value else []
            elif name in ("excluded", "late", "undone"):
                parsed[name] = value.lower() == "true"  # spreadsheets write TRUE, pandas True
            elif _QUOTED.match(value):
                parsed[name] = value[1:]
    except (ValueError, RecursionError) as error:
        raise DataError(f'Line {line}: column "{name}" is "{value}", which cannot be read.') from error
    return parsed


def _answered(row: Mapping[str, Any], study: str, index: Mapping[str, int]) -> Answered:
    kind = _one_of(row.get("kind") or "nearest", get_args(Kind))
    names = (*([] if kind == "odd_one_out" else [row["reference"]]), *row["candidates"])
    if kind == "odd_one_out" and len(names) != 3:
        raise DataError(f"the odd one is asked for among 3 candidates, and there are {len(names)}.")
    for name in names:
        if name not in index:
            raise DataError(f'"{name}" is no item of study "{study}".')
    if len(set(names)) < len(names):
        raise DataError("the items of a question must differ.")
    labels = row.get("options") or list(row["candidates"])
    items = row.get("option_items") or (list(row["candidates"]) if not row.get("options") else [None] * len(labels))
    for name in items:
        if name is not None and name not in index:
            raise DataError(f'"{name}" is no item of study "{study}".')
    options = tuple(Option(str(label), None if item is None else index[item]) for label, item in zip(labels, items))
    question = Question(
        id=_text(row["question_id"]),
        study=study,
        query=tuple(index[name] for name in names),
        names=names,
        options=options,
        shown=tuple(int(i) for i in row.get("shown") or range(len(options))),
        kind=kind,
        purpose=_one_of(row.get("purpose") or "train", get_args(Purpose)),
        respondent=row.get("respondent") or "",
        copy_of=row.get("copy_of") or None,
        created_at=row.get("created_at") or 0.0,
        asked_at=row.get("asked_at"),
        lease_until=row.get("lease_until"),
        expected=row.get("expected"),
        strategy_asked=row.get("strategy_asked") or "",
        strategy_used=row.get("strategy_used") or "",
        model_version=row.get("model_version") or 0,
        score=row.get("score"),
        unseen_answers=row.get("unseen_answers") or 0,
    )
    if sorted(question.shown) != list(range(len(options))):
        raise DataError("`shown` must hold the number of every option once.")
    answer = Answer(
        id=_text(row["answer_id"]),
        question_id=question.id,
        respondent=question.respondent,
        response=row.get("response"),
        outcome=_one_of(row.get("outcome") or "answered", get_args(Outcome)),
        response_time_s=row.get("response_time_s"),
        received_at=row.get("received_at") or 0.0,
        late=bool(row.get("late")),
        undone=bool(row.get("undone")),
        context=_object(row.get("context") or {}),
        number=row.get("number") or 0,
    )
    check_response(question, answer.response, answer.outcome)
    return Answered(question, answer)


def _number(name: str, value: Any) -> float | None:
    """A number as tables write them: nothing or NaN where there is none, maybe 2.0 for 2."""
    if value is None or value == "":
        return None
    number = float(value)
    if math.isnan(number):
        return None
    if math.isinf(number):
        raise DataError(f'column "{name}" is {value}; numbers must be finite.')
    if _NUMBERS[name] is float:
        return number
    if not number.is_integer() or abs(number) > _LARGEST:
        raise DataError(f'column "{name}" is {value}; it must be a whole number up to {_LARGEST}.')
    return int(number)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise DataError(f"`context` is {value!r}; it must be an object of names and values.")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise DataError(f"an id is {value!r}; ids are text.")
    return value


def _one_of(value: Any, known: tuple[Any, ...]) -> Any:
    if value not in known:
        raise DataError(f'"{value}" is unknown. Known: {", ".join(known)}.')
    return value
