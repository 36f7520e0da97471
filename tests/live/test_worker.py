"""The worker: queues stay full, reports follow from the stored answers, and another takes over."""

import itertools
import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from infonn.contracts.storage import Serving
from infonn.live.cold_fits import matched
from infonn.live.studies import servings_for
from infonn.live.transfer import put_study
from infonn.live.updating import SMALLEST_QUEUE, Updater
from infonn.live.worker import Worker
from infonn.maths.intervals import wilson_interval
from infonn.maths.prediction import expected_responses, plane_of
from infonn.records import Answer
from infonn.specs.build import items_of, load_study
from infonn.storage.memory import MemoryStorage
from infonn.storage.sql import SqlStorage

NAMES = [(f"item {i}", None) for i in range(15)]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr("infonn.live.updating.REFILL_EVERY_S", 0.0)
    monkeypatch.setattr("infonn.live.worker._IDLE_S", np.inf)  # kernels may take longer to compile


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def new_study(storage, name="s", **tables):
    spec = {"study": {"name": name, "seed": 3}, "queries": {"first": 6}, "budget": {"answers": 10**6}}
    spec |= {"learner": {"name": "mds"}, **tables}
    return put_study(storage, spec, items_of(NAMES), [])


def settle(worker) -> None:
    while worker.turn():
        pass


def answer(storage, n: int, person="anna", name="s", **serving) -> None:
    """`n` answers by a person who always takes the first option."""
    how = Serving(600, **serving)
    for number in range(n):
        (question,) = storage.serve(name, person, 1, how)
        storage.exchange(name, Answer(f"{person}-{question.id}-{number}", question.id, person, 0), 1, how)


def test_the_queue_is_full_before_anybody_comes() -> None:
    storage = MemoryStorage()
    new_study(storage)
    settle(Worker(storage))
    assert storage.queue_depth("s") >= SMALLEST_QUEUE // 2
    assert {question.strategy_used for question in storage.questions("s", "open")} == {"random"}


def test_after_the_first_answers_the_strategy_chooses() -> None:
    storage = MemoryStorage()
    new_study(storage)
    worker = Worker(storage)
    settle(worker)
    answer(storage, 6)
    settle(worker)
    waiting = storage.questions("s", "open")
    assert {question.strategy_used for question in waiting} == {"info_nn"}
    assert {question.model_version for question in waiting} == {6}
    assert all(question.score > 0 for question in waiting)
    answered = {(pair.question.query[0], frozenset(pair.question.query[1:])) for pair in storage.answers("s")}
    assert not answered & {(question.query[0], frozenset(question.query[1:])) for question in waiting}


def test_a_new_answer_replaces_the_queue() -> None:
    storage = MemoryStorage()
    new_study(storage)
    worker = Worker(storage)
    answer_in_turns(storage, worker, 8)
    before = {question.id for question in storage.questions("s", "open")}
    answer(storage, 1)
    settle(worker)
    assert not before & {question.id for question in storage.questions("s", "open")}


def few_turns(worker, most: int = 20) -> int:
    """Turns until there is nothing left to do; the worker that never rests fails here instead of hanging."""
    for turn in range(most):
        if not worker.turn():
            return turn
    raise AssertionError(f"still at work after {most} turns")


def label_study(storage, name: str, n_items: int = 12) -> None:
    """A study whose whole pool is smaller than half the smallest queue."""
    angles = np.arange(n_items) / 2
    few = items_of([(f"item {i}", None) for i in range(n_items)], np.column_stack([np.cos(angles), np.sin(angles)]))
    spec = {"study": {"name": name, "task": "labels"}, "queries": {"classes": ["a", "b"], "first": 4}}
    put_study(storage, spec | {"learner": {"name": "logistic"}}, few, [])


def test_a_small_pool_keeps_no_worker_busy() -> None:
    storage = MemoryStorage()
    label_study(storage, "few")
    worker = Worker(storage)
    for n in (0, 3, 5):
        answer(storage, n, name="few")
        few_turns(worker)
        assert storage.notes("few")["reported"]["revision"] == list(storage.revision("few"))
    worker._give_back("few")
    assert not worker.turn()  # nor is it taken up again


