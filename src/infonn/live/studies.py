"""Studies as the server sees them: kept for a moment, so that an answer costs one transaction and no more."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infonn.beliefs import Examples
from infonn.contracts.loop import Task
from infonn.contracts.storage import LiveStorage, Serving
from infonn.errors import DataError, InvalidQueryError
from infonn.queries import Kind, padded_queries
from infonn.records import Item, Purpose, Question, StudyRecord
from infonn.specs.build import build_task
from infonn.specs.settings import check_spec, ending

_DRAWN = (20, 20_000)  # random queries at a time: the second lot is for people who have seen nearly all
_FRESH_S = 1.0  # how long a change by the owner may take to reach participants


@dataclass(frozen=True)
class LiveStudy:
    """A stored study, and how its questions are dealt."""

    record: StudyRecord
    spec: Mapping[str, Any]
    items: tuple[Item, ...]
    servings: Mapping[str, Serving]  # by condition; "" for people who are in none
    full: bool = False  # all the answers it wants are there

    @property
    def people(self) -> Mapping[str, Any]:
        people: Mapping[str, Any] = self.spec["people"]
        return people

    @property
    def serving(self) -> Serving:
        return self.servings[""]

    @property
    def ended(self) -> bool:
        """Whether its owner or its last day has ended it."""
        return self.record.archived or has_ended(self.people)

    def serving_in(self, condition: str) -> Serving:
        """How questions are dealt in a condition; as to everybody where there is none of that name any more."""
        return self.servings.get(condition, self.serving)

    def people_in(self, condition: str) -> Mapping[str, Any]:
        """The [people] table as it is in a condition."""
        for table in self.people["conditions"]:
            if table["name"] == condition:
                return {**self.people, **{key: table[key] for key in ("question", "instructions") if table[key]}}
        return self.people


class LiveStudies:
    """Loads studies by key or name and keeps them for a second."""

    def __init__(self, storage: LiveStorage) -> None:
        self._storage = storage
        self._kept: dict[str, tuple[float, LiveStudy]] = {}
        self._parts: dict[str, tuple[tuple[Item, ...], Task]] = {}  # by key: items and task of a study never change
        self._examples: dict[str, tuple[Any, Examples | None]] = {}  # key -> revision of the model, its examples
        self._lock = threading.Lock()

    def at_hand(self, key: str) -> LiveStudy | None:
        """The study, where it was loaded a moment ago."""
        kept = self._kept.get(key)
        return kept[1] if kept is not None and time.monotonic() - kept[0] < _FRESH_S else None

    def by_key(self, key: str) -> LiveStudy | None:
        if (kept := self.at_hand(key)) is not None:
            return kept
        record = self._storage.study_by_key(key)
        if record is None:
            return None
        study = self._load(record)
        with self._lock:
            self._kept[key] = (time.monotonic(), study)
        return study

    def forget(self, key: str) -> None:
        """Load this study anew when it is asked for next: it was changed, or is gone."""
        with self._lock:
            self._kept.pop(key, None)
            self._parts.pop(key, None)
            self._examples.pop(key, None)

    def _load(self, record: StudyRecord) -> LiveStudy:
        spec = check_spec(record.spec)
        if record.key not in self._parts:
            items = tuple(self._storage.items(record.name))
            self._parts[record.key] = items, build_task(record.spec, self._storage)
        items, task = self._parts[record.key]
        servings = servings_of(record, spec, items, task, self._examples_of(record, task))
        full = self._is_full(record, spec)
        if full or record.archived or record.paused or has_ended(spec["people"]):
            # What is held may still be answered; nothing new is dealt.
            servings = {name: replace(each, per_person=0, practice=()) for name, each in servings.items()}
        return LiveStudy(record, spec, items, servings, full)

    def _examples_of(self, record: StudyRecord, task: Task) -> Examples | None:
        """What questions drawn here show of each class: by the last cold fit."""
        fitted = self._storage.notes(record.name).get("reported", {}).get("revision")
        known, examples = self._examples.get(record.key, (None, None))
        if fitted is not None and fitted != known:
            kept = self._storage.load_model(record.name)
            examples = None if kept is None else task.examples_of_model(kept[1])
            self._examples[record.key] = fitted, examples
        return examples

    def _is_full(self, record: StudyRecord, spec: Mapping[str, Any]) -> bool:
        wanted = spec["budget"]["answers"]
        if self._storage.revision(record.name)[0] < wanted:
            return False
        return self._storage.counts(record.name).answered["train"] >= wanted


def has_ended(people: Mapping[str, Any]) -> bool:
    """Whether the last day of a [people] table is over."""
    return bool(people["ends"]) and time.time() >= ending(people["ends"])


def servings_for(storage: LiveStorage, record: StudyRecord, items: Sequence[Item] | None = None) -> dict[str, Serving]:
    """How a study's questions would be dealt; refuses what cannot be. `items` are those of a study not stored yet."""
    from infonn.storage.memory import MemoryStorage

    kept = storage.items(record.name) if items is None else list(items)
    scratch = MemoryStorage()
    scratch.create_study(record, kept)
    spec = check_spec(record.spec)
    return servings_of(record, spec, kept, build_task(record.spec, scratch))


