"""What every storage keeps to: memory, SQLite, and a real PostgreSQL."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from infonn.contracts.storage import Answered, Serving
from infonn.errors import AlreadyAnsweredError, InvalidQueryError, StudyError, UnknownQuestionError
from infonn.records import Answer, Item, ItemFile, Option, Question, Round, StudyRecord
from infonn.specs.build import open_live_storage, open_storage
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


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage(request, tmp_path, clock):
    if request.param == "memory":
        kept = MemoryStorage(clock)
    elif request.param == "sqlite":
        kept = SqlStorage(f"sqlite:///{tmp_path}/study.db", clock)
    else:
        kept = SqlStorage(request.getfixturevalue("postgres_server").new_database(), clock)
    kept.create_study(StudyRecord("s", {"study": {"task": "similarity"}}, seed=7), ITEMS)
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


def test_a_study_is_loaded_as_it_was_stored(storage) -> None:
    record = storage.study("s")
    assert (record.name, record.seed, record.archived) == ("s", 7, False)
    assert record.spec == {"study": {"task": "similarity"}}
    assert storage.items("s") == ITEMS
    assert storage.study_by_key(record.key) == record
    assert storage.study_by_key("nonsense") is None
    assert len(record.key) >= 20


def test_a_second_study_of_the_same_name_is_refused(storage) -> None:
    with pytest.raises(StudyError, match='Study "s" exists already'):
        storage.create_study(StudyRecord("s", {}), [])
    assert storage.items("s") == ITEMS


def test_an_unknown_study_is_named_with_the_known_ones(storage) -> None:
    for call in (storage.study, storage.items, storage.answers, storage.revision, storage.counts):
        with pytest.raises(StudyError, match='There is no study "t". Known studies: s.'):
            call("t")


def test_studies_are_archived_and_their_settings_changed(storage) -> None:
    assert storage.change_study("s", archived=True).archived
    assert storage.change_study("s", {"people": {"title": "x"}}).archived
    assert storage.study("s").spec == {"study": {"task": "similarity"}, "people": {"title": "x"}}
    storage.change_study("s", lambda spec: {"people": {**spec["people"], "question": "y"}})
    assert storage.study("s").spec == {"people": {"title": "x", "question": "y"}}
    assert not storage.change_study("s", archived=False).archived


def test_files_are_kept_as_they_are(storage) -> None:
    data = bytes(range(256)) * 40
    storage.create_study(StudyRecord("t", {}), ITEMS[:3], None, [ItemFile("a b/ä.png", "image/png", data)])
    assert storage.file("t", "a b/ä.png") == ItemFile("a b/ä.png", "image/png", data)
    assert storage.files("t") == ["a b/ä.png"]
    assert storage.file("s", "a b/ä.png") is None


def test_features_are_kept_to_the_last_bit(storage) -> None:
    features = np.random.default_rng(0).normal(size=(12, 3))
    storage.create_study(StudyRecord("t", {}), ITEMS, features)
    np.testing.assert_array_equal(storage.features("t"), features)
    assert storage.features("s") is None
    assert storage.files("t") == []


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


def test_nobody_is_asked_the_same_query_twice(storage) -> None:
    storage.add_questions("s", [question(0), question(1, query=(0, 3, 2, 1)), question(2)])
    assert ids(storage.take("s", "anna", 3, 60)) == ["q0", "q2"]
    storage.add_answer("s", answer("q0"))
    assert ids(storage.take("s", "anna", 3, 60)) == ["q2"]
    assert ids(storage.take("s", "bert", 3, 60)) == ["q1"]


def test_the_same_query_again_where_the_study_wants_it(storage) -> None:
    storage.add_questions("s", [question(0), question(1, query=(0, 3, 2, 1))])
    serving = Serving(60, repeats=True)
    storage.serve("s", "anna", 1, serving)
    _, following, _ = storage.exchange("s", answer("q0"), 1, serving)
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


def test_the_depth_of_the_queue(storage) -> None:
    storage.add_questions("s", [question(i) for i in range(3)])
    storage.add_questions("s", [question(4, purpose="hold_out")])
    assert storage.queue_depth("s") == 3
    storage.take("s", "anna", 1, 60)
    assert storage.queue_depth("s") == 2


# --- serving ---------------------------------------------------------------------------------------


def drawer():
    numbers = itertools.count(100_000)

    def draw(purpose):
        for number in numbers:
            query = (number % 12, 20 + number, 21 + number, 22 + number)
            yield question(number, query=query, purpose=purpose, strategy_used="random")

    return draw


def test_hold_out_questions_come_at_their_share_and_the_same_when_asked_again(storage) -> None:
    storage.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(300)])
    serving = Serving(60, hold_out=0.2, draw=drawer(), seed=5)
    first = storage.serve("s", "anna", 300, serving)
    assert storage.serve("s", "anna", 300, serving) == first
    share = sum(q.purpose == "hold_out" for q in first) / len(first)
    assert 0.1 < share < 0.3  # 300 coins at 0.2: outside once in 100,000
    for q in first:
        storage.exchange("s", answer(q.id), 0, serving)
    assert len(storage.answers("s", "hold_out")) + len(storage.answers("s")) == 300
    assert {pair.question.purpose for pair in storage.answers("s")} == {"train"}


def test_questions_meant_to_be_random_come_at_their_share_and_are_no_fallback(storage) -> None:
    storage.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(300)])
    serving = Serving(60, hold_out=0.2, at_random=0.5, draw=drawer(), seed=5)
    served = storage.serve("s", "anna", 300, serving)
    assert storage.serve("s", "anna", 300, serving) == served
    train = [q for q in served if q.purpose == "train"]
    share = sum(q.strategy_used == "random" for q in train) / len(train)
    assert 0.35 < share < 0.65  # some 240 coins at 0.5: outside once in 250,000
    assert {(q.strategy_asked, q.strategy_used) for q in train} == {("random", "random"), ("info_nn", "info_nn")}


def test_a_dry_queue_falls_back_to_a_random_question_stored_as_such(storage) -> None:
    storage.add_questions("s", [question(0)])
    served = storage.serve("s", "anna", 3, Serving(60, draw=drawer()))
    assert [(q.strategy_asked, q.strategy_used) for q in served] == [
        ("info_nn", "info_nn"),
        ("info_nn", "random"),
        ("info_nn", "random"),
    ]
    counts = storage.counts("s")
    assert (counts.asked, counts.fallback) == (3, 2)
    assert storage.serve("s", "bert", 3, Serving(60)) == []


def test_random_questions_go_on_until_a_person_has_seen_all(storage) -> None:
    rng, numbers = np.random.default_rng(0), itertools.count()

    def draw(purpose):
        for item in rng.permutation(12).tolist():
            yield question(next(numbers), query=(item, 20, 21, 22), purpose=purpose)

    serving = Serving(60, hold_out=0.5, draw=draw)
    asked, served = [], storage.serve("s", "anna", 1, serving)
    while served:
        asked.append(served[0].query[0])
        _, served, _ = storage.exchange("s", answer(served[0].id), 1, serving)
    assert sorted(asked) == list(range(12))
    assert storage.serve("s", "bert", 1, serving) != []


def test_overlap_asks_the_same_query_of_several_people(storage) -> None:
    storage.add_questions("s", [question(i) for i in range(3)])
    serving = Serving(60, overlap=2)
    people = ("anna", "bert", "cleo")
    queries = {person: [q.query for q in storage.serve("s", person, 2, serving)] for person in people}
    assert queries["anna"] == queries["bert"] == [question(0).query, question(1).query]
    assert queries["cleo"] == [question(2).query]
    asked = [q for q in storage.questions("s") if q.asked_at is not None]
    assert len({q.id for q in asked}) == 5
    assert [q.copy_of for q in asked if q.respondent == "bert"] == ["q0", "q1"]


def test_practice_comes_first_and_catch_questions_at_their_positions(storage) -> None:
    storage.add_questions("s", [question(i) for i in range(9)])
    practice = question(50, query=(1, 50, 51, 52), purpose="practice", expected=0)
    catch = {1: question(60, query=(1, 60, 61, 62), purpose="catch", expected=2)}
    serving = Serving(60, practice=(practice,), catch=catch, per_person=4)
    for person in ("anna", "bert"):
        purposes = []
        served = storage.serve("s", person, 1, serving)
        while served:
            purposes.append(served[0].purpose)
            _, served, _ = storage.exchange("s", answer(served[0].id, person), 1, serving)
        assert purposes == ["practice", "train", "catch", "train", "train"]
    assert len(storage.answers("s")) == 6
    assert [pair.question.expected for pair in storage.answers("s", "catch")] == [2, 2]


def test_a_catch_question_returns_to_its_own_person_only(storage, clock) -> None:
    serving = Serving(60, catch={0: question(60, query=(1, 60, 61, 62), purpose="catch", expected=2)}, per_person=1)
    mine = storage.serve("s", "anna", 1, serving)
    clock.now += 100
    other = storage.serve("s", "bert", 1, serving)
    assert ids(other) != ids(mine)
    assert ids(storage.serve("s", "anna", 1, serving)) == ids(mine)


def test_staleness_counts_train_answers_the_model_had_not_seen(storage) -> None:
    storage.add_questions("s", [question(i) for i in range(4)])
    storage.add_questions("s", [question(4, purpose="hold_out")])
    for i in (0, 1, 2, 4):
        storage.add_answer("s", answer(f"q{i}"))
    storage.replace_open("s", [question(8, model_version=1)])
    assert storage.take("s", "bert", 1, 60)[0].unseen_answers == 2
    assert storage.counts("s").unseen_median == 2


# --- answers ---------------------------------------------------------------------------------------


def test_answers_are_loaded_in_the_order_of_arrival(storage) -> None:
    storage.add_questions("s", [question(i) for i in range(3)])
    given = [answer(f"q{i}", response=i, response_time_s=0.5, context={"device": "phone"}) for i in (2, 0, 1)]
    for one in given:
        storage.add_answer("s", one)
    loaded = storage.answers("s")
    assert [pair.answer.response for pair in loaded] == [2, 0, 1]
    assert [pair.answer.number for pair in loaded] == [1, 2, 3]
    assert [pair.question.id for pair in loaded] == ["q2", "q0", "q1"]
    assert loaded[0].answer.context == {"device": "phone"}
    assert [pair.answer.number for pair in storage.answers("s", after=2)] == [3]


def test_the_same_id_again_is_one_answer_and_the_same_reply(storage, clock) -> None:
    storage.add_questions("s", [question(i) for i in range(3)])
    serving = Serving(60)
    storage.serve("s", "anna", 1, serving)
    first = storage.exchange("s", answer("q0"), 1, serving)
    clock.now += 1
    again = storage.exchange("s", answer("q0"), 1, Serving(59))
    assert again == first
    assert storage.revision("s") == (1, 0)
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


def test_a_question_cannot_be_answered_by_somebody_it_was_not_handed_to(storage) -> None:
    storage.add_questions("s", [question(0)])
    storage.take("s", "anna", 1, 60)
    with pytest.raises(UnknownQuestionError, match='"q0" was not handed to participant eve'):
        storage.exchange("s", answer("q0", "eve"), 1, Serving(60))
    assert responses(storage) == []


def test_a_response_outside_the_options_is_refused(storage) -> None:
    storage.add_questions("s", [question(0)])
    for wrong in (answer("q0", response=3), replace(answer("q0"), outcome="skipped")):
        with pytest.raises(InvalidQueryError):
            storage.add_answer("s", wrong)
    assert storage.revision("s") == (0, 0)


def test_a_late_answer_is_kept_and_flagged(storage, clock) -> None:
    storage.add_questions("s", [question(0), question(1)])
    serving = Serving(60)
    storage.serve("s", "anna", 1, serving)
    clock.now += 61
    assert ids(storage.serve("s", "bert", 1, serving)) == ["q0"]
    late, *_ = storage.exchange("s", answer("q0", "anna", 0), 1, serving)
    timely, *_ = storage.exchange("s", answer("q0", "bert", 2), 1, serving)
    assert (late.late, timely.late) == (True, False)
    assert responses(storage) == [0, 2]
    assert storage.counts("s").late == 1


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


def test_a_question_answered_late_does_not_come_back_even_with_repeats(storage, clock) -> None:
    storage.add_questions("s", [question(0), question(1, query=question(0).query)])
    serving = Serving(60, repeats=True)
    storage.serve("s", "anna", 1, serving)
    clock.now += 61
    assert ids(storage.serve("s", "bert", 1, serving)) == ["q0"]
    storage.exchange("s", answer("q0", "anna"), 0, serving)
    clock.now += 61  # and bert never answers
    assert ids(storage.serve("s", "anna", 3, serving)) == ["q1"]  # the same query, as another question
    assert ids(storage.serve("s", "bert", 3, serving)) == ["q0"]


def test_skipped_and_cannot_tell_are_on_record(storage) -> None:
    storage.add_questions("s", [question(0), question(1)])
    storage.take("s", "anna", 2, 60)
    storage.add_answer("s", answer("q0", outcome="skipped"))
    storage.add_answer("s", answer("q1", outcome="cannot_tell"))
    assert [pair.answer.outcome for pair in storage.answers("s")] == ["skipped", "cannot_tell"]
    assert storage.take("s", "anna", 2, 60) == []
    counts = storage.counts("s")
    assert (counts.skipped, counts.cannot_tell, counts.answered["train"]) == (1, 1, 0)


@pytest.mark.parametrize("outcome", ["answered", "skipped", "cannot_tell"])
def test_an_undone_answer_is_out_of_force_and_its_question_comes_back(storage, clock, outcome) -> None:
    storage.add_questions("s", [question(i) for i in range(3)])
    serving = Serving(60)
    storage.serve("s", "anna", 2, serving)
    clock.now += 5
    storage.exchange("s", answer("q0", outcome=outcome), 2, serving)
    clock.now += 50
    undone = storage.undo("s", "a-q0-anna", 60)
    assert undone.undone
    assert storage.answers("s") == []
    assert ids(storage.serve("s", "anna", 2, serving)) == ["q0", "q1"]
    again, *_ = storage.exchange("s", answer("q0", id="second", response=2), 2, serving)
    assert (again.late, again.number) == (False, 2)
    assert responses(storage) == [2]
    assert [pair.answer.undone for pair in storage.answers_of("s", "anna")] == [True, False]
    assert storage.revision("s") == (2, 1)


def test_undoing_twice_is_undoing_once(storage) -> None:
    storage.add_questions("s", [question(0)])
    storage.add_answer("s", answer("q0"))
    storage.undo("s", "a-q0-anna")
    storage.undo("s", "a-q0-anna")
    assert storage.revision("s") == (1, 1)
    with pytest.raises(UnknownQuestionError, match='Answer "zzz" is not in study "s"'):
        storage.undo("s", "zzz")


def test_a_question_that_is_there_already_stays_as_it_is(storage) -> None:
    storage.add_questions("s", [question(0)])
    storage.add_answer("s", answer("q0"))
    storage.add_questions("s", [question(0), question(1)])
    assert [asked.id for asked in storage.questions("s", "open")] == ["q1"]


def test_answers_of_excluded_people_are_out_of_force_until_they_are_back(storage) -> None:
    storage.add_questions("s", [question(0), question(1)])
    storage.add_answer("s", answer("q0", "anna", 0))
    storage.add_answer("s", answer("q1", "bert", 2))
    storage.exclude("s", "anna")
    assert responses(storage) == [2]
    assert (storage.counts("s").answered["train"], storage.counts("s").undone) == (1, 0)
    assert {person.name: person.excluded for person in storage.respondents("s")} == {"anna": True, "bert": False}
    storage.exclude("s", "anna", False)
    assert responses(storage) == [0, 2]
    assert storage.revision("s") == (2, 2)


def test_earlier_answers_are_imported_once(storage) -> None:
    pairs = [Answered(question(i), answer(f"q{i}", response=i, received_at=9.0)) for i in range(3)]
    storage.add_questions("s", [question(0)])
    storage.add_answer("s", pairs[0].answer)
    assert storage.import_answers("s", [*pairs, *pairs]) == 2  # two exports in one file, say
    assert storage.import_answers("s", pairs) == 0
    assert responses(storage) == [0, 1, 2]
    assert [pair.answer.number for pair in storage.answers("s")] == [1, 2, 3]
    assert storage.take("s", "zoe", 3, 60) == []
    assert storage.revision("s")[0] == 3


# --- people ----------------------------------------------------------------------------------------


def test_a_person_who_comes_back_with_the_same_outside_id_is_the_same(storage) -> None:
    first = storage.join("s", "prolific-1", {"STUDY_ID": "x"})
    assert storage.join("s", "prolific-1").name == first.name
    assert storage.join("s", "prolific-2").name != first.name
    assert storage.join("s").name != storage.join("s").name
    assert storage.details("s")[first.name] == {"outside_id": "prolific-1", "STUDY_ID": "x"}


def test_details_are_purged_and_answers_stay(storage) -> None:
    person = storage.join("s", "prolific-1")
    storage.add_questions("s", [question(0)])
    storage.add_answer("s", answer("q0", person.name))
    assert storage.purge_details("s") == 1
    assert storage.details("s") == {}
    assert len(storage.answers("s")) == 1
    assert storage.join("s", "prolific-1").name != person.name


# --- rounds, models, workers -----------------------------------------------------------------------


def test_rounds_are_loaded_as_they_were_stored(storage) -> None:
    kept = [Round(0, 4, {"accuracy": 0.5}, 0.1), Round(1, 6, {}, 0.2)]
    for one in kept:
        storage.add_round("s", one)
    assert storage.rounds("s") == kept


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


def test_a_study_is_claimed_by_one_worker_until_its_heartbeat_stops(storage, clock) -> None:
    assert storage.claim("s", "one", 10)
    assert not storage.claim("s", "two", 10)
    clock.now += 8
    assert storage.claim("s", "one", 10)
    clock.now += 8
    assert not storage.claim("s", "two", 10)
    clock.now += 3
    assert storage.claim("s", "two", 10)
    assert not storage.claim("s", "one", 10)
    storage.release("s", "one")
    assert not storage.claim("s", "one", 10)
    storage.release("s", "two")
    assert storage.claim("s", "one", 10)
    clock.now -= 86_400
    assert storage.claim("s", "two", 10)


def test_notes_and_settings_are_kept(storage) -> None:
    storage.note("s", "error", "the disk is full")
    storage.note("s", "fit", {"seconds": 1.5})
    storage.note("s", "error", None)
    assert storage.notes("s") == {"fit": {"seconds": 1.5}}
    assert storage.setting("owner") is None
    assert storage.setting("owner", "hash") == "hash"
    assert storage.setting("owner") == "hash"


def test_counts_of_a_study_nobody_has_seen_are_zero(storage) -> None:
    counts = storage.counts("s")
    assert (counts.people, counts.queue, counts.asked, counts.unseen_p95) == (0, 0, 0, 0.0)


# --- many at once ----------------------------------------------------------------------------------


def test_two_people_never_hold_one_question(storage) -> None:
    storage.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(80)])
    ready = threading.Barrier(8)

    def answer_some(person: str) -> list[str]:
        ready.wait()
        served, mine = storage.serve("s", person, 2, Serving(600)), []
        while served and len(mine) < 6:
            mine.append(served[0].id)
            _, served, _ = storage.exchange("s", answer(served[0].id, person), 2, Serving(600))
        return mine

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(answer_some, [f"p{i}" for i in range(8)]))
    flat = [name for mine in taken for name in mine]
    assert len(flat) == len(set(flat)) == 48
    assert sorted(pair.answer.number for pair in storage.answers("s")) == list(range(1, 49))


def test_one_person_in_two_tabs_holds_the_same_questions(storage) -> None:
    storage.add_questions("s", [question(i) for i in range(10)])
    ready = threading.Barrier(4)

    def take(_: int) -> list[str]:
        ready.wait()
        return ids(storage.serve("s", "anna", 3, Serving(600)))

    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(take, range(4)))
    assert taken == [["q0", "q1", "q2"]] * 4


def test_the_same_post_from_many_threads_is_one_answer(storage) -> None:
    storage.add_questions("s", [question(i) for i in range(10)])
    storage.serve("s", "anna", 1, Serving(600))
    ready = threading.Barrier(6)

    def post(_: int):
        ready.wait()
        return storage.exchange("s", answer("q0"), 1, Serving(600))

    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(post, range(6)))
    assert len({(stored.number, *ids(following)) for stored, following, _ in replies}) == 1
    assert storage.revision("s") == (1, 0)


def test_the_queue_is_replaced_while_people_take_from_it(storage) -> None:
    storage.add_questions("s", [question(i, query=(0, 30 + i, 31 + i, 32 + i)) for i in range(20)])
    stop = threading.Event()

    def refill() -> None:
        number = 1000
        while not stop.is_set():
            storage.replace_open("s", [question(number + i, query=(1, number + i, 5000, 6000)) for i in range(20)])
            number += 20

    draw = drawer()

    def answer_some(person: str) -> int:
        served, n = storage.serve("s", person, 2, Serving(600, draw=draw)), 0
        while n < 10:
            _, served, _ = storage.exchange("s", answer(served[0].id, person), 2, Serving(600))
            n += 1
            if not served:
                served = storage.serve("s", person, 2, Serving(600))
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
    assert len(storage.answers("s")) == given
    holders = [q for q in storage.questions("s") if q.asked_at is not None]
    assert len({q.id for q in holders}) == len(holders)


def test_a_storage_url_is_opened_or_explained(tmp_path) -> None:
    assert isinstance(open_storage("memory://"), MemoryStorage)
    assert isinstance(open_storage(f"sqlite:///{tmp_path}/new folder/x.db"), SqlStorage)
    with pytest.raises(ValueError, match='Storage "mysql" is unknown. Known: jsonl, memory, postgresql'):
        open_storage("mysql://x")
    with pytest.raises(StudyError, match="To serve people use sqlite:///study.db"):
        open_live_storage(f"jsonl:///{tmp_path}/r.jsonl")
