"""What every storage keeps to: memory, a file of JSON lines, SQLite, and a real PostgreSQL."""

import itertools
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from infonn.contracts.storage import Answered, LiveStorage, Serving
from infonn.errors import (
    AlreadyAnsweredError,
    DataError,
    InvalidQueryError,
    StudyError,
    StudyFullError,
    UnknownNameError,
    UnknownQuestionError,
)
from infonn.records import Answer, Deletion, Item, ItemFile, Option, Question, Round, StudyRecord, Token
from infonn.specs.build import open_live_storage, open_storage
from infonn.storage.jsonl import JsonlStorage
from infonn.storage.memory import MemoryStorage
from infonn.storage.sql import SqlStorage

ITEMS = [Item(f"item {i}", text=f"text {i}") for i in range(12)]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(request, tmp_path, clock):
    if request.param == "memory":
        kept = MemoryStorage(clock)
    elif request.param == "jsonl":
        kept = JsonlStorage(tmp_path / "study.jsonl", clock)
    elif request.param == "sqlite":
        kept = SqlStorage(f"sqlite:///{tmp_path}/study.db", clock)
    else:
        kept = SqlStorage(request.getfixturevalue("postgres_server").new_database(), clock)
    kept.create_study(StudyRecord("s", {"study": {"task": "similarity"}}, seed=7), ITEMS)
    return kept


@pytest.fixture(params=["memory", "jsonl", "sqlite", "postgresql"])
def storage(request, tmp_path, clock):
    """Every storage."""
    kept = opened(request, tmp_path, clock)
    yield kept
    kept.close()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def live(request, tmp_path, clock):
    """Every storage that people can answer on."""
    kept = opened(request, tmp_path, clock)
    yield kept
    kept.close()


