"""A database under a study: scripts and pages may share one."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sqlalchemy as sa

from infonn.contracts.storage import Serving
from infonn.records import Answer
from infonn.specs.build import create_study, load_study
from infonn.storage import schema
from infonn.storage.sql import SqlStorage

NAMES = [f"item {i}" for i in range(10)]


def test_a_script_and_another_process_share_one_study(database_url) -> None:
    study = create_study(NAMES, storage=database_url, name="s", first=4, seed=1)
    question = study.ask()[0]
    study.tell(question.id, 1)
    other = load_study(database_url, "s")
    assert other.ask(respondent="anna")[0].id != study.ask()[0].id
    other.tell(other.ask(respondent="anna")[0].id, 0, respondent="anna")
    assert len(study.answers()) == 2
    np.testing.assert_array_equal(study.belief().embedding, other.belief().embedding)


def test_what_is_acknowledged_is_on_disk_and_synced(tmp_path) -> None:
    storage = SqlStorage(f"sqlite:///{tmp_path}/x.db")
    storage.setting("key", "value")
    with storage.database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_infinite_leases_are_kept(database_url) -> None:
    study = create_study(NAMES, storage=database_url, name="s", first=4)
    question = study.ask()[0]
    assert study.storage.question("s", question.id).lease_until == np.inf
    assert study.storage.take("s", "bert", 1, 60) == []


def test_a_response_is_stored_once_by_the_constraint_itself(database_url) -> None:
    """Two servers that both think they are first: the index refuses the second."""
    study = create_study(NAMES, storage=database_url, name="s", first=4)
    question = study.ask(respondent="anna")[0]
    one, two = SqlStorage(database_url), SqlStorage(database_url)
    for storage, name in ((one, "a"), (two, "a"), (two, "a")):
        stored, *_ = storage.exchange("s", Answer(name, question.id, "anna", 1), 0, Serving())
        assert stored.number == 1


def test_one_person_in_two_tabs_is_one_person(postgres_server, monkeypatch) -> None:
    url = postgres_server.new_database()
    create_study(NAMES, storage=url, name="s")
    one, other, names = SqlStorage(url), SqlStorage(url), []
    ensure = one._ensure_respondent

    def overtaken(*given) -> None:
        if not names:
            names.append(other.join("s", "prolific-1").name)
        ensure(*given)

    monkeypatch.setattr(one, "_ensure_respondent", overtaken)
    assert [one.join("s", "prolific-1").name] == names
    assert [person.name for person in one.respondents("s")] == names


def test_work_done_together_fails_alone(tmp_path) -> None:
    """One bad piece of work among many that share a transaction: the others are kept, each once."""
    storage = SqlStorage(f"sqlite:///{tmp_path}/x.db")
    inside, go_on = threading.Event(), threading.Event()

    def slow(connection) -> str:
        inside.set()
        go_on.wait(10)
        return "slow"

    def note(key: str):
        def work(connection) -> str:
            connection.execute(sa.insert(schema.settings).values(key=key, value="x"))
            if key == "bad":
                raise ValueError("bad")
            return key

        return work

    with ThreadPoolExecutor(6) as pool:
        first = pool.submit(storage.database.together, slow)
        inside.wait(10)
        others = [pool.submit(storage.database.together, note(key)) for key in ("a", "bad", "b", "c")]
        while len(storage.database._jobs) < 4:
            time.sleep(0.01)
        go_on.set()
        assert first.result() == "slow"
        assert [others[i].result() for i in (0, 2, 3)] == ["a", "b", "c"]
        with pytest.raises(ValueError, match="bad"):
            others[1].result()
    assert [storage.setting(key) for key in ("a", "bad", "b", "c")] == ["x", None, "x", "x"]


def test_one_answer_posted_many_times_at_once_is_one(database_url) -> None:
    """Posts of one answer that share a transaction, and those of others beside them."""
    study = create_study(NAMES, storage=database_url, name="s", first=6)
    people = [f"p{n}" for n in range(6)]
    asked = {person: study.ask(respondent=person)[0].id for person in people}
    storage = SqlStorage(database_url)

    def post(person: str) -> int:
        answer = Answer(f"answer-{person}", asked[person], person, 1)
        return storage.exchange("s", answer, 0, Serving())[0].number

    with ThreadPoolExecutor(12) as pool:
        numbers = list(pool.map(post, people * 4))
    assert sorted(set(numbers)) == [1, 2, 3, 4, 5, 6]
    assert all(len({numbers[i] for i in range(n, 24, 6)}) == 1 for n in range(6))
    assert [pair.answer.number for pair in storage.answers("s", None)] == [1, 2, 3, 4, 5, 6]


def test_an_answer_takes_few_round_trips_to_postgresql(postgres_server) -> None:
    """Each costs a person time, and a server people; SQLite has none."""
    study = create_study(NAMES, storage=postgres_server.new_database(), name="s", first=9)
    storage = study.storage
    held = study.ask(9) and storage.serve("s", "", 2, Serving(600))
    statements: list[str] = []
    sa.event.listen(storage.database._engine, "before_cursor_execute", lambda *seen: statements.append(seen[2]))
    counts = []
    for number in range(4):
        statements.clear()
        _, held, n_done = storage.exchange("s", Answer(f"a{number}", held[0].id, "", 1), 2, Serving(600))
        assert (len(held), n_done) == (2, number + 1)
        counts.append(len(statements))
    assert min(counts) <= 7, "\n".join(statements)