def test_a_curve_does_not_wait_for_other_studies() -> None:
    storage = MemoryStorage()
    for name in ("few", "fewer"):
        label_study(storage, name, 12 if name == "few" else 5)
    record = new_study(storage)
    answer(storage, 36, hold_out=0.3, draw=servings_for(storage, record)[""].draw)
    assert few_turns(Worker(storage)) <= 8
    assert "hold_out_accuracy" in storage.rounds("s")[-1].measures


def test_a_low_queue_is_filled_before_the_belief_is_fitted() -> None:
    storage = MemoryStorage()
    new_study(storage)
    worker = Worker(storage)
    answer_in_turns(storage, worker, 8)
    learner, depths = worker._updaters["s"].study.learner, []

    class Watched:
        def fit(self, *given):
            depths.append(storage.queue_depth("s"))
            return learner.fit(*given)

    worker._updaters["s"].study.learner = Watched()
    storage.replace_open("s", [])  # a crowd came and took everything
    storage.add_answer("s", Answer("more", storage.serve("s", "anna", 1, Serving())[0].id, "anna", 0))
    worker.turn()
    assert depths[0] >= SMALLEST_QUEUE


class Never:
    """A fitter who is always busy."""

    pause = 1.0

    def start(self, *_: object) -> bool:
        return False


def test_updates_get_shorter_when_a_crowd_answers_and_longer_again(monkeypatch) -> None:
    now = [100.0]
    monkeypatch.setattr("infonn.live.updating.time.monotonic", lambda: now[0])
    storage = MemoryStorage()
    draw = servings_for(storage, new_study(storage))[""].draw
    updater = Updater(storage, load_study(storage, "s"), Never())
    efforts = []

    @dataclass(frozen=True)
    class Slow:  # ten seconds of work at full effort
        learner: Any
        effort: float = 1.0

        def with_effort(self, effort):
            return Slow(self.learner, effort)

        def fit(self, *given):
            now[0] += 10 * self.effort
            efforts.append(self.effort)
            return self.learner.fit(*given)

    updater.study.learner = Slow(updater.study.learner)
    for _ in range(20):
        answer(storage, 40, draw=draw)
        updater.update()
    assert 0.02 <= efforts[-1] <= 0.1  # half a second
    for _ in range(20):
        now[0] += 60
        answer(storage, 1, draw=draw)
        updater.update()
    assert efforts[-1] == pytest.approx(0.5, abs=0.1)  # five seconds


def answer_in_turns(storage, worker, n: int) -> None:
    for _ in range(n):
        settle(worker)
        answer(storage, 1)
    settle(worker)


def test_what_is_reported_is_a_cold_fit_of_the_stored_answers(database_url) -> None:
    storage = SqlStorage(database_url)
    new_study(storage)
    answer_in_turns(storage, Worker(storage), 9)
    version, model = storage.load_model("s")
    assert (version, model["n_answers"], model["revision"]) == (9, 9, [9, 0])
    np.testing.assert_array_equal(model["embedding"], load_study(storage, "s").belief().embedding)


def test_the_default_learner_is_reported_as_it_is_fitted_cold() -> None:
    storage = MemoryStorage()
    new_study(storage, learner={})
    answer_in_turns(storage, Worker(storage), 8)
    fresh = load_study(storage, "s").embedding().to_numpy()
    np.testing.assert_array_equal(storage.load_model("s")[1]["embedding"], fresh)


def test_stopping_everything_and_starting_again_changes_nothing(tmp_path) -> None:
    storage = SqlStorage(f"sqlite:///{tmp_path}/x.db")
    new_study(storage)
    answer_in_turns(storage, Worker(storage), 9)
    before = storage.load_model("s")[1]["embedding"]
    storage.note("s", "reported", None)  # as if the last report had been lost
    storage.close()
    again = SqlStorage(f"sqlite:///{tmp_path}/x.db")
    settle(Worker(again))
    np.testing.assert_array_equal(again.load_model("s")[1]["embedding"], before)


