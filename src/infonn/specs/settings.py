"""The tables of `study.toml`: their keys, defaults and ranges; unknown ones are refused with the near miss named."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from infonn.errors import DataError, unknown_name
from infonn.queries import Kind
from infonn.specs.registry import by_present_names

LARGEST = 2**63 - 1  # for a column of the database
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Table(BaseModel):
    """A table whose keys are all known; whole numbers will do for numbers, and nothing else is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _PartTable(BaseModel):
    """A part by name; the part's own settings stand beside it."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    name: str = "default"

    @property
    def settings(self) -> dict[str, Any]:
        """The part's own."""
        return dict(self.model_extra or {})


class StudyTable(_Table):
    name: str = "study"
    task: Literal["similarity", "labels"] = "similarity"
    seed: Whole = 0


class ItemsTable(BaseModel):
    """A file or a data set, which may have settings of its own."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    file: str = ""
    dataset: str = ""
    features: str = ""
    mapped: str = ""  # a .npy file of features that stays where it is, read through the memory
    pictures: str = ""  # the folder on the server that items' pictures are served from

    @property
    def settings(self) -> dict[str, Any]:
        """The data set's own."""
        return dict(self.model_extra or {})


class QueriesTable(_Table):
    candidates: int = 3
    kind: Kind = "nearest"
    first: Whole = 20  # random questions at the beginning; none for labels where the strategy needs none
    pool_size: Positive = 20_000
    classes: list[Any] = []  # names; the task says what is wrong with one


class LearnerTable(_PartTable):
    """The default is in `registry.DEFAULT_LEARNERS`, by task and by whether the items bring features."""


class StrategyTable(_PartTable):
    """The default is in `registry.DEFAULT_STRATEGIES`, by task."""


class BudgetTable(_Table):
    answers: Positive = 300
    batch: Positive = 10


class OracleTable(_PartTable):
    """A simulation's; an empty name is the one the items have."""

    name: str = ""


class PeopleTable(_Table):
    title: str = ""
    question: str = ""  # asked above every question; empty for the page's own words
    instructions: str = ""  # Markdown
    consent: str = ""  # Markdown
    thanks: str = ""  # Markdown, on the last page
    language: str = "en"
    hold_out: Annotated[float, Field(ge=0, le=0.9)] = 0.12  # share of random questions that never train
    at_random: Share = 0.0  # share of the questions that train which are random, to compare the chosen ones with
    overlap: Annotated[int, Field(ge=1, le=100)] = 1  # people who are asked the same query
    resolve: Literal["majority", "dawid_skene"] = "majority"  # which label counts where people disagree
    repeats: bool = False  # whether one person may be asked the same query again
    per_person: Annotated[int, Field(ge=0, le=100_000)] = 0  # questions for each person; 0 for no limit
    lease_s: Annotated[float, Field(ge=1, le=30 * 86_400)] = 600.0  # then a question goes to somebody else
    prefetch: Annotated[int, Field(ge=0, le=10)] = 2  # questions a page holds beside the one on the screen
    practice: list[Any] = []  # {reference, candidates, expected}, by item name
    catch: list[Any] = []  # {position, reference, candidates, expected}
    completion_code: str = ""
    completion_url: str = ""


class Settings(_Table):
    """A study as data."""

    study: StudyTable = StudyTable()
    items: ItemsTable = ItemsTable()
    queries: QueriesTable = QueriesTable()
    learner: LearnerTable = LearnerTable()
    strategy: StrategyTable = StrategyTable()
    budget: BudgetTable = BudgetTable()
    oracle: OracleTable = OracleTable()
    people: PeopleTable = PeopleTable()

    def as_tables(self) -> dict[str, dict[str, Any]]:
        """What is stored of a study."""
        return self.model_dump()


PART_RANGES = {  # what a stranger's settings may ask of our memory and time, whatever the part
    "dims": (1, 200),
    "n_chains": (2, 1024),
    "moves": (1, 1000),
    "leaps": (1, 1000),
    "n_draws": (1, 100_000),
    "n_targets": (1, 100_000),
    "members": (1, 256),
    "epochs": (1, 100_000),
    "steps": (0, 1_000_000),
    "hidden": (0, 4096),
}


