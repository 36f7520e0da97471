"""Reports made aside: the same as those made on the spot, whatever happens to the process that makes them."""

import os
import signal
import time

import numpy as np
import pytest
from test_worker import answer, new_study, settle

from infonn.live.cold_fits import BackgroundFitter, InlineFitter
from infonn.live.worker import Worker
from infonn.specs.build import load_study
from infonn.storage.sql import SqlStorage


@pytest.fixture
def storage(tmp_path):
    made = SqlStorage(f"sqlite:///{tmp_path}/x.db")
    new_study(made)
    first = Worker(made)
    settle(first)
    first._give_back("s")
    yield made
    made.close()


@pytest.fixture
def aside(storage):
    made = BackgroundFitter(f"sqlite:///{storage.database.url.database}")
    yield made
    made.stop()


def wait_for(fitter):
    end = time.monotonic() + 60
    while (made := fitter.finished()) is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    return made


def test_a_report_from_aside_is_the_one_made_on_the_spot(storage, aside) -> None:
    answer(storage, 12)
    study = load_study(storage, "s")
    assert aside.start(study, 7)
    assert not aside.start(study, 7)  # one at a time
    made = wait_for(aside)
    assert (made.study, made.revision, made.n_answers, made.problem) == ("s", (12, 0), 12, "")
    assert storage.notes("s")["reported"] == {"revision": [12, 0], "queue": 7}
    from_aside = storage.load_model("s")[1]
    at_once = InlineFitter(storage)
    at_once.start(study, 7)
    assert at_once.finished().revision == (12, 0)
    np.testing.assert_array_equal(from_aside["embedding"], storage.load_model("s")[1]["embedding"])
    np.testing.assert_array_equal(from_aside["embedding"], study.belief().embedding)


def test_a_process_that_dies_is_a_problem_and_the_next_report_is_made(storage, aside) -> None:
    study = load_study(storage, "s")
    aside.start(study, 0)
    os.kill(aside._process.pid, signal.SIGKILL)
    assert wait_for(aside).problem == "the process that fits it ended"
    aside.start(study, 0)
    assert wait_for(aside).problem == ""


def test_what_cannot_be_reported_is_said(storage, aside) -> None:
    study = load_study(storage, "s")
    storage.change_study("s", lambda spec: {**spec, "learner": {"name": "mds", "step": -1.0}})
    aside.start(study, 0)
    made = wait_for(aside)
    assert "step must be above 0" in made.problem
    assert not made.passing


def test_a_worker_reports_aside_while_it_goes_on(storage, aside) -> None:
    worker = Worker(storage, fitter=aside)
    answer(storage, 12)
    end = time.monotonic() + 60
    while storage.notes("s").get("reported", {}).get("revision") != [12, 0]:
        assert time.monotonic() < end
        if not worker.turn():
            time.sleep(0.02)
    assert storage.queue_depth("s") >= 30