def test_undone_and_excluded_answers_leave_the_model() -> None:
    storage = MemoryStorage()
    new_study(storage)
    worker = Worker(storage)
    answer_in_turns(storage, worker, 8)
    eight = storage.load_model("s")[1]["embedding"]
    answer(storage, 4, "bert")
    settle(worker)
    assert storage.load_model("s")[1]["n_answers"] == 12
    storage.exclude("s", "bert")
    settle(worker)
    model = storage.load_model("s")[1]
    assert model["n_answers"] == 8
    np.testing.assert_array_equal(model["embedding"], eight)
    storage.undo("s", storage.answers("s")[-1].answer.id)
    settle(worker)
    assert storage.load_model("s")[1]["n_answers"] == 7


def test_an_item_that_another_person_labelled_tests_nothing() -> None:
    storage = MemoryStorage()
    spec = {"study": {"name": "s", "task": "labels"}, "queries": {"classes": ["a", "b"], "first": 4}}
    record = put_study(storage, spec, items_of(NAMES, [[float(i)] for i in range(15)]), [])
    draw = servings_for(storage, record)[""].draw
    answer(storage, 15, "anna", hold_out=0.4, draw=draw)
    held = {pair.question.query[0] for pair in storage.answers("s", "hold_out")}
    answer(storage, 14, "bert", draw=draw)
    trained = {pair.question.query[0] for pair in storage.answers("s")}
    settle(Worker(storage))
    assert held & trained
    assert storage.rounds("s")[-1].measures.get("n_hold_out", 0) == len(held - trained)


def test_hold_out_answers_are_measured_and_never_train() -> None:
    storage = MemoryStorage()
    record = new_study(storage)
    draw = servings_for(storage, record)[""].draw
    worker = Worker(storage)
    settle(worker)
    answer(storage, 20, hold_out=0.4, draw=draw)
    settle(worker)
    n_train, n_held = len(storage.answers("s")), len(storage.answers("s", "hold_out"))
    assert n_train + n_held == 20
    model, last = storage.load_model("s")[1], storage.rounds("s")[-1]
    assert model["n_answers"] == last.n_answers == n_train
    assert last.measures["n_hold_out"] == n_held
    assert last.measures["hold_out_low"] <= last.measures["hold_out_accuracy"] <= last.measures["hold_out_high"]


def test_random_answers_are_compared_with_as_many_chosen_ones() -> None:
    storage = MemoryStorage()
    record = new_study(storage, people={"at_random": 0.5})
    how = {"hold_out": 0.3, "at_random": 0.5, "draw": servings_for(storage, record)[""].draw}
    worker = Worker(storage)
    for _ in range(12):
        settle(worker)
        answer(storage, 6, **how)
    settle(worker)
    compared = [done.measures for done in storage.rounds("s") if "n_compared" in done.measures]
    train = storage.answers("s")
    at_random, chosen = matched(storage.answers("s", None), "info_nn", 6)
    assert len(at_random) == len(chosen) >= compared[-1]["n_compared"] >= 14
    assert at_random[:6] == chosen[:6] == [pair for pair in train if pair.question.strategy_used == "random"][:6]
    assert {pair.question.strategy_used for pair in chosen[6:]} == {"info_nn"}
    for measures in compared:
        for sort in ("random", "chosen"):
            low, middle, high = (measures[f"{sort}_hold_out_{what}"] for what in ("low", "accuracy", "high"))
            assert low <= middle <= high
    sizes = [measures["n_compared"] for measures in compared]
    assert all(after >= 1.15 * before for before, after in itertools.pairwise(sizes))


def test_a_study_that_mixes_nothing_compares_nothing() -> None:
    storage = MemoryStorage()
    record = new_study(storage)
    worker = Worker(storage)
    for _ in range(6):
        settle(worker)
        answer(
            storage, 12, hold_out=0.3, draw=servings_for(storage, record)[""].draw
        )  # some random, as the queue is old
    settle(worker)
    assert not any("n_compared" in done.measures for done in storage.rounds("s"))


def test_two_workers_never_fit_one_study() -> None:
    clock = Clock()
    storage = MemoryStorage(clock)
    new_study(storage)
    one, two = Worker(storage, name="one"), Worker(storage, name="two")
    settle(one)
    answer(storage, 8)
    assert one.turn()
    assert not two.turn()