def servings_of(
    record: StudyRecord,
    spec: Mapping[str, Any],
    items: Sequence[Item],
    task: Task,
    examples: Examples | None = None,
) -> dict[str, Serving]:
    """How the [people] table wants questions dealt, by condition; "" for people who are in none."""
    people = spec["people"]
    _check_catch(people)

    def fixed(entry: Mapping[str, Any], purpose: Purpose) -> Question:
        query = _named_query(entry, items, spec["queries"]["kind"])
        question = _question(record, spec, items, task, query, purpose)
        return replace(question, expected=_expected(entry, question))

    everybody = Serving(
        lease_s=people["lease_s"],
        hold_out=people["hold_out"],
        at_random=people["at_random"],
        overlap=people["overlap"],
        repeats=people["repeats"],
        self_repeats=people["self_repeats"],
        repeat_gap=people["repeat_gap"],
        per_person=people["per_person"] or None,
        ahead=1 + people["prefetch"],
        practice=tuple(fixed(entry, "practice") for entry in people["practice"]),
        catch={entry["position"]: fixed(entry, "catch") for entry in people["catch"] if "position" in entry},
        catch_list=tuple(fixed(entry, "catch") for entry in people["catch"] if "position" not in entry),
        catch_every=people["catch_every"],
        most_wrong=people["most_wrong"],
        draw=_draw(record, spec, items, task, examples),
        seed=record.seed,
    )
    servings = {"": everybody}
    for condition in people["conditions"]:
        limited = _limited(task, condition, items)
        draw = _draw(record, spec, items, limited, examples, _queue_of(condition))
        serving = replace(everybody, draw=draw, condition=_queue_of(condition))
        if condition["order"] != "chosen":
            serving = replace(serving, draw_at=_in_order(record, spec, items, limited, condition))
        servings[condition["name"]] = serving
    return servings


def queues(people: Mapping[str, Any], items: Sequence[Item], task: Task) -> dict[str, Task]:
    """The queues a study's people are asked from, and what may be asked in each: one for all who see all items."""
    conditions = [condition for condition in people["conditions"] if condition["order"] == "chosen"]
    if not people["conditions"]:
        return {"": task}
    return {_queue_of(condition): _limited(task, condition, items) for condition in conditions}


def _queue_of(condition: Mapping[str, Any]) -> str:
    return str(condition["name"]) if condition["items"] else ""


def _limited(task: Task, condition: Mapping[str, Any], items: Sequence[Item]) -> Task:
    rows = np.array(_rows_of(condition, items))
    try:
        return task.limited_to(rows) if condition["items"] else task
    except InvalidQueryError as error:
        raise DataError(f'Condition "{condition["name"]}" has too few items. {error}') from error


def _rows_of(condition: Mapping[str, Any], items: Sequence[Item]) -> list[int]:
    """The items of a condition, in its order."""
    index = {item.name: row for row, item in enumerate(items)}
    for name in condition["items"]:
        if name not in index:
            raise DataError(f'Condition "{condition["name"]}" names "{name}", which is no item of this study.')
        if condition["items"].count(name) > 1:
            raise DataError(f'Condition "{condition["name"]}" names "{name}" twice.')
    return [index[name] for name in condition["items"]] or list(range(len(items)))


def _draw(
    record: StudyRecord,
    spec: Mapping[str, Any],
    items: Sequence[Item],
    task: Task,
    examples: Examples | None,
    condition: str = "",
) -> Callable[[Purpose], Iterator[Question]]:
    """Random questions of a task, one after another."""
    rng = np.random.default_rng()  # which random question a person gets need not be repeatable; it is on record

    def draw(purpose: Purpose) -> Iterator[Question]:
        used = {"strategy_asked": spec["strategy"]["name"] if purpose == "train" else "random", "condition": condition}
        drawn: set[tuple[int, ...]] = set()
        for lot in _DRAWN:
            for query in map(tuple, task.first_queries(lot, rng).tolist()):
                if query not in drawn:
                    drawn.add(query)
                    yield _question(record, spec, items, task, query, purpose, examples, **used)

    return draw