def question(number: int, query=None, **changes) -> Question:
    query = query or (number % 12, (number + 1) % 12, (number + 2) % 12, (number + 3 + number // 12) % 12)
    options = tuple(Option(f"item {i}", i) for i in query[1:])
    names = tuple(f"item {i}" for i in query)
    values = {"strategy_asked": "info_nn", "strategy_used": "info_nn", "score": 0.5, "created_at": 5.0, **changes}
    return Question(f"q{number}", "s", query, names, options, (2, 0, 1), **values)


def answer(question_id: str, respondent: str = "anna", response=1, **changes) -> Answer:
    outcome = changes.pop("outcome", "answered")
    name = changes.pop("id", f"a-{question_id}-{respondent}")
    return Answer(name, question_id, respondent, response if outcome == "answered" else None, outcome, **changes)


def ids(questions) -> list[str]:
    return [question.id for question in questions]


def responses(storage, purpose="train") -> list:
    return [pair.answer.response for pair in storage.answers("s", purpose)]


# --- studies ---------------------------------------------------------------------------------------


def test_a_study_is_loaded_as_it_was_stored(live) -> None:
    record = live.study("s")
    assert (record.name, record.seed, record.archived) == ("s", 7, False)
    assert record.spec == {"study": {"task": "similarity"}}
    assert live.items("s") == ITEMS
    assert live.study_by_key(record.key) == record
    assert live.study_by_key("nonsense") is None
    assert len(record.key) >= 20


def test_a_second_study_of_the_same_name_is_refused(storage) -> None:
    with pytest.raises(StudyError, match='Study "s" exists already'):
        storage.create_study(StudyRecord("s", {}), [])
    assert storage.items("s") == ITEMS


def test_an_unknown_study_is_named_with_the_known_ones(live) -> None:
    for call in (live.study, live.items, live.answers, live.revision, live.counts):
        with pytest.raises(StudyError, match='There is no study "t". Known studies: s.'):
            call("t")


def test_studies_are_archived_and_their_settings_changed(live) -> None:
    assert live.change_study("s", archived=True).archived
    assert live.change_study("s", {"people": {"title": "x"}}).archived
    assert live.study("s").spec == {"study": {"task": "similarity"}, "people": {"title": "x"}}
    live.change_study("s", lambda spec: {"people": {**spec["people"], "question": "y"}})
    assert live.study("s").spec == {"people": {"title": "x", "question": "y"}}
    assert not live.change_study("s", archived=False).archived


def test_files_are_kept_as_they_are(live) -> None:
    data = bytes(range(256)) * 40
    live.create_study(StudyRecord("t", {}), ITEMS[:3], None, [ItemFile("a b/ä.png", "image/png", data)])
    assert live.file("t", "a b/ä.png") == ItemFile("a b/ä.png", "image/png", data)
    assert live.files("t") == ["a b/ä.png"]
    assert live.file("s", "a b/ä.png") is None


def test_features_are_kept_to_the_last_bit(live) -> None:
    features = np.random.default_rng(0).normal(size=(12, 3))
    live.create_study(StudyRecord("t", {}), ITEMS, features)
    np.testing.assert_array_equal(live.features("t"), features)
    assert live.features("s") is None
    assert live.files("t") == []


# --- questions -------------------------------------------------------------------------------------


def test_questions_are_loaded_as_they_were_stored(storage) -> None:
    stored = question(1, expected=2, purpose="hold_out", model_version=3, kind="ranking", copy_of="q0")
    storage.add_questions("s", [stored, question(2)])
    assert storage.question("s", "q1") == stored
    assert storage.questions("s") == [stored, question(2)]
    with pytest.raises(UnknownQuestionError, match='Question "q9" was never asked in study "s"'):
        storage.question("s", "q9")


def test_what_a_person_holds_comes_first_and_again(storage) -> None:
    storage.add_questions("s", [question(i) for i in range(6)])
    assert ids(storage.take("s", "anna", 2, 60)) == ["q0", "q1"]
    assert ids(storage.take("s", "anna", 2, 60)) == ["q0", "q1"]
    assert ids(storage.take("s", "anna", 3, 60)) == ["q0", "q1", "q2"]
    assert ids(storage.take("s", "bert", 2, 60)) == ["q3", "q4"]


def test_a_question_taken_says_who_holds_it_and_until_when(storage, clock) -> None:
    storage.add_questions("s", [question(0)])
    taken = storage.take("s", "anna", 1, 60)[0]
    assert (taken.respondent, taken.asked_at, taken.lease_until) == ("anna", clock.now, clock.now + 60)
    assert storage.question("s", "q0") == taken


def test_states_of_questions(storage, clock) -> None:
    storage.add_questions("s", [question(i) for i in range(3)])
    storage.take("s", "anna", 2, 60)
    storage.add_answer("s", answer("q0"))
    listed = {state: ids(storage.questions("s", state)) for state in ("open", "leased", "answered", "all")}
    assert listed == {"open": ["q2"], "leased": ["q1"], "answered": ["q0"], "all": ["q0", "q1", "q2"]}
    clock.now += 61
    assert ids(storage.questions("s", "open")) == ["q1", "q2"]


def test_a_question_returns_to_the_queue_when_its_lease_ends(storage, clock) -> None:
    storage.add_questions("s", [question(0)])
    storage.take("s", "anna", 1, 60)
    assert storage.take("s", "bert", 1, 60) == []
    clock.now += 61
    assert ids(storage.take("s", "bert", 1, 60)) == ["q0"]
    assert storage.take("s", "anna", 1, 60) == []


def test_a_person_who_comes_back_late_gets_the_same_question(storage, clock) -> None:
    storage.add_questions("s", [question(0), question(1)])
    storage.take("s", "anna", 1, 60)
    clock.now += 3600
    taken = storage.take("s", "anna", 1, 60)[0]
    assert (taken.id, taken.lease_until) == ("q0", clock.now + 60)


def test_a_lease_from_before_the_clock_was_set_back_ends(storage, clock) -> None:
    storage.add_questions("s", [question(0)])
    storage.take("s", "anna", 1, 60)
    clock.now -= 30
    assert storage.take("s", "bert", 1, 60) == []
    clock.now -= 86_400
    assert ids(storage.take("s", "bert", 1, 60)) == ["q0"]


def test_states_after_the_clock_was_set_back(storage, clock) -> None:
    storage.add_questions("s", [question(0), question(1)])
    storage.take("s", "anna", 1, 60)
    clock.now -= 30
    assert ids(storage.questions("s", "leased")) == ["q0"]
    clock.now -= 86_400
    assert ids(storage.questions("s", "leased")) == []
    assert ids(storage.questions("s", "open")) == ["q0", "q1"]


def test_a_lease_without_end_does_not_lapse(storage, clock) -> None:
    storage.add_questions("s", [question(0)])
    storage.take("s", "anna", 1, math.inf)
    for step in (1e9, -2e9):
        clock.now += step
        assert ids(storage.questions("s", "leased")) == ["q0"]


def test_a_lapsed_lease_counts_as_open_everywhere(live, clock) -> None:
    live.add_questions("s", [question(i) for i in range(3)])
    live.take("s", "anna", 2, 60)
    for step, n_open in ((30, 1), (31, 3), (-86_400, 3)):
        clock.now += step
        assert len(live.questions("s", "open")) == n_open
        assert live.queue_depth("s") == n_open
        counts = live.counts("s")
        assert (counts.queue, counts.leased) == (n_open, 3 - n_open)
        assert len(live.questions("s", "leased")) == 3 - n_open


def test_point_8_random_questions_that_nobody_answered_come_after_chosen_ones(live, clock) -> None:
    """Strangers who only knock are dealt random questions; when those lapse, others still get what was chosen."""
    drawn = iter([question(i, strategy_used="random") for i in range(3)])
    at_random = Serving(60, at_random=1.0, draw=lambda _: drawn)
    assert ids(live.serve("s", "stranger", 3, at_random)) == ["q0", "q1", "q2"]
    live.add_questions("s", [question(i, strategy_used="info_nn") for i in (3, 4)])
    clock.now += 61
    assert ids(live.serve("s", "anna", 1, Serving(60))) == ["q3"]
    clock.now += 61
    assert ids(live.serve("s", "bert", 3, Serving(60))) == ["q3", "q4", "q0"]  # before anything is drawn


def test_point_8_nobody_holds_many_questions_before_having_answered_as_many(live) -> None:
    live.add_questions("s", [question(i) for i in range(12)])
    serving = Serving(60, ahead=2)
    assert ids(live.serve("s", "anna", 20, serving)) == ["q0", "q1"]
    held = []
    for number in range(4):
        _, held, _ = live.exchange("s", answer(f"q{number}"), 20, serving)
    assert len(held) == 4
    assert len(live.serve("s", "bert", 20, serving)) == 2


def test_nobody_is_asked_the_same_query_twice(storage) -> None:
    storage.add_questions("s", [question(0), question(1, query=(0, 3, 2, 1)), question(2)])
    assert ids(storage.take("s", "anna", 3, 60)) == ["q0", "q2"]
    storage.add_answer("s", answer("q0"))
    assert ids(storage.take("s", "anna", 3, 60)) == ["q2"]
    assert ids(storage.take("s", "bert", 3, 60)) == ["q1"]


def test_the_same_query_again_where_the_study_wants_it(live) -> None:
    live.add_questions("s", [question(0), question(1, query=(0, 3, 2, 1))])
    serving = Serving(60, repeats=True)
    live.serve("s", "anna", 1, serving)
    _, following, _ = live.exchange("s", answer("q0"), 1, serving)
    assert ids(following) == ["q1"]


def test_replacing_the_queue_leaves_what_is_held_answered_or_held_out(storage, clock) -> None:
    storage.add_questions("s", [question(i) for i in range(5)])
    storage.add_questions("s", [question(5, purpose="hold_out"), question(6, copy_of="q0")])
    storage.take("s", "anna", 2, 60)
    storage.add_answer("s", answer("q0"))
    storage.replace_open("s", [question(7), question(8)])
    assert ids(storage.questions("s")) == ["q0", "q1", "q5", "q6", "q7", "q8"]
    assert ids(storage.questions("s", "open")) == ["q5", "q6", "q7", "q8"]


def test_a_replaced_question_still_takes_a_late_answer(storage, clock) -> None:
    storage.add_questions("s", [question(0)])
    storage.take("s", "anna", 1, 60)
    clock.now += 61
    storage.replace_open("s", [question(1)])
    assert ids(storage.take("s", "bert", 2, 60)) == ["q1"]
    stored = storage.add_answer("s", answer("q0"))
    assert stored.late
    assert responses(storage) == [1]


def test_the_depth_of_the_queue(live) -> None:
    live.add_questions("s", [question(i) for i in range(3)])
    live.add_questions("s", [question(4, purpose="hold_out")])
    assert live.queue_depth("s") == 3
    live.take("s", "anna", 1, 60)
    assert live.queue_depth("s") == 2


# --- serving ---------------------------------------------------------------------------------------


def drawer():
    numbers = itertools.count(100_000)

    def draw(purpose):
        for number in numbers:
            query = (number % 12, 20 + number, 21 + number, 22 + number)
            yield question(number, query=query, purpose=purpose, strategy_used="random")

    return draw


def test_hold_out_questions_come_at_their_share_and_the_same_when_asked_again(live) -> None:
    live.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(300)])
    serving = Serving(60, hold_out=0.2, draw=drawer(), seed=5)
    first = live.serve("s", "anna", 300, serving)
    assert live.serve("s", "anna", 300, serving) == first
    share = sum(q.purpose == "hold_out" for q in first) / len(first)
    assert 0.1 < share < 0.3  # 300 coins at 0.2: outside once in 100,000
    for q in first:
        live.exchange("s", answer(q.id), 0, serving)
    assert len(live.answers("s", "hold_out")) + len(live.answers("s")) == 300
    assert {pair.question.purpose for pair in live.answers("s")} == {"train"}