# --- reading -------------------------------------------------------------------------------------------------


def read_spec(path: str | Path) -> dict[str, dict[str, Any]]:
    """The tables of a `study.toml`, checked and with defaults filled in."""
    try:
        with Path(path).open("rb") as file:
            return check_spec(tomllib.load(file))
    except FileNotFoundError:
        raise DataError(f"{path} does not exist. `infonn run` takes a study written as TOML.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as a study written as TOML: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path} is not TOML: {error}.") from None


def check_spec(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """`spec` with defaults filled in; unknown tables, keys and kinds of values are refused."""
    return check_settings(spec).as_tables()


def check_settings(spec: Mapping[str, Any]) -> Settings:
    """The settings of a study; what is wrong with them is one plain sentence."""
    given = {table: _plain(values) for table, values in spec.items()}
    for part in ("learner", "strategy"):
        if isinstance(given.get(part), dict):
            given[part] = by_present_names(given[part])
    if isinstance(study := given.get("study"), dict) and study.get("task") == "labels":
        given["queries"] = {**_first_labels(given), **_as_table(given.get("queries", {}), "queries"), "kind": "label"}
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        raise _sentence(error.errors()[0]) from None
    _check_ranges("learner", settings.learner.settings)
    _check_ranges("strategy", settings.strategy.settings)
    return settings


_BEGIN_THEMSELVES = ("default", "typical_margin", "typicality", "random")  # strategies that need no random start


def _first_labels(given: Mapping[str, Any]) -> dict[str, int]:
    strategy = given.get("strategy", {})
    name = strategy.get("name", "default") if isinstance(strategy, dict) else ""
    return {"first": 0} if name in _BEGIN_THEMSELVES else {}


def _plain(values: Any) -> Any:
    """Numbers of numpy, from a script, as Python's own."""
    if not isinstance(values, Mapping):
        return values
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in values.items()}


def _as_table(values: Any, table: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise DataError(f"[{table}] is {values!r}; it must be a table of keys and values.")
    return values


def _check_ranges(table: str, settings: Mapping[str, Any]) -> None:
    for key, (least, most) in PART_RANGES.items():
        value = settings.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and not least <= value <= most:
            raise DataError(f"[{table}] {key} is {value}; it must be from {least} to {most}.")


_TYPE_WORDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
}
_OUT_OF_RANGE = ("greater_than_equal", "less_than_equal", "finite_number")


def _sentence(error: ErrorDetails) -> Exception:
    """What pydantic found, in our words."""
    table, *rest = (str(part) for part in error["loc"])
    if not rest:
        if error["type"] == "extra_forbidden":
            return unknown_name("Table", table, Settings.model_fields)
        return DataError(f"[{table}] is {error['input']!r}; it must be a table of keys and values.")
    key, value = rest[0], error["input"]
    fields = getattr(Settings(), table).__class__.model_fields
    if error["type"] == "extra_forbidden":
        return unknown_name(f"Key in [{table}]", key, fields)
    if error["type"] == "literal_error":
        known = list(fields[key].annotation.__args__)
        if isinstance(value, str):
            return unknown_name(
                {"task": "Task", "kind": "Kind of question", "resolve": "Rule"}.get(key, key), value, known
            )
        return DataError(f"[{table}] {key} is {value!r}; it must be one of {', '.join(known)}.")
    if error["type"] in _OUT_OF_RANGE:
        low, high = _range_of(fields[key].metadata)
        return DataError(f"[{table}] {key} is {value}; it must be from {low} to {high}.")
    wanted = _TYPE_WORDS.get(error["type"], "something else")
    return DataError(f"[{table}] {key} is {value!r}; it must be {wanted}, like {fields[key].default!r}.")


def _range_of(metadata: list[Any]) -> tuple[Any, Any]:
    def bounds(name: str) -> Iterator[Any]:
        return (getattr(part, name) for part in metadata if hasattr(part, name))

    return next(bounds("ge")), next(bounds("le"))
