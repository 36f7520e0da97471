"""A study that asks too much of a machine is stopped and said; the others go on."""

import os
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from test_worker import answer, new_study, settle

from infonn.live.cold_fits import BackgroundFitter
from infonn.live.limits import FitLimits, default_limits, is_paused, pause_note
from infonn.live.worker import TOOK_TOO_MUCH, Worker
from infonn.specs.build import build_study, load_study, open_live_storage
from infonn.storage.memory import MemoryStorage


@dataclass(frozen=True)
class Slow:
    """A learner that does not come to an end by itself."""

    learner: Any
    stop: threading.Event

    def fit(self, *given):
        self.stop.wait(20)
        return self.learner.fit(*given)


def test_limits_say_what_was_too_much() -> None:
    assert "took more than 5 s" in FitLimits(1000, 5).exceeded(os.getpid(), 6)
    assert "GB are allowed, so it was stopped" in FitLimits(1e-3, 5).exceeded(os.getpid(), 1)
    assert FitLimits(1000, 5).exceeded(os.getpid(), 1) is None
    assert default_limits().exceeded(os.getpid(), 1) is None


def test_point_13_a_study_that_takes_too_long_is_left_alone_and_the_others_are_fitted(monkeypatch) -> None:
    storage, ended, stop = MemoryStorage(), [], threading.Event()
    new_study(storage)
    new_study(storage, name="other")
    answer(storage, 6)
    answer(storage, 6, name="other")

    def slow_build(spec, kept, **given):
        study = build_study(spec, kept, **given)
        if study.name == "s":
            study.learner = Slow(study.learner, stop)
        return study

    monkeypatch.setattr("infonn.live.worker.build_study", slow_build)
    done = threading.Event()

    def end(status: int) -> None:
        ended.append(status)
        stop.set()
        done.set()

    worker = Worker(storage, limits=FitLimits(1000, 0.5), end=end)
    thread = threading.Thread(target=worker.run, args=(done,), daemon=True)
    thread.start()
    assert done.wait(30)
    thread.join(30)
    assert ended == [TOOK_TOO_MUCH]
    assert "one fit took more than 0.5 s" in storage.notes("s")["error"]
    settle(Worker(storage))  # as the next process would
    assert storage.load_model("other")[1]["n_answers"] == 6
    assert not Worker(storage)._needs_work(storage.study("s"))


def test_point_13_a_study_is_tried_again_once_its_parts_are_changed() -> None:
    spec = {"learner": {"name": "mds"}, "strategy": {"name": "random"}}
    note = pause_note(spec)
    assert is_paused(note, spec)
    assert not is_paused(note, {**spec, "learner": {"name": "mds", "dims": 3}})
    assert not is_paused({**note, "until": time.time() - 1}, spec)
    assert not is_paused(None, spec)


def test_point_13_a_cold_fit_that_takes_too_much_memory_is_ended_and_said(tmp_path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    storage = open_live_storage(url)
    new_study(storage)
    answer(storage, 6)
    fitter = BackgroundFitter(url, FitLimits(1e-3, 600))
    assert fitter.start(load_study(storage, "s"), 0)
    made = None
    for _ in range(600):
        made = fitter.finished()
        if made is not None:
            break
        time.sleep(0.05)
    fitter.stop()
    assert made is not None
    assert made.too_much
    assert "GB of memory" in made.problem


def test_point_13_while_one_study_takes_long_another_worker_may_have_the_others(monkeypatch) -> None:
    storage = MemoryStorage()
    new_study(storage)
    new_study(storage, name="other")
    worker = Worker(storage)
    settle(worker)
    worker._updaters |= {"s": object(), "other": object()}
    worker._at_work = "s", time.monotonic()
    assert worker._held_up() == set()
    worker._at_work = "s", time.monotonic() - 60
    assert worker._held_up() == {"other"}


def test_point_13_the_study_that_waited_longest_is_updated_first(monkeypatch) -> None:
    storage, order = MemoryStorage(), []
    for name in ("a", "b"):
        new_study(storage, name=name)
    worker = Worker(storage)
    monkeypatch.setattr(worker, "_update", lambda record: bool(order.append(record.name)) or True)
    worker.turn()
    worker._updated_at["a"] = np.inf
    worker.turn()
    assert order == ["a", "b", "b", "a"]


@pytest.fixture(autouse=True)
def at_once(monkeypatch) -> None:
    monkeypatch.setattr("infonn.live.updating.REFILL_EVERY_S", 0.0)
