"""How a [people] table wants questions dealt."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from infonn.errors import DataError
from infonn.live.studies import LiveStudies, has_ended, servings_for
from infonn.live.transfer import put_study
from infonn.live.worker import Worker
from infonn.records import Answer
from infonn.specs.build import items_of
from infonn.specs.settings import check_spec, ending
from infonn.storage.memory import MemoryStorage

NAMES = [f"item {i}" for i in range(20)]
FIRST, LAST = NAMES[:8], NAMES[12:]


def made(queries=None, **people):
    storage = MemoryStorage()
    labels = "classes" in (queries or {})
    rng = np.random.default_rng(0)
    spec = {
        "study": {"name": "s", "task": "labels" if labels else "similarity"},
        "queries": {"first": 5, **(queries or {})},
        "learner": {"name": "logistic" if labels else "mds"},
        "people": people,
    }
    items = items_of([(name, None) for name in NAMES], rng.normal(size=(20, 2)) if labels else None)
    return storage, put_study(storage, spec, items, [])


def names_of(question) -> set[str]:
    return set(question.names)


def test_an_attention_check_may_show_the_reference_again() -> None:
    entry = {"reference": "item 1", "candidates": ["item 2", "item 1", "item 3"], "position": 0}
    storage, record = made(catch=[entry])
    (served,) = storage.serve("s", "anna", 1, servings_for(storage, record)[""])
    assert (served.purpose, served.query, served.expected) == ("catch", (1, 2, 1, 3), 1)


def test_catch_questions_without_a_place_need_to_know_how_often() -> None:
    entry = {"reference": "item 1", "candidates": ["item 2", "item 3", "item 4"], "expected": "item 2"}
    with pytest.raises(DataError, match="or set catch_every"):
        made(catch=[entry])
    storage, record = made(catch=[entry], catch_every=5)
    assert [question.query for question in servings_for(storage, record)[""].catch_list] == [(1, 2, 3, 4)]


@pytest.mark.parametrize("queries", [{}, {"classes": ["a", "b"]}], ids=["similarity", "labels"])
def test_people_of_a_condition_are_asked_about_its_items_alone(queries, monkeypatch) -> None:
    """Before the first fit, after it, and where the queue has run dry."""
    monkeypatch.setattr("infonn.live.updating.REFILL_EVERY_S", -1.0)  # after every answer, whatever the clock says
    storage, record = made(
        queries, hold_out=0.2, conditions=[{"name": "a", "items": FIRST}, {"name": "b", "items": LAST}]
    )
    worker = Worker(storage)
    worker.turn()
    study = LiveStudies(storage).by_key(record.key)
    allowed = {"a": set(FIRST), "b": set(LAST)}
    for name, items in allowed.items():
        person, serving = storage.join("s", conditions=(name,)).name, study.serving_in(name)
        chosen = 0
        for number in range(7):
            (question,) = storage.serve("s", person, 1, serving)
            assert {question.names[0]} <= items if queries else names_of(question) <= items
            assert question.condition == name
            chosen += question.strategy_used != "random"
            storage.exchange("s", Answer(f"{person}-{number}", question.id, person, 0), 0, serving)
            worker.turn()
        assert chosen or name == "a"
        dry = storage.serve("s", person, 200, replace(serving, ahead=None)) if not queries else []
        assert all(names_of(question) <= items for question in dry)


def test_an_order_goes_through_the_list_and_then_again() -> None:
    listed = {"name": "up", "items": FIRST, "order": "listed"}
    storage, record = made(conditions=[listed, {**listed, "name": "down", "order": "reversed"}])
    study = LiveStudies(storage).by_key(record.key)
    for name, references in (("up", FIRST), ("down", FIRST[::-1])):
        served = storage.serve("s", name, 10, replace(study.serving_in(name), ahead=None))
        assert [question.names[0] for question in served] == [*references, *references[:2]]
        assert all(names_of(question) <= set(FIRST) for question in served)


@pytest.mark.parametrize(
    "condition, refusal",
    [
        ({"items": ["item 1", "nothing"]}, '"a" names "nothing", which is no item'),
        ({"items": ["item 1", "item 1", "item 2", "item 3"]}, 'names "item 1" twice'),
        ({"items": ["item 1", "item 2"]}, "too few items"),
    ],
)
def test_conditions_that_cannot_be_asked_are_refused(condition, refusal) -> None:
    with pytest.raises(DataError, match=refusal):
        made(conditions=[{"name": "a", **condition}])


def test_a_condition_has_texts_of_its_own() -> None:
    storage, record = made(question="Q?", instructions="I", conditions=[{"name": "a", "question": "Other?"}])
    study = LiveStudies(storage).by_key(record.key)
    assert [study.people_in(name)["question"] for name in ("a", "", "gone")] == ["Other?", "Q?", "Q?"]
    assert study.people_in("a")["instructions"] == "I"


def test_a_study_ends_after_its_last_day() -> None:
    assert ending("2020-01-01") == ending("2020-01-02T00:00") == ending("2020-01-02T01:00+01:00")
    assert has_ended(check_spec({"people": {"ends": "2020-01-01"}})["people"])
    assert not has_ended(check_spec({"people": {"ends": "2999-01-01"}})["people"])
    storage, record = made(ends="2020-01-01")
    study = LiveStudies(storage).by_key(record.key)
    assert study.ended
    assert storage.serve("s", "anna", 3, study.serving) == []


def test_nothing_is_dealt_while_a_study_pauses() -> None:
    entry = {"reference": "item 1", "candidates": ["item 2", "item 3", "item 4"], "expected": "item 2"}
    storage, record = made(practice=[entry], catch=[{**entry, "position": 0}])
    storage.change_study("s", paused=True)
    study = LiveStudies(storage).by_key(record.key)
    assert storage.serve("s", "anna", 3, study.serving) == []
    storage.change_study("s", paused=False)
    study = LiveStudies(storage).by_key(record.key)
    assert [q.purpose for q in storage.serve("s", "anna", 2, study.serving)] == ["practice", "catch"]


def test_what_a_condition_draws_is_distinct() -> None:
    storage, record = made(conditions=[{"name": "a", "items": FIRST}])
    drawn = list(islice(servings_for(storage, record)["a"].draw("train"), 50))
    assert len({question.query for question in drawn}) == 50