def _in_order(
    record: StudyRecord, spec: Mapping[str, Any], items: Sequence[Item], task: Task, condition: Mapping[str, Any]
) -> Callable[[Purpose, int], Iterator[Question]]:
    """Questions whose references come as listed, one after another and then again."""
    references = _rows_of(condition, items)
    if condition["order"] == "reversed":
        references = references[::-1]
    rng = np.random.default_rng()

    def draw_at(purpose: Purpose, place: int) -> Iterator[Question]:
        for _ in range(_DRAWN[0]):
            query = tuple(task.query_about(references[place % len(references)], rng).tolist())
            asked = {"strategy_asked": "random", "condition": _queue_of(condition)}
            yield _question(record, spec, items, task, query, purpose, None, **asked)

    return draw_at


def _check_catch(people: Mapping[str, Any]) -> None:
    for entry in people["catch"]:
        position = entry.get("position", None if people["catch_every"] else -1) if isinstance(entry, Mapping) else -1
        if position is not None and (not isinstance(position, int) or position < 0):
            raise DataError(
                "A catch question needs a position, 0 for the first question; or set catch_every, which puts those "
                f"without one at random places: {entry!r}."
            )


def _question(
    record: StudyRecord,
    spec: Mapping[str, Any],
    items: Sequence[Item],
    task: Task,
    query: tuple[int, ...],
    purpose: Purpose,
    examples: Examples | None = None,
    **fields: Any,
) -> Question:
    options = task.options(padded_queries([query], len(query) - 1)[0], examples)
    whole = tuple(item for item in query if item >= 0)
    order = list(range(len(options)))
    if spec["queries"]["kind"] != "label":  # classes keep their places, so that a hand finds them blind
        secrets.SystemRandom().shuffle(order)
    return Question(
        id=secrets.token_hex(8),
        study=record.name,
        query=whole,
        names=tuple(items[item].name for item in whole),
        options=options,
        shown=tuple(order),
        kind=spec["queries"]["kind"],
        purpose=purpose,
        strategy_used="random",
        created_at=time.time(),
        **fields,
    )


def _named_query(entry: Any, items: Sequence[Item], kind: Kind) -> tuple[int, ...]:
    """A practice or catch question of the [people] table, written with item names; a label needs no candidates."""
    shape, needed = "{reference = 'a', candidates = ['b', 'c', 'd'], expected = 'b'}", {"reference"}
    if kind == "odd_one_out":
        shape, needed = "{candidates = ['a', 'b', 'c'], expected = 'c'}", {"candidates", "expected"}
    shown_again = isinstance(entry, Mapping) and entry.get("reference") in _listed(entry)
    if (
        not isinstance(entry, Mapping)
        or not needed <= set(entry)
        or not ("expected" in entry or shown_again)
        or (kind == "odd_one_out" and "reference" in entry)
    ):
        raise DataError(f"Practice and catch questions are written as {shape}; one is {entry!r}.")
    index = {item.name: i for i, item in enumerate(items)}
    names = [*([entry["reference"]] if "reference" in entry else []), *_listed(entry)]
    if kind == "odd_one_out" and len(names) != 3:
        raise DataError(f"The odd one is asked for among 3 items, as in {shape}; one question is {entry!r}.")
    for name in names:
        if not isinstance(name, str) or name not in index:
            raise DataError(f'A practice or catch question names "{name}", which is no item of this study.')
    if len(set(_listed(entry))) < len(_listed(entry)):
        raise DataError(f"The candidates of a practice or catch question must differ: {entry!r}.")
    return tuple(index[name] for name in names)


def _expected(entry: Mapping[str, Any], question: Question) -> int:
    """The option that is right: an item, a class, or for a ranking all candidates, as in "b > c > d".

    Where the reference is a candidate, as in a check of attention, that one."""
    labels, expected = [option.label for option in question.options], entry.get("expected", entry.get("reference"))
    if expected not in labels:
        known = ", ".join(labels[:6]) or "none, as it has no candidates"
        raise DataError(f'A practice or catch question expects "{expected}"; its options are {known}.')
    return labels.index(expected)


def _listed(entry: Mapping[str, Any]) -> list[Any]:
    candidates = entry.get("candidates", [])
    return candidates if isinstance(candidates, list) else []