def test_questions_meant_to_be_random_come_at_their_share_and_are_no_fallback(live) -> None:
    live.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(300)])
    serving = Serving(60, hold_out=0.2, at_random=0.5, draw=drawer(), seed=5)
    served = live.serve("s", "anna", 300, serving)
    assert live.serve("s", "anna", 300, serving) == served
    train = [q for q in served if q.purpose == "train"]
    share = sum(q.strategy_used == "random" for q in train) / len(train)
    assert 0.35 < share < 0.65  # some 240 coins at 0.5: outside once in 250,000
    assert {(q.strategy_asked, q.strategy_used) for q in train} == {("random", "random"), ("info_nn", "info_nn")}


def test_a_dry_queue_falls_back_to_a_random_question_stored_as_such(live) -> None:
    live.add_questions("s", [question(0)])
    served = live.serve("s", "anna", 3, Serving(60, draw=drawer()))
    assert [(q.strategy_asked, q.strategy_used) for q in served] == [
        ("info_nn", "info_nn"),
        ("info_nn", "random"),
        ("info_nn", "random"),
    ]
    counts = live.counts("s")
    assert (counts.asked, counts.fallback) == (3, 2)
    assert live.serve("s", "bert", 3, Serving(60)) == []


def test_random_questions_go_on_until_a_person_has_seen_all(live) -> None:
    rng, numbers = np.random.default_rng(0), itertools.count()

    def draw(purpose):
        for item in rng.permutation(12).tolist():
            yield question(next(numbers), query=(item, 20, 21, 22), purpose=purpose)

    serving = Serving(60, hold_out=0.5, draw=draw)
    asked, served = [], live.serve("s", "anna", 1, serving)
    while served:
        asked.append(served[0].query[0])
        _, served, _ = live.exchange("s", answer(served[0].id), 1, serving)
    assert sorted(asked) == list(range(12))
    assert live.serve("s", "bert", 1, serving) != []


def test_overlap_asks_the_same_query_of_several_people(live) -> None:
    live.add_questions("s", [question(i) for i in range(3)])
    serving = Serving(60, overlap=2)
    people = ("anna", "bert", "cleo")
    queries = {person: [q.query for q in live.serve("s", person, 2, serving)] for person in people}
    assert queries["anna"] == queries["bert"] == [question(0).query, question(1).query]
    assert queries["cleo"] == [question(2).query]
    asked = [q for q in live.questions("s") if q.asked_at is not None]
    assert len({q.id for q in asked}) == 5
    assert [q.copy_of for q in asked if q.respondent == "bert"] == ["q0", "q1"]


def test_a_copy_for_overlap_never_goes_to_the_same_person(live) -> None:
    """Also where one person may be asked the same query again: then both copies went to whoever was quickest."""
    live.add_questions("s", [question(i) for i in range(2)])
    serving = Serving(60, overlap=2, repeats=True)
    served, asked = live.serve("s", "anna", 1, serving), []
    while served:
        asked.append(served[0].query)
        _, served, _ = live.exchange("s", answer(served[0].id), 1, serving)
    assert asked == [question(0).query, question(1).query]
    assert [q.query for q in live.serve("s", "bert", 5, serving)] == asked


def test_a_share_of_questions_asks_a_person_again_what_they_answered(live) -> None:
    live.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(60)])
    serving = Serving(60, self_repeats=0.3, repeat_gap=4, seed=3, per_person=50)
    order, served = [], live.serve("s", "anna", 2, serving)
    while served:
        order.append(served[0])
        _, served, _ = live.exchange("s", answer(served[0].id), 2, serving)
    repeats = [(place, q) for place, q in enumerate(order) if q.purpose == "repeat"]
    assert 6 <= len(repeats) <= 24  # 46 coins at 0.3: outside once in 1,000
    places = {q.id: place for place, q in enumerate(order)}
    for place, again in repeats:
        assert place - places[again.copy_of] > 4
        first = order[places[again.copy_of]]
        assert (again.query, again.options, again.respondent) == (first.query, first.options, "anna")
    assert len({q.copy_of for _, q in repeats}) == len(repeats)  # each once
    assert len(live.answers("s")) == 50 - len(repeats)  # what is asked again never trains
    assert live.counts("s").answered["repeat"] == len(repeats)
    assert all(q.purpose == "train" for q in live.serve("s", "bert", 5, serving))


