"""The tables of `study.toml`: their keys, defaults and ranges; unknown ones are refused with the near miss named."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from infonn.errors import DataError, unknown_name
from infonn.queries import ODD_CANDIDATES, Kind
from infonn.specs.registry import by_present_names

LARGEST = 2**63 - 1  # for a column of the database
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
MOST_FIXED = 200  # practice or catch questions, which are looked at whenever a study is loaded
Share = Annotated[float, Field(ge=0, le=1)]


_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-]+(:\d{1,5})?")


def ending(text: str) -> float:
    """When a study ends that says so: seconds since 1970. A day ends with itself, and UTC is meant unless it says."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'ends is "{text}"; it must be a day or a time, as 2027-03-31 or 2027-03-31T18:00') from None
    if len(text) <= 10:
        when += timedelta(days=1)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


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
    candidates: int = 3  # beside the reference; where the odd one of three is asked for, beside any one of them: 2
    kind: Kind = "nearest"
    first: Annotated[int, Field(ge=0, le=1_000_000)] = 20  # random questions at the beginning
    pool_size: Annotated[int, Field(ge=1, le=10_000_000)] = 20_000
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


class FieldTable(_Table):
    """A question about the person: [[people.before]] or [[people.after]]."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]  # the column of the export
    label: Annotated[str, Field(min_length=1, max_length=500)]
    kind: Literal["text", "long_text", "number", "choice", "choices"] = "text"
    options: Annotated[list[str], Field(max_length=200)] = []  # of a choice
    required: bool = True
    least: float | None = None  # of a number
    most: float | None = None
    screen_out: list[str] = []  # options that end it for a person before the first question

    @model_validator(mode="after")
    def _options_of_choices(self) -> FieldTable:
        if self.kind in ("choice", "choices") and len(set(self.options)) < 2:
            raise ValueError(f'field "{self.name}" is a {self.kind}; it needs at least two different options')
        if unknown := [option for option in self.screen_out if option not in self.options]:
            raise ValueError(f'field "{self.name}" screens out "{unknown[0]}", which is none of its options')
        return self


class ConditionTable(_Table):
    """Some of the people, and how it is for them: [[people.conditions]]. What is not said is as for everybody."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_\-]{0,39}$")]  # ?condition=NAME in a link
    items: list[str] = []  # by name; empty for all
    order: Literal["chosen", "listed", "reversed"] = "chosen"  # of the references: as the strategy wants, or as listed
    question: str = ""
    instructions: str = ""


class PeopleTable(_Table):
    title: str = ""
    question: str = ""  # asked above every question; empty for the page's own words
    instructions: str = ""  # Markdown
    consent: str = ""  # Markdown
    thanks: str = ""  # Markdown, on the last page
    language: str = "en"
    pause_text: str = ""  # Markdown, between two blocks
    hold_out: Annotated[float, Field(ge=0, le=0.9)] = 0.12  # share of random questions that never train
    at_random: Share = 0.0  # share of the questions that train which are random, to compare the chosen ones with
    overlap: Annotated[int, Field(ge=1, le=100)] = 1  # people who are asked the same query
    resolve: Literal["majority", "dawid_skene"] = "majority"  # which label counts where people disagree
    repeats: bool = False  # whether one person may be asked the same query again
    self_repeats: Annotated[float, Field(ge=0, le=0.5)] = 0.0  # share of questions asked again, for self-consistency
    repeat_gap: Annotated[int, Field(ge=1, le=1000)] = 10  # questions in between, at least
    per_person: Annotated[int, Field(ge=0, le=100_000)] = 0  # questions for each person; 0 for no limit
    most_people: Annotated[int, Field(ge=0, le=1_000_000)] = 0  # who may take part; 0 for no limit
    ends: Annotated[str, Field(max_length=40)] = ""  # date or time (UTC unless it says so) after which nobody is asked
    min_time_s: Annotated[float, Field(ge=0, le=60)] = 0.0  # before a choice counts
    block: Annotated[int, Field(ge=0, le=100_000)] = 0  # questions between two pauses; 0 for none
    pause_s: Annotated[float, Field(ge=0, le=3600)] = 0.0  # the shortest pause
    lease_s: Annotated[float, Field(ge=1, le=30 * 86_400)] = 600.0  # then a question goes to somebody else
    prefetch: Annotated[int, Field(ge=0, le=10)] = 2  # questions a page holds beside the one on the screen
    practice: Annotated[
        list[Any], Field(max_length=MOST_FIXED)
    ] = []  # {reference, candidates, expected}, by item name; an odd one has no reference
    catch: Annotated[
        list[Any], Field(max_length=MOST_FIXED)
    ] = []  # {position, reference, candidates, expected}; without a position, for `catch_every`
    catch_every: Annotated[int, Field(ge=0, le=10_000)] = 0  # one of the others among so many questions, anywhere
    most_wrong: Annotated[int, Field(ge=0, le=1000)] = 0  # catch questions answered wrong, then it ends; 0: never
    before: Annotated[list[FieldTable], Field(max_length=50)] = []  # questions about the person, before the first one
    after: Annotated[list[FieldTable], Field(max_length=50)] = []  # and after the last
    conditions: Annotated[list[ConditionTable], Field(max_length=100)] = []
    withdraw: bool = True  # whether people find a button that deletes what they gave
    completion_code: str = ""
    completion_url: str = ""
    screen_out_code: str = ""  # for who does not fit, or failed too many catch questions
    screen_out_url: str = ""
    over_quota_code: str = ""  # for who came when there was nothing left to do
    over_quota_url: str = ""
    embed_origins: Annotated[list[str], Field(max_length=20)] = []  # sites that may show the page in a frame

    @model_validator(mode="after")
    def _fits_together(self) -> PeopleTable:
        for what, names in (
            ("fields", [field.name for field in (*self.before, *self.after)]),
            ("conditions", [condition.name for condition in self.conditions]),
        ):
            if twice := [name for name in names if names.count(name) > 1]:
                raise ValueError(f'two {what} are called "{twice[0]}"; every one needs a name of its own')
        if self.ends:
            ending(self.ends)
        for origin in self.embed_origins:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f'embed_origins has "{origin}"; an origin is written as https://lab.example')
        return self


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
    if isinstance(queries := given.get("queries"), dict) and queries.get("kind") == "odd_one_out":
        given["queries"] = {"candidates": ODD_CANDIDATES, **queries}
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        raise _sentence(error.errors()[0]) from None
    check_ranges("learner", settings.learner.settings)
    check_ranges("strategy", settings.strategy.settings)
    return settings


