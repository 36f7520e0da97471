"""Full disks, lost databases, clocks set back, two servers, dead workers: people go on when the fault is over."""

import sqlite3
import subprocess
import sys
import threading
import time

import pytest
import sqlalchemy as sa

from infonn.bench.servers import free_port, server, wait_until_up, worker
from infonn.storage.memory import MemoryStorage
from infonn.storage.sql import SqlStorage
from web.conftest import NO_LIMITS, Site

from .conftest import Field


def answer_until_refused(person, limit: int = 400) -> int:
    """Answers acknowledged before the first refusal."""
    for n in range(limit):
        body = {"id": f"until-refused-{n}", "question": person.questions[0]["id"], "response": 0}
        body["context"] = {"filler": "x" * 3000}
        reply = person.post("answers", body)
        if reply.status_code != 200:
            assert reply.status_code == 503
            assert "nothing of this was stored" in reply.json()["detail"]
            return n
        person.questions = reply.json()["questions"]
    raise AssertionError("the disk never filled")


def test_a_full_disk_refuses_and_loses_nothing(tmp_path) -> None:
    storage = SqlStorage(f"sqlite:///{tmp_path}/study.db")
    site = Site(storage, NO_LIMITS)
    person = site.person(site.study(people={"repeats": True}))
    pages = {"limit": None}

    @sa.event.listens_for(storage.database._engine, "begin")
    def limit_pages(connection) -> None:
        if pages["limit"]:  # SQLite then fails as on a full disk
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages['limit']}")

    with storage.database.read() as connection:
        pages["limit"] = connection.exec_driver_sql("PRAGMA page_count").scalar() + 30
    acknowledged = answer_until_refused(person)
    assert acknowledged > 3
    assert len(storage.answers("s", None)) == acknowledged
    pages["limit"] = 10**9  # room again
    reply = person.post("answers", {"id": "after-the-fault", "question": person.questions[0]["id"], "response": 0})
    assert reply.status_code == 200
    assert len(storage.answers("s", None)) == acknowledged + 1


def test_a_really_full_disk(tmp_path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        storage = SqlStorage(f"sqlite:///{folder}/study.db")
        site = Site(storage, NO_LIMITS)
        person = site.person(site.study(people={"repeats": True}))
        acknowledged = answer_until_refused(person, 2000)
        assert len(storage.answers("s", None)) == acknowledged
        subprocess.run(["mount", "-o", "remount,size=8m", folder], check=True)
        person.answer()
        assert len(storage.answers("s", None)) == acknowledged + 1
        storage.close()
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def lose_postgres(field: Field, postgres, seconds: float) -> None:
    field.start()
    field.people_arrive()
    field.wait_for_answers(40)
    postgres.stop()
    time.sleep(seconds)
    postgres.start()
    field.wait_for_answers(40)
    field.people_leave()
    assert field.crowd.failed > 0
    field.check_nothing_lost()
    field.check_model_is_a_fresh_fit()


@pytest.fixture
def postgres_field(postgres_server, tmp_path):
    made = Field(postgres_server.new_database(), tmp_path)
    yield made
    made.close()


def test_postgresql_crashes_and_comes_back(postgres_field, postgres_server) -> None:
    lose_postgres(postgres_field, postgres_server, 1.0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_postgresql_is_gone_for_ten_seconds(postgres_field, postgres_server) -> None:
    lose_postgres(postgres_field, postgres_server, 10.0)


def test_a_database_locked_by_another_program_is_waited_for(sqlite_field) -> None:
    sqlite_field.start()
    sqlite_field.people_arrive()
    sqlite_field.wait_for_answers(20)
    other = sqlite3.connect(sqlite_field.storage.database.url.database, isolation_level=None, timeout=30)
    other.execute("BEGIN IMMEDIATE")
    time.sleep(2)
    other.execute("ROLLBACK")
    other.close()
    sqlite_field.wait_for_answers(40)
    sqlite_field.people_leave()
    assert sqlite_field.crowd.failed == 0
    sqlite_field.check_nothing_lost()


def test_two_servers_and_two_workers_on_one_storage(field, tmp_path) -> None:
    field.start()
    second = Field.__new__(Field)
    second.__dict__.update(field.__dict__, port=free_port(), crowd=type(field.crowd)(), _thread=None)
    (tmp_path / "second").mkdir()
    with server(field.url, second.port, tmp_path / "second"), worker(field.url, tmp_path / "second", 2.0):
        wait_until_up(second.port)
        for seed, each in enumerate((field, second)):
            each.people_arrive(seed=seed)
        for each in (field, second):
            each.wait_for_answers(60)
        for each in (field, second):
            each.people_leave()
        second.check_nothing_lost()
        field.check_nothing_lost()
        field.check_model_is_a_fresh_fit()
    given = len(field.crowd.acknowledged) + len(second.crowd.acknowledged)
    assert field.storage.revision("s")[0] >= given


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_clock_set_back_changes_no_order_and_loses_nothing(kind, tmp_path) -> None:
    now = [2_000_000_000.0]
    clock = lambda: now[0]  # noqa: E731
    storage = MemoryStorage(clock) if kind == "memory" else SqlStorage(f"sqlite:///{tmp_path}/x.db", clock)
    site = Site(storage, NO_LIMITS)
    key = site.study()
    anna, bert = site.person(key), site.person(key)
    for step in (0, 1, -86_400, 1, 7200, -10):
        now[0] += step
        for i, person in enumerate((anna, bert)):
            person.answer(i)
    kept = storage.answers("s", None)
    assert [pair.answer.number for pair in kept] == list(range(1, 13))
    assert [pair.answer.respondent for pair in kept] == [anna.name, bert.name] * 6
    held = [question["id"] for question in anna.questions + bert.questions]
    assert len(held) == len(set(held))


def test_a_worker_that_dies_in_the_middle_of_a_fit_is_replaced(field) -> None:
    field.start()
    field.people_arrive(think_s=0.05)
    field.wait_for_answers(30)
    with worker(field.url, field.folder, 2.0):
        field.worker.kill()  # it fits all the time while answers come in
        field.wait_for_answers(30)
        field.people_leave()
        field.check_model_is_a_fresh_fit()
        field.check_nothing_lost()


def test_a_server_started_while_its_database_is_away_waits(tmp_path) -> None:
    """Threads that find the storage broken give 503, and go on by themselves once it is back."""
    storage = SqlStorage(f"sqlite:///{tmp_path}/x.db")
    site = Site(storage, NO_LIMITS)
    key = site.study()
    broken = threading.Event()

    @sa.event.listens_for(storage.database._engine, "begin")
    def fail(connection) -> None:
        if broken.is_set():
            raise sa.exc.OperationalError("BEGIN", {}, sqlite3.OperationalError("unable to open database file"))

    person = site.person(key)
    broken.set()
    body = {"id": "sent-again", "question": person.questions[0]["id"], "response": 0}
    assert person.post("answers", body).status_code == 503
    broken.clear()
    assert person.post("answers", body).status_code == 200
    assert len(storage.answers("s", None)) == 1


def test_a_worker_whose_server_is_gone_before_it_starts_ends_as_well(tmp_path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    command = [sys.executable, "-m", "infonn", "work", "--parent", str(gone.pid)]
    ended = subprocess.run([*command, "--storage", f"sqlite:///{tmp_path / 'study.db'}"], timeout=60, check=False)
    assert ended.returncode == 0