def test_catch_questions_of_a_list_come_once_in_every_so_many(live, clock) -> None:
    live.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(80)])
    catch = tuple(question(90 + i, query=(1, 90 + i, 60, 61), purpose="catch", expected=2) for i in range(3))
    serving = Serving(60, catch_list=catch, catch_every=10, per_person=40, seed=1)
    places = {}
    for person in ("anna", "bert"):
        asked, served = [], live.serve("s", person, 3, serving)
        while served:
            asked.append(served[0])
            clock.now += 1  # what is handed out later comes later
            _, served, _ = live.exchange("s", answer(served[0].id, person), 3, serving)
        at = [place for place, q in enumerate(asked) if q.purpose == "catch"]
        assert [place // 10 for place in at] == [0, 1, 2, 3]
        assert {asked[place].query for place in at[:3]} == {q.query for q in catch}  # all, before one comes again
        places[person] = at
    assert places["anna"] != places["bert"]


def test_too_many_wrong_catch_answers_end_the_questions_and_undo_takes_one_back(live) -> None:
    live.add_questions("s", [question(i) for i in range(9)])
    catch = {
        place: question(60 + place, query=(1, 60 + place, 50, 51), purpose="catch", expected=2) for place in (0, 1)
    }
    serving = Serving(60, catch=catch, most_wrong=2)
    served = live.serve("s", "anna", 1, serving)
    _, served, _ = live.exchange("s", answer(served[0].id, response=1), 1, serving)
    last = answer(served[0].id, response=0)
    _, served, _ = live.exchange("s", last, 1, serving)
    assert served == live.serve("s", "anna", 1, serving) == []
    live.undo("s", last.id)
    _, served, _ = live.exchange("s", replace(last, id="another", response=2), 1, serving)
    assert [q.purpose for q in served] == ["train"]


def test_people_are_put_into_conditions_by_turn(live, clock) -> None:
    joined = [live.join("s", conditions=("a", "b")) for _ in range(4)]
    assert [person.condition for person in joined] == ["a", "b", "a", "b"]
    assert live.join("s", "x", conditions=("b",)).condition == "b"  # as the link says
    assert live.join("s", "x", conditions=("a",)).condition == "b"  # and it stays
    assert {person.name: person.condition for person in live.respondents("s")}[joined[1].name] == "b"
    live.add_questions("s", [question(0)])
    clock.now += 3600  # those who went without an answer do not count any more
    live.exchange("s", answer(live.serve("s", joined[0].name, 1, Serving(60))[0].id, joined[0].name), 0, Serving(60))
    assert [live.join("s", conditions=("a", "b")).condition for _ in range(2)] == ["b", "a"]


def test_a_study_takes_so_many_people_and_those_who_come_back(live, clock) -> None:
    live.join("s", "x", most_people=2)
    live.join("s", most_people=2)
    with pytest.raises(StudyFullError, match="takes 2 people"):
        live.join("s", "y", most_people=2)
    live.join("s", "x", most_people=2)
    assert len(live.respondents("s")) == 2
    clock.now += 3600  # nobody answered
    live.join("s", "y", most_people=2)


def test_questions_of_a_condition_go_to_its_people_alone(live) -> None:
    live.add_questions("s", [question(0, condition="a"), question(1), question(2, condition="a")])
    assert ids(live.serve("s", "anna", 5, Serving(60, condition="a"))) == ["q0", "q2"]
    assert ids(live.serve("s", "bert", 5, Serving(60))) == ["q1"]
    assert [q.condition for q in live.questions("s")] == ["a", "", "a"]


def test_an_order_of_its_own_leaves_the_queue_alone(live) -> None:
    live.add_questions("s", [question(0)])
    numbers = itertools.count(500)

    def draw_at(purpose, place):
        yield question(next(numbers), query=(place, 30, 31, 32), purpose=purpose)

    catch = {1: question(60, query=(1, 60, 61, 62), purpose="catch", expected=2)}
    served = live.serve("s", "anna", 4, Serving(60, draw_at=draw_at, catch=catch))
    assert [(q.purpose, q.query[0]) for q in served] == [("train", 0), ("catch", 1), ("train", 1), ("train", 2)]


def test_what_people_say_about_themselves_is_kept_and_goes_with_them(live) -> None:
    person = live.join("s").name
    live.tell_about("s", person, {"age": "18 to 29"})
    live.tell_about("s", person, {"note": "ästhetisch"})
    assert live.respondent("s", person).about == {"age": "18 to 29", "note": "ästhetisch"}
    assert [p.about for p in live.respondents("s")] == [{"age": "18 to 29", "note": "ästhetisch"}]
    assert live.respondent("s", "nobody") is None
    live.purge_details("s")
    assert live.respondent("s", person).about["age"] == "18 to 29"  # not who they are
    live.delete_person("s", person)
    assert live.respondent("s", person) is None


def test_a_study_pauses_and_goes_on(live) -> None:
    assert not live.study("s").paused
    assert live.change_study("s", paused=True).paused
    assert live.study("s").paused
    assert not live.study("s").archived
    assert not live.change_study("s", paused=False).paused


def test_practice_comes_first_and_catch_questions_at_their_positions(live) -> None:
    live.add_questions("s", [question(i) for i in range(9)])
    practice = question(50, query=(1, 50, 51, 52), purpose="practice", expected=0)
    catch = {1: question(60, query=(1, 60, 61, 62), purpose="catch", expected=2)}
    serving = Serving(60, practice=(practice,), catch=catch, per_person=4)
    for person in ("anna", "bert"):
        purposes = []
        served = live.serve("s", person, 1, serving)
        while served:
            purposes.append(served[0].purpose)
            _, served, _ = live.exchange("s", answer(served[0].id, person), 1, serving)
        assert purposes == ["practice", "train", "catch", "train", "train"]
    assert len(live.answers("s")) == 6
    assert [pair.question.expected for pair in live.answers("s", "catch")] == [2, 2]


def test_a_catch_question_returns_to_its_own_person_only(live, clock) -> None:
    serving = Serving(60, catch={0: question(60, query=(1, 60, 61, 62), purpose="catch", expected=2)}, per_person=1)
    mine = live.serve("s", "anna", 1, serving)
    clock.now += 100
    other = live.serve("s", "bert", 1, serving)
    assert ids(other) != ids(mine)
    assert ids(live.serve("s", "anna", 1, serving)) == ids(mine)


def test_staleness_counts_train_answers_the_model_had_not_seen(live) -> None:
    live.add_questions("s", [question(i) for i in range(4)])
    live.add_questions("s", [question(4, purpose="hold_out")])
    for i in (0, 1, 2, 4):
        live.add_answer("s", answer(f"q{i}"))
    live.replace_open("s", [question(8, model_version=1)])
    assert live.take("s", "bert", 1, 60)[0].unseen_answers == 2
    assert live.counts("s").unseen_median == 2


# --- answers ---------------------------------------------------------------------------------------


def test_answers_are_loaded_in_the_order_of_arrival(live) -> None:
    live.add_questions("s", [question(i) for i in range(3)])
    given = [answer(f"q{i}", response=i, response_time_s=0.5, context={"device": "phone"}) for i in (2, 0, 1)]
    for one in given:
        live.add_answer("s", one)
    loaded = live.answers("s")
    assert [pair.answer.response for pair in loaded] == [2, 0, 1]
    assert [pair.answer.number for pair in loaded] == [1, 2, 3]
    assert [pair.question.id for pair in loaded] == ["q2", "q0", "q1"]
    assert loaded[0].answer.context == {"device": "phone"}
    assert [pair.answer.number for pair in live.answers("s", after=2)] == [3]


def test_the_same_id_again_is_one_answer_and_the_same_reply(live, clock) -> None:
    live.add_questions("s", [question(i) for i in range(3)])
    serving = Serving(60)
    live.serve("s", "anna", 1, serving)
    first = live.exchange("s", answer("q0"), 1, serving)
    clock.now += 1
    again = live.exchange("s", answer("q0"), 1, Serving(59))
    assert again == first
    assert live.revision("s") == (1, 0)
    assert ids(first[1]) == ["q1"]


def test_an_id_used_for_another_question_is_refused(storage) -> None:
    storage.add_questions("s", [question(0), question(1)])
    storage.add_answer("s", answer("q0", id="x"))
    with pytest.raises(AlreadyAnsweredError, match='Answer id "x" belongs to another answer'):
        storage.add_answer("s", answer("q1", id="x"))
    assert responses(storage) == [1]


def test_a_second_answer_of_one_person_is_refused(storage) -> None:
    storage.add_questions("s", [question(0)])
    storage.take("s", "anna", 1, 60)
    storage.add_answer("s", answer("q0", response=2))
    with pytest.raises(AlreadyAnsweredError, match="already answered by participant anna"):
        storage.add_answer("s", answer("q0", id="other", response=0))
    assert responses(storage) == [2]


def test_a_question_cannot_be_answered_by_somebody_it_was_not_handed_to(live) -> None:
    live.add_questions("s", [question(0)])
    live.take("s", "anna", 1, 60)
    with pytest.raises(UnknownQuestionError, match='"q0" was not handed to participant eve'):
        live.exchange("s", answer("q0", "eve"), 1, Serving(60))
    assert responses(live) == []


def test_a_response_outside_the_options_is_refused(live) -> None:
    live.add_questions("s", [question(0)])
    for wrong in (answer("q0", response=3), replace(answer("q0"), outcome="skipped")):
        with pytest.raises(InvalidQueryError):
            live.add_answer("s", wrong)
    assert live.revision("s") == (0, 0)


def test_a_late_answer_is_kept_and_flagged(live, clock) -> None:
    live.add_questions("s", [question(0), question(1)])
    serving = Serving(60)
    live.serve("s", "anna", 1, serving)
    clock.now += 61
    assert ids(live.serve("s", "bert", 1, serving)) == ["q0"]
    late, *_ = live.exchange("s", answer("q0", "anna", 0), 1, serving)
    timely, *_ = live.exchange("s", answer("q0", "bert", 2), 1, serving)
    assert (late.late, timely.late) == (True, False)
    assert responses(live) == [0, 2]
    assert live.counts("s").late == 1


def test_a_late_answer_to_an_answered_question_is_kept(storage, clock) -> None:
    storage.add_questions("s", [question(0)])
    storage.take("s", "anna", 1, 60)
    clock.now += 61
    storage.take("s", "bert", 1, 60)
    storage.add_answer("s", answer("q0", "bert"))
    assert storage.add_answer("s", answer("q0", "anna")).late
    assert storage.take("s", "cleo", 1, 60) == []


def test_a_late_answer_after_every_lease_has_ended_closes_the_question(storage, clock) -> None:
    storage.add_questions("s", [question(0)])
    for person in ("anna", "bert"):
        storage.take("s", person, 1, 60)
        clock.now += 61
    assert storage.add_answer("s", answer("q0", "anna")).late
    assert storage.take("s", "cleo", 1, 60) == []


def test_a_question_answered_late_does_not_come_back_even_with_repeats(live, clock) -> None:
    live.add_questions("s", [question(0), question(1, query=question(0).query)])
    serving = Serving(60, repeats=True)
    live.serve("s", "anna", 1, serving)
    clock.now += 61
    assert ids(live.serve("s", "bert", 1, serving)) == ["q0"]
    live.exchange("s", answer("q0", "anna"), 0, serving)
    clock.now += 61  # and bert never answers
    assert ids(live.serve("s", "anna", 3, serving)) == ["q1"]  # the same query, as another question
    assert ids(live.serve("s", "bert", 3, serving)) == ["q0"]


def test_skipped_and_cannot_tell_are_on_record(live) -> None:
    live.add_questions("s", [question(0), question(1)])
    live.take("s", "anna", 2, 60)
    live.add_answer("s", answer("q0", outcome="skipped"))
    live.add_answer("s", answer("q1", outcome="cannot_tell"))
    assert [pair.answer.outcome for pair in live.answers("s")] == ["skipped", "cannot_tell"]
    assert live.take("s", "anna", 2, 60) == []
    counts = live.counts("s")
    assert (counts.skipped, counts.cannot_tell, counts.answered["train"]) == (1, 1, 0)


@pytest.mark.parametrize("outcome", ["answered", "skipped", "cannot_tell"])
def test_an_undone_answer_is_out_of_force_and_its_question_comes_back(live, clock, outcome) -> None:
    live.add_questions("s", [question(i) for i in range(3)])
    serving = Serving(60)
    live.serve("s", "anna", 2, serving)
    clock.now += 5
    live.exchange("s", answer("q0", outcome=outcome), 2, serving)
    clock.now += 50
    undone = live.undo("s", "a-q0-anna", 60)
    assert undone.undone
    assert live.answers("s") == []
    assert ids(live.serve("s", "anna", 2, serving)) == ["q0", "q1"]
    again, *_ = live.exchange("s", answer("q0", id="second", response=2), 2, serving)
    assert (again.late, again.number) == (False, 2)
    assert responses(live) == [2]
    assert [pair.answer.undone for pair in live.answers_of("s", "anna")] == [True, False]
    assert live.revision("s") == (2, 1)


def test_undoing_twice_is_undoing_once(live) -> None:
    live.add_questions("s", [question(0)])
    live.add_answer("s", answer("q0"))
    live.undo("s", "a-q0-anna")
    live.undo("s", "a-q0-anna")
    assert live.revision("s") == (1, 1)
    with pytest.raises(UnknownQuestionError, match='Answer "zzz" is not in study "s"'):
        live.undo("s", "zzz")


def test_a_question_that_is_there_already_stays_as_it_is(storage) -> None:
    storage.add_questions("s", [question(0)])
    storage.add_answer("s", answer("q0"))
    storage.add_questions("s", [question(0), question(1)])
    assert [asked.id for asked in storage.questions("s", "open")] == ["q1"]


def test_answers_of_excluded_people_are_out_of_force_until_they_are_back(live) -> None:
    live.add_questions("s", [question(0), question(1)])
    live.add_answer("s", answer("q0", "anna", 0))
    live.add_answer("s", answer("q1", "bert", 2))
    live.exclude("s", "anna")
    assert responses(live) == [2]
    assert (live.counts("s").answered["train"], live.counts("s").undone) == (1, 0)
    assert {person.name: person.excluded for person in live.respondents("s")} == {"anna": True, "bert": False}
    live.exclude("s", "anna", False)
    assert responses(live) == [0, 2]
    assert live.revision("s") == (2, 2)


def test_earlier_answers_are_imported_once(live) -> None:
    pairs = [Answered(question(i), answer(f"q{i}", response=i, received_at=9.0)) for i in range(3)]
    live.add_questions("s", [question(0)])
    live.add_answer("s", pairs[0].answer)
    assert live.import_answers("s", [*pairs, *pairs]) == 2  # two exports in one file, say
    assert live.import_answers("s", pairs) == 0
    assert responses(live) == [0, 1, 2]
    assert [pair.answer.number for pair in live.answers("s")] == [1, 2, 3]
    assert live.take("s", "zoe", 3, 60) == []
    assert live.revision("s")[0] == 3


# --- people ----------------------------------------------------------------------------------------


def test_a_person_who_comes_back_with_the_same_outside_id_is_the_same(live) -> None:
    first = live.join("s", "prolific-1", {"STUDY_ID": "x"})
    assert live.join("s", "prolific-1").name == first.name
    assert live.join("s", "prolific-2").name != first.name
    assert live.join("s").name != live.join("s").name
    assert live.details("s")[first.name] == {"outside_id": "prolific-1", "STUDY_ID": "x"}


def test_details_are_purged_and_answers_stay(live) -> None:
    person = live.join("s", "prolific-1")
    live.add_questions("s", [question(0)])
    live.add_answer("s", answer("q0", person.name))
    assert live.purge_details("s") == 1
    assert live.details("s") == {}
    assert len(live.answers("s")) == 1
    assert live.join("s", "prolific-1").name != person.name


# --- rounds, models, workers -----------------------------------------------------------------------


def test_rounds_are_loaded_as_they_were_stored(storage) -> None:
    kept = [Round(0, 4, {"accuracy": 0.5}, 0.1), Round(1, 6, {}, 0.2)]
    for one in kept:
        storage.add_round("s", one)
    assert storage.rounds("s") == kept


def test_rounds_come_in_their_order_and_the_last_word_counts(storage) -> None:
    for index, n_answers in ((2, 20), (0, 5), (1, 10), (0, 6)):
        storage.add_round("s", Round(index, n_answers))
    assert [(round.index, round.n_answers) for round in storage.rounds("s")] == [(0, 6), (1, 10), (2, 20)]


def test_the_three_newest_models_are_kept(storage) -> None:
    for version in (4, 1, 9, 7, 2):
        storage.save_model("s", version, {"n_answers": version})
    assert [v for v in range(10) if storage.load_model("s", v) is not None] == [4, 7, 9]
    assert storage.load_model("s")[0] == 9


def test_the_newest_model_is_loaded_and_older_ones_by_version(storage) -> None:
    assert storage.load_model("s") is None
    for version in (2, 5):
        model = {"embedding": np.full((3, 2), version / 3), "n_answers": version, "people": {"anna": 0.5}}
        storage.save_model("s", version, model)
    version, model = storage.load_model("s")
    assert (version, model["n_answers"], model["people"]) == (5, 5, {"anna": 0.5})
    np.testing.assert_array_equal(model["embedding"], np.full((3, 2), 5 / 3))
    assert storage.load_model("s", 2)[1]["n_answers"] == 2
    assert storage.load_model("s", 3) is None


def test_a_study_is_claimed_by_one_worker_until_its_heartbeat_stops(live, clock) -> None:
    assert live.claim("s", "one", 10)
    assert not live.claim("s", "two", 10)
    clock.now += 8
    assert live.claim("s", "one", 10)
    clock.now += 8
    assert not live.claim("s", "two", 10)
    clock.now += 3
    assert live.claim("s", "two", 10)
    assert not live.claim("s", "one", 10)
    live.release("s", "one")
    assert not live.claim("s", "one", 10)
    live.release("s", "two")
    assert live.claim("s", "one", 10)
    clock.now -= 86_400
    assert live.claim("s", "two", 10)


def test_notes_and_settings_are_kept(live) -> None:
    live.note("s", "error", "the disk is full")
    live.note("s", "fit", {"seconds": 1.5})
    live.note("s", "error", None)
    assert live.notes("s") == {"fit": {"seconds": 1.5}}
    assert live.setting("owner") is None
    assert live.setting("owner", "hash") == "hash"
    assert live.setting("owner") == "hash"


def test_counts_of_a_study_nobody_has_seen_are_zero(live) -> None:
    counts = live.counts("s")
    assert (counts.people, counts.queue, counts.asked, counts.unseen_p95) == (0, 0, 0, 0.0)


# --- what cannot be kept -----------------------------------------------------------------------------

BAD_VALUES = [
    math.nan,
    math.inf,
    "a NUL \0",
    "half a pair \ud800",
    {"deep": ["\0"]},
    {"\ud800": 1},
    [1, {"x": -math.inf}],
]


@pytest.mark.parametrize("value", BAD_VALUES, ids=repr)
def test_point_9_a_context_no_database_can_keep_is_refused_alike(storage, value) -> None:
    storage.add_questions("s", [question(0)])
    with pytest.raises(DataError):
        storage.add_answer("s", answer("q0", context={"x": value}))
    assert storage.answers("s") == []
    storage.add_answer("s", answer("q0", context={"x": "ä\u2028\U0001f600", "y": [1.5, None, True]}))
    assert len(storage.answers("s")) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"response_time_s": math.nan},
        {"response_time_s": math.inf},
        {"received_at": math.inf},
        {"id": "a\0"},
        {"id": "\udfff"},
        {"respondent": "\0"},
        {"context": [1]},
        {"context": "text"},
    ],
    ids=repr,
)
def test_point_9_an_answer_no_database_can_keep_is_refused_alike(storage, changes) -> None:
    storage.add_questions("s", [question(0)])
    with pytest.raises(DataError):
        storage.add_answer("s", answer("q0", **changes))
    assert storage.answers("s") == []