def test_studies_are_shared_by_whoever_is_free() -> None:
    storage = MemoryStorage(Clock())
    for name in ("a", "b"):
        new_study(storage, name)
    one, two = Worker(storage, name="one"), Worker(storage, name="two")
    assert storage.claim("a", "one", 15)  # busy with a long fit
    settle(two)
    assert storage.load_model("a") is None
    assert storage.load_model("b") is not None
    assert one.name == "one"


def test_the_study_of_a_dead_worker_is_taken_over() -> None:
    clock = Clock()
    storage = MemoryStorage(clock)
    new_study(storage)
    dying, heir = Worker(storage, 15, "dying"), Worker(storage, 15, "heir")
    settle(dying)
    answer(storage, 8)

    class PowerCut(BaseException):
        pass

    def cut(*_: object, **__: object) -> None:
        raise PowerCut

    object.__setattr__(dying._updaters["s"].study, "learner", type("Learner", (), {"fit": cut})())
    with pytest.raises(PowerCut):  # in the middle of a fit
        dying.turn()
    assert not heir.turn()
    clock.now += 16
    settle(heir)
    assert storage.load_model("s")[1]["n_answers"] == 8


def test_an_error_is_noted_and_taken_back_when_it_is_over(caplog) -> None:
    storage = MemoryStorage()
    new_study(storage, learner={"name": "mds", "step": -1.0})
    worker = Worker(storage)
    with caplog.at_level(logging.ERROR):
        assert not worker.turn()
    assert "could not be fitted" in storage.notes("s")["error"]
    assert 'study "s" could not be fitted' in caplog.text
    storage.change_study("s", lambda spec: {**spec, "learner": {"name": "mds"}})
    worker._retry_at.clear()
    settle(worker)
    assert "error" not in storage.notes("s")


def test_fallback_above_one_percent_is_a_warning_in_the_log(caplog) -> None:
    storage = MemoryStorage()
    record = new_study(storage)
    draw = servings_for(storage, record)[""].draw
    storage.replace_open("s", [])
    answer(storage, 10, draw=draw)
    with caplog.at_level(logging.WARNING):
        settle(Worker(storage))
    assert "100.0 % of its questions (11 of 11) were random because the queue had run dry" in caplog.text


def test_an_ended_study_is_left_alone() -> None:
    storage = MemoryStorage()
    new_study(storage)
    storage.change_study("s", archived=True)
    assert not Worker(storage).turn()
    assert storage.load_model("s") is None


def test_an_ended_study_is_still_reported() -> None:
    storage = MemoryStorage()
    draw = servings_for(storage, new_study(storage))[""].draw
    answer(storage, 8, draw=draw)
    answer(storage, 4, "bert", draw=draw)
    storage.change_study("s", archived=True)
    worker = Worker(storage)
    settle(worker)
    assert storage.load_model("s")[1]["n_answers"] == 12
    storage.exclude("s", "bert")
    settle(worker)
    assert storage.load_model("s")[1]["n_answers"] == 8


# --- the maths of the report -----------------------------------------------------------------------


def test_expected_responses_are_the_nearest_candidates() -> None:
    line = np.array([[0.0], [1.0], [3.0], [7.0]])
    queries = np.array([[0, 3, 1, 2], [3, 2, 0, -1]])
    assert expected_responses(line, queries, "nearest").tolist() == [1, 0]
    assert expected_responses(line, queries[:1], "ranking").tolist() == [3]  # 1, 2, 0 is the fourth order


def test_the_interval_of_a_share() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
    low, high = wilson_interval(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)  # as in Wilson's tables


def test_the_plane_keeps_distances_of_flat_embeddings(rng) -> None:
    flat = rng.normal(size=(9, 2))
    turned = flat @ np.linalg.qr(rng.normal(size=(4, 4)))[0][:2]
    plane = plane_of(turned)
    distances = lambda points: np.linalg.norm(points[:, None] - points[None], axis=-1)  # noqa: E731
    np.testing.assert_allclose(distances(plane), distances(flat), atol=1e-9)
    assert plane_of(flat[:, :1]).shape == (9, 2)
