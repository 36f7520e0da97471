"""What people say about themselves: values checked against the fields of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infonn.errors import DataError

Field = Mapping[str, Any]  # a table of [[people.before]] or [[people.after]]


def checked_values(fields: Sequence[Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a form that somebody sent; what is missing or makes no sense is one sentence."""
    known = {field["name"] for field in fields}
    for name in given:
        if name not in known:
            raise DataError(f'There is no field "{name}" in this form.')
    return {field["name"]: _checked(field, given.get(field["name"])) for field in fields}


def is_filled(fields: Sequence[Field], said: Mapping[str, Any]) -> bool:
    """Whether somebody has sent the form; fields left empty are kept as such."""
    return all(field["name"] in said for field in fields)


def screened_out(fields: Sequence[Field], said: Mapping[str, Any]) -> bool:
    """Whether somebody who said this does not fit the study."""
    for field in fields:
        value = said.get(field["name"])
        if set(value if isinstance(value, list) else [value]) & set(field["screen_out"]):
            return True
    return False


def _checked(field: Field, value: Any) -> Any:
    if isinstance(value, str):
        value = value.strip()
    if value in (None, "", []):
        if field["required"]:
            raise DataError(f"“{field['label']}” is not answered yet.")
        return None
    kind = field["kind"]
    if kind == "number":
        return _number(field, value)
    if kind == "choices":
        chosen = value if isinstance(value, list) else [value]
        if not set(chosen) <= set(field["options"]):
            raise DataError(f"“{field['label']}”: {chosen!r} are not all among its options.")
        return [option for option in field["options"] if option in chosen]
    if not isinstance(value, str):
        raise DataError(f"“{field['label']}”: {value!r} is no text.")
    if kind == "choice" and value not in field["options"]:
        raise DataError(f"“{field['label']}”: “{value}” is none of its options.")
    return value


def _number(field: Field, value: Any) -> float:
    least, most = field["least"], field["most"]
    try:
        number = float(value) if not isinstance(value, list) else float("nan")
    except ValueError:
        number = float("nan")
    too_small, too_large = least is not None and number < least, most is not None and number > most
    if not abs(number) < 1e15 or too_small or too_large:
        low, high = ("" if bound is None else f"{bound:g}" for bound in (least, most))
        wanted = f"a number from {low} to {high}" if low and high else "a number"
        raise DataError(f"“{field['label']}”: “{value}” is not {wanted}.")
    return number