@pytest.mark.parametrize("name", ["\0", "s\0", "\ud800"], ids=repr)
def test_point_9_a_name_no_database_can_keep_is_unknown_and_refused(live, name) -> None:
    assert live.study_by_key(name) is None
    assert live.file("s", name) is None
    for call in (live.study, live.items, live.answers, live.revision):
        with pytest.raises(StudyError, match="There is no study"):
            call(name)
    with pytest.raises(UnknownQuestionError):
        live.question("s", name)
    with pytest.raises(UnknownQuestionError):
        live.undo("s", name)
    for record in (StudyRecord(name, {}), StudyRecord("t", {"people": {"title": name}})):
        with pytest.raises(DataError):
            live.create_study(record, ITEMS)
    with pytest.raises(DataError):
        live.create_study(StudyRecord("t", {}), [Item(name)])
    with pytest.raises(DataError):
        live.join("s", name)
    with pytest.raises(DataError):
        live.join("s", None, {"link": name})
    with pytest.raises(DataError):
        live.change_study("s", {"people": {"title": name}})
    assert [record.name for record in live.studies()] == ["s"]


@pytest.mark.parametrize(
    "pair",
    [
        Answered(question(0), answer("q0", response_time_s=math.nan)),
        Answered(question(0), answer("q0", context=[1])),
        Answered(question(0, strategy_used="\0"), answer("q0")),
        Answered(question(0), answer("q0", id="other")),  # anna answered it already
        Answered(question(0, query=(5, 6, 7, 8)), answer("q0", "bert")),  # here q0 is another question
        Answered(question(0), answer("q0", "bert", 3)),
    ],
    ids=["nan", "context", "nul", "twice", "another question", "no option"],
)
def test_point_6_and_point_7_an_import_is_refused_as_a_whole(live, pair) -> None:
    live.add_questions("s", [question(0)])
    live.add_answer("s", answer("q0"))
    before = live.revision("s")
    fresh = Answered(question(9), answer("q9"))
    bad = Answered(pair.question, replace(pair.answer, id="bad"))
    with pytest.raises(DataError):
        live.import_answers("s", [fresh, bad])
    assert ids(live.questions("s")) == ["q0"]
    assert live.revision("s") == before


