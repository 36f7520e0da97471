"""Restores and imports killed at each step: what was there before, or what was to come, whole."""

import os
import subprocess
import sys

import pytest

from infonn.formats import bundle
from infonn.live.transfer import bundle_of, exported, put_study
from infonn.records import Answer
from infonn.specs.build import items_of, open_live_storage
from infonn.storage.backups import backup
from infonn.storage.database import check_file

# A process that is forked for each try, so that Python starts once. A try counts the steps of its work and ends, as a
# kill ends it, at the one it is told.
FORKS = """
import os, signal, sys
left = 0
def step(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
for turn in range(1, 300):
    child = os.fork()
    if child == 0:
        left = turn
        work(*sys.argv[1:])
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.stdin.readline()
"""
RESTORE = """
import os
from pathlib import Path
from infonn.storage import backups
def deadly(function):
    def with_step(*given, **named):
        step()
        return function(*given, **named)
    return with_step
for module, name in ((os, "replace"), (os, "link"), (os, "rename"), (os, "fsync"), (backups, "check_file"),
                     (backups, "make_private"), (backups.sqlite3, "connect")):
    setattr(module, name, deadly(getattr(module, name)))
def work(url, file):
    backups.restore(url, Path(file))
"""
IMPORT = """
from pathlib import Path
import sqlalchemy as sa
from infonn.live.transfer import imported, restored
from infonn.specs.build import open_live_storage
def work(url, file):
    storage, data = open_live_storage(url), Path(file).read_bytes()
    storage.setting("made", "yes")
    sa.event.listen(storage.database._engine, "before_cursor_execute", step)
    sa.event.listen(storage.database._engine, "commit", step)
    if file.endswith(".zip"):
        restored(storage, data, None)
    else:
        imported(storage, storage.study("s"), data, "jsonl")
"""


def runs_killed(work: str, url: str, file, after_each) -> int:
    """Run the work, killed one step later each time, until it comes to its end; the number of kills."""
    words = [sys.executable, "-c", work + FORKS, url, str(file)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        kills = 0
        while (code := process.stdout.readline().strip()) == "-9":
            after_each()
            kills += 1
            print("on", file=process.stdin, flush=True)
        process.kill()
    assert code == "0", code
    return kills


def a_study(storage, name: str, n_answers: int):
    items = items_of([(f"item {i}", None) for i in range(8)])
    record = put_study(storage, {"study": {"name": name}, "queries": {"first": n_answers}}, items, [])
    for number, question in enumerate(storage.questions(name)):
        storage.add_answer(name, Answer(f"{name}-{number}", question.id, "anna", 0))
    return record


@pytest.mark.skipif(os.name == "nt", reason="kills are signals")
def test_point_6_a_restore_killed_at_any_step_leaves_the_old_or_the_new(tmp_path) -> None:
    url, copy = f"sqlite:///{tmp_path}/study.db", tmp_path / "copy.db"
    storage = open_live_storage(url)
    a_study(storage, "early", 5)
    backup(url, copy)
    a_study(storage, "late", 7)
    storage.close()

    def check() -> None:
        check_file(tmp_path / "study.db")
        opened = open_live_storage(url)
        counts = {record.name: len(opened.answers(record.name)) for record in opened.studies()}
        opened.close()
        assert counts in ({"early": 5, "late": 7}, {"early": 5})

    assert runs_killed(RESTORE, url, copy, check) > 8
    opened = open_live_storage(url)
    assert [record.name for record in opened.studies()] == ["early"]


@pytest.mark.parametrize("ending", ["zip", "jsonl"])
def test_point_6_an_import_killed_at_any_statement_stores_all_or_nothing(database_url, tmp_path, ending) -> None:
    elsewhere = open_live_storage("memory://")
    record = a_study(elsewhere, "s", 6)
    elsewhere.exclude("s", "bert")
    whole = bundle_of(elsewhere, record)
    file = tmp_path / f"study.{ending}"
    storage = open_live_storage(database_url)
    if ending == "zip":
        file.write_bytes(bundle.write(whole))
    else:
        file.write_bytes(exported(elsewhere, record, "jsonl")[0])
        storage.create_study(record, elsewhere.items("s"))

    def check() -> None:
        expected = [] if ending == "zip" else ["s"]
        assert [record.name for record in storage.studies()] == expected
        if expected:
            assert storage.answers("s", None, everything=True) == []
            assert storage.questions("s") == []

    assert runs_killed(IMPORT, database_url, file, check) > 4
    assert len(storage.answers("s")) == 6
    storage.close()