_BEGIN_THEMSELVES = ("default", "typical_margin", "typicality", "random")  # strategies that need no random start


def _first_labels(given: Mapping[str, Any]) -> dict[str, int]:
    strategy = given.get("strategy", {})
    name = strategy.get("name", "default") if isinstance(strategy, dict) else ""
    return {"first": 0} if name in _BEGIN_THEMSELVES else {}


def _plain(values: Any) -> Any:
    """Numbers of numpy, from a script, as Python's own; days and times of TOML as text."""
    if not isinstance(values, Mapping):
        return values
    return {key: _plain_value(value) for key, value in values.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value.isoformat() if isinstance(value, date) else value  # a datetime is a date


def _as_table(values: Any, table: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise DataError(f"[{table}] is {values!r}; it must be a table of keys and values.")
    return values


def check_ranges(table: str, settings: Mapping[str, Any]) -> None:
    """Refuse counts among a part's settings that are none, or out of their range."""
    for key, (least, most) in PART_RANGES.items():
        given = settings.get(key)
        for value in given if isinstance(given, list | tuple) else [given]:
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise DataError(f"[{table}] {key} is {given!r}; it must be a whole number from {least} to {most}.")
            if not least <= value <= most:
                raise DataError(f"[{table}] {key} is {given}; it must be from {least} to {most}.")


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
    if error["type"] == "value_error":
        return DataError(f"[{table}] {error['msg'].removeprefix('Value error, ')}.")
    if not rest:
        if error["type"] == "extra_forbidden":
            return unknown_name("Table", table, Settings.model_fields)
        return DataError(f"[{table}] is {error['input']!r}; it must be a table of keys and values.")
    key, value = rest[0], error["input"]
    if len(rest) > 1:
        return _nested_sentence(error, table, rest)
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
    if error["type"] == "too_long":
        return DataError(f"[{table}] {key} has {len(value)} entries; at most {error['ctx']['max_length']} are taken.")
    wanted = _TYPE_WORDS.get(error["type"], "something else")
    return DataError(f"[{table}] {key} is {value!r}; it must be {wanted}, like {fields[key].default!r}.")


def _nested_sentence(error: ErrorDetails, table: str, rest: list[str]) -> Exception:
    """Of an entry of a list of tables, such as the third of [[people.before]]."""
    (name, number, *keys), value = rest, error["input"]
    where = f"[[{table}.{name}]] number {int(number) + 1}"
    if not keys:
        return DataError(f"{where} is {value!r}; it must be a table of keys and values.")
    if error["type"] == "extra_forbidden":
        entry: Any = Settings.model_fields[table].annotation
        known = entry.model_fields[name].annotation.__args__[0].model_fields
        return unknown_name(f"Key in {where}", keys[0], known)
    if error["type"] == "missing":
        return DataError(f"{where} has no {keys[0]}: {value!r}.")
    return DataError(f"{where}: {keys[0]} is {value!r}. {error['msg']}.")


def _range_of(metadata: list[Any]) -> tuple[Any, Any]:
    def bounds(name: str) -> Iterator[Any]:
        return (getattr(part, name) for part in metadata if hasattr(part, name))

    return next(bounds("ge")), next(bounds("le"))