def test_point_6_a_study_is_created_with_its_answers_or_not_at_all(live) -> None:
    good = [Answered(question(i), answer(f"q{i}")) for i in range(3)]
    bad = [*good, Answered(question(4), answer("q4", context=[1]))]
    with pytest.raises(DataError):
        live.create_study(StudyRecord("t", {}), ITEMS, questions=[question(7)], answered=bad, excluded=["bert"])
    assert [record.name for record in live.studies()] == ["s"]
    deletions = [Deletion(5.0, 3)]
    live.create_study(
        StudyRecord("t", {}), ITEMS, questions=[question(7)], answered=good, excluded=["anna"], deletions=deletions
    )
    assert len(live.answers("t", None, everything=True)) == 3
    assert live.answers("t") == []
    assert ids(live.questions("t", "open")) == ["q7"]
    assert live.deletions("t") == deletions


# --- owners ------------------------------------------------------------------------------------------


def test_a_deleted_study_is_gone_and_its_name_is_free(live) -> None:
    live.add_questions("s", [question(0)])
    live.add_answer("s", answer("q0"))
    live.add_token(Token("t", "anna", "reader", "s"), "hash")
    live.delete_study("s")
    assert live.studies() == []
    assert live.tokens() == []
    for call in (live.study, live.answers, live.delete_study):
        with pytest.raises(StudyError, match='There is no study "s"'):
            call("s")
    live.create_study(StudyRecord("s", {}), ITEMS[:2])
    assert live.answers("s", None) == []
    assert len(live.items("s")) == 2


def test_a_deleted_person_leaves_no_answer_and_no_name(live, clock) -> None:
    catch = {0: question(60, query=(1, 60, 61, 62), purpose="catch", expected=2)}
    live.add_questions("s", [question(i) for i in range(4)])
    anna, bert = live.join("s", "prolific-1", {"x": "y"}).name, live.join("s").name
    served = live.serve("s", anna, 3, Serving(60, catch=catch))
    for asked in served[:2]:
        live.exchange("s", answer(asked.id, anna), 0, Serving(60))
    live.serve("s", bert, 1, Serving(60))
    live.exchange("s", answer("q2", bert), 0, Serving(60))
    live.save_model("s", 3, {"people": {anna: 0.5}})
    assert live.delete_person("s", anna) == 2
    assert [pair.answer.respondent for pair in live.answers("s", None, everything=True)] == [bert]
    assert [person.name for person in live.respondents("s")] == [bert]
    assert live.details("s") == {}
    assert live.load_model("s") is None
    assert all(asked.respondent != anna for asked in live.questions("s"))
    assert ids(live.questions("s", "open")) == ["q1", "q3"]  # q1 was held; q0 was answered and is not asked again
    assert live.deletions("s") == [Deletion(clock.now, 2)]
    assert live.revision("s") == (3, 1)
    live.serve("s", bert, 1, Serving(60))
    stored, *_ = live.exchange("s", answer("q1", bert), 0, Serving(60))
    assert stored.number == 4  # a number is never given twice
    with pytest.raises(UnknownNameError, match="has not taken part"):
        live.delete_person("s", anna)


def test_who_people_are_is_forgotten_after_the_retention_time(live, clock) -> None:
    live.join("s", "early")
    clock.now += 5 * 86_400
    late = live.join("s", "late").name
    assert live.forget_expired() == {}
    assert live.change_study("s", retention_days=7).retention_days == 7
    clock.now += 3 * 86_400
    assert live.forget_expired() == {"s": 1}
    assert list(live.details("s")) == [late]
    assert len(live.respondents("s")) == 2


def test_the_version_of_the_consent_text_is_kept(live, clock) -> None:
    anna, bert = live.join("s").name, live.join("s").name
    assert [live.consent("s", anna, text) for text in ("one", "two", "one")] == [1, 2, 1]
    assert live.consent("s", bert, "two") == 2
    assert live.consent_texts("s") == {1: "one", 2: "two"}
    agreed = {person.name: (person.consent_version, person.consented_at) for person in live.respondents("s")}
    assert agreed == {anna: (1, clock.now), bert: (2, clock.now)}


def test_tokens_are_made_found_listed_and_revoked(live, clock) -> None:
    assert live.add_token(Token("a", "anna"), "hash a")
    clock.now += 1
    assert live.add_token(Token("b", "bert", "reader", "s"), "hash b")
    assert not live.add_token(Token("a", "eve"), "hash e")
    assert [(t.id, t.person, t.role, t.study) for t in live.tokens()] == [
        ("a", "anna", "owner", None),
        ("b", "bert", "reader", "s"),
    ]
    assert live.token_by_hash("hash b").id == "b"
    assert live.token_by_hash("hash e") is None
    assert live.revoke_token("a").revoked_at == clock.now
    clock.now += 1
    assert live.revoke_token("a").revoked_at == clock.now - 1
    with pytest.raises(UnknownNameError, match='There is no token "z"'):
        live.revoke_token("z")
    with pytest.raises(StudyError):
        live.add_token(Token("c", "cleo", "reader", "unknown"), "hash c")


def test_the_audit_log_keeps_who_did_what_and_outlives_the_study(live, clock) -> None:
    live.add_act("anna", "ended the study", "s", {"answers": 3})
    live.add_act("bert", "made a token")
    live.delete_study("s")
    assert [(act.number, act.at, act.who, act.what, act.study) for act in live.acts()] == [
        (1, clock.now, "anna", "ended the study", "s"),
        (2, clock.now, "bert", "made a token", None),
    ]
    assert [act.details for act in live.acts("s")] == [{"answers": 3}]
    assert [act.who for act in live.acts(after=1)] == ["bert"]
    assert [act.who for act in live.acts(limit=1)] == ["anna"]


# --- many at once ----------------------------------------------------------------------------------


def test_two_people_never_hold_one_question(live) -> None:
    live.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(80)])
    ready = threading.Barrier(8)

    def answer_some(person: str) -> list[str]:
        ready.wait()
        served, mine = live.serve("s", person, 2, Serving(600)), []
        while served and len(mine) < 6:
            mine.append(served[0].id)
            _, served, _ = live.exchange("s", answer(served[0].id, person), 2, Serving(600))
        return mine

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(answer_some, [f"p{i}" for i in range(8)]))
    flat = [name for mine in taken for name in mine]
    assert len(flat) == len(set(flat)) == 48
    assert sorted(pair.answer.number for pair in live.answers("s")) == list(range(1, 49))


def test_point_10_one_answer_id_from_two_people_at_once_is_one_answer(live) -> None:
    n_turns = 12
    live.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(2 * n_turns)])
    held = {person: live.serve("s", person, n_turns, Serving(600)) for person in ("anna", "bert")}
    ready = threading.Barrier(2, timeout=20)

    def post(person: str) -> list[bool]:
        taken = []
        for turn in range(n_turns):
            ready.wait()
            try:
                live.exchange("s", answer(held[person][turn].id, person, id=f"same-{turn}"), 0, Serving(600))
                taken.append(True)
            except AlreadyAnsweredError:
                taken.append(False)
        return taken

    with ThreadPoolExecutor(2) as pool:
        anna, bert = pool.map(post, ("anna", "bert"))
    assert [one + other for one, other in zip(anna, bert)] == [1] * n_turns
    assert live.revision("s") == (n_turns, 0)


def test_point_11_who_comes_first_decides_a_setting(live) -> None:
    ready = threading.Barrier(6)

    def first(value: str) -> str:
        ready.wait()
        return live.first_setting("key", value)

    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(first, "abcdef"))
    assert found == {live.setting("key")}
    live.drop_setting("key")
    assert live.setting("key") is None


def test_point_12_changes_made_at_once_are_all_kept(live) -> None:
    ready = threading.Barrier(6)

    def change(number: int) -> None:
        ready.wait()
        for turn in range(5):
            live.change_study("s", {"people": {f"key {number}": turn}})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(change, range(6)))
    assert live.study("s").spec["people"] == {f"key {number}": 4 for number in range(6)}


def test_point_12_a_change_that_is_refused_changes_nothing(live) -> None:
    def refuse(spec):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        live.change_study("s", refuse, archived=True)
    assert not live.study("s").archived


def test_one_person_in_two_tabs_holds_the_same_questions(live) -> None:
    live.add_questions("s", [question(i) for i in range(10)])
    ready = threading.Barrier(4)

    def take(_: int) -> list[str]:
        ready.wait()
        return ids(live.serve("s", "anna", 3, Serving(600)))

    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(take, range(4)))
    assert taken == [["q0", "q1", "q2"]] * 4


def test_the_same_post_from_many_threads_is_one_answer(live) -> None:
    live.add_questions("s", [question(i) for i in range(10)])
    live.serve("s", "anna", 1, Serving(600))
    ready = threading.Barrier(6)

    def post(_: int):
        ready.wait()
        return live.exchange("s", answer("q0"), 1, Serving(600))

    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(post, range(6)))
    assert len({(stored.number, *ids(following)) for stored, following, _ in replies}) == 1
    assert live.revision("s") == (1, 0)


def test_the_queue_is_replaced_while_people_take_from_it(live) -> None:
    live.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(20)])
    stop = threading.Event()

    def refill() -> None:
        number = 1000
        while not stop.is_set():
            live.replace_open("s", [question(number + i, query=(1, number + i, 5000, 6000)) for i in range(20)])
            number += 20

    draw = drawer()

    def answer_some(person: str) -> int:
        served, n = live.serve("s", person, 2, Serving(600, draw=draw)), 0
        while n < 10:
            _, served, _ = live.exchange("s", answer(served[0].id, person), 2, Serving(600))
            n += 1
            if not served:
                served = live.serve("s", person, 2, Serving(600))
                if not served:
                    break
        return n

    thread = threading.Thread(target=refill)
    thread.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            given = sum(pool.map(answer_some, [f"p{i}" for i in range(4)]))
    finally:
        stop.set()
        thread.join()
    assert len(live.answers("s")) == given
    holders = [q for q in live.questions("s") if q.asked_at is not None]
    assert len({q.id for q in holders}) == len(holders)


def test_live_storages_say_so_by_what_they_can(live, tmp_path) -> None:
    assert isinstance(live, LiveStorage)
    assert not isinstance(JsonlStorage(tmp_path / "x.jsonl"), LiveStorage)


def test_a_storage_url_is_opened_or_explained(tmp_path) -> None:
    assert isinstance(open_storage("memory://"), MemoryStorage)
    assert isinstance(open_storage(f"sqlite:///{tmp_path}/new folder/x.db"), SqlStorage)
    with pytest.raises(ValueError, match='Storage "mysql" is unknown. Known: jsonl, memory, postgresql'):
        open_storage("mysql://x")
    with pytest.raises(StudyError, match="To serve people use sqlite:///study.db"):
        open_live_storage(f"jsonl:///{tmp_path}/r.jsonl")
