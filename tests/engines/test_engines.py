"""Every engine gives what a plain loop gives, whatever happens to its workers; on a real Dask cluster, too."""

import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from infonn import engines
from infonn.engines import Here, Processes, open_engine, pack, travels
from infonn.errors import DataError, EngineError, InfonnError, UnknownNameError


def square(x: int) -> int:
    return x * x


def rooms(x: int) -> list[int]:
    return [x - 1] if x else []


def ends_once(folder: Path, x: int) -> int:
    """The first to come here is killed, as by a machine that has run out of memory."""
    mark = folder / "killed"
    if x == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(x)


def always_ends(x: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


def refuses(x: int) -> int:
    if x == 3:
        raise InfonnError(f"{x} is too many; 2 would do.")
    return x


def threads_of(_: int) -> list[int]:
    from threadpoolctl import threadpool_info

    from infonn.maths.kernels.threads import n_threads

    return [n_threads(), *(library["num_threads"] for library in threadpool_info())]


def total(rows: np.ndarray, part: slice) -> float:
    return float(rows[part].sum())


def test_results_come_for_every_piece_and_in_order_where_asked(engine) -> None:
    assert dict(engine.run(square, range(7))) == {x: x * x for x in range(7)}
    assert list(engine.map(square, range(7))) == [x * x for x in range(7)]
    assert list(engine.map(square, [])) == []


def test_what_follows_from_a_result_is_done_too(engine) -> None:
    found = list(engine.run(square, [3, 1], lambda piece, result: rooms(piece)))
    assert sorted(found) == [(0, 0), (0, 0), (1, 1), (1, 1), (2, 4), (3, 9)]


def test_functions_without_a_name_travel(engine) -> None:
    factor = 3
    assert list(engine.map(lambda x: factor * x, range(3))) == [0, 3, 6]


def test_a_worker_that_is_killed_changes_no_result(elsewhere, tmp_path) -> None:
    assert list(elsewhere.map(partial(ends_once, tmp_path), range(6))) == [x * x for x in range(6)]
    assert (tmp_path / "killed").exists()


def test_work_that_kills_every_worker_is_given_up_with_a_sentence(elsewhere) -> None:
    with pytest.raises(EngineError, match="too little memory"):
        list(elsewhere.map(always_ends, [1]))
    assert list(elsewhere.map(square, [3])) == [9]  # and the engine goes on


def test_an_error_is_the_one_that_was_raised(engine) -> None:
    with pytest.raises(InfonnError, match="3 is too many; 2 would do"):
        list(engine.run(refuses, range(6)))
    assert list(engine.map(square, [3])) == [9]


def test_workers_compute_with_one_thread(elsewhere) -> None:
    np.ones((50, 50)) @ np.ones((50, 50))
    assert {n for threads in elsewhere.map(threads_of, range(3)) for n in threads} == {1}


# --- files ------------------------------------------------------------------------------------------------


@pytest.fixture
def mapped(tmp_path):
    rows = np.random.default_rng(0).standard_normal((40_000, 16)).astype(np.float32)
    np.save(tmp_path / "features.npy", rows)
    return np.load(tmp_path / "features.npy", mmap_mode="r")


def test_mapped_files_travel_by_path_alone(engine, mapped) -> None:
    parts = [slice(first, first + 10_000) for first in range(0, 40_000, 10_000)]
    assert list(engine.map(partial(total, mapped), parts)) == [total(mapped, part) for part in parts]
    assert len(pack(partial(total, mapped))) < 2000


@pytest.mark.parametrize(
    "view",
    [np.s_[:], np.s_[7:90], np.s_[::3, 2:5], np.s_[5], np.s_[:, 3]],
    ids=["all", "rows", "steps", "row", "column"],
)
@pytest.mark.parametrize("plain", [False, True])
def test_parts_of_mapped_files_arrive_as_they_were(mapped, view, plain) -> None:
    part = np.asarray(mapped)[view] if plain else mapped[view]
    packed = pack(part)
    assert len(packed) < 1000
    np.testing.assert_array_equal(engines.pickle.loads(packed), part)


def test_what_stands_in_memory_travels_whole(mapped) -> None:
    copy = mapped[:1000] * 2
    assert len(pack(copy)) > copy.nbytes
    np.testing.assert_array_equal(engines.pickle.loads(pack(copy)), copy)
    np.testing.assert_array_equal(engines.pickle.loads(pack(mapped[::-1])), mapped[::-1])


def test_a_file_that_workers_cannot_read_is_named(mapped, tmp_path) -> None:
    packed = pack(mapped)
    (tmp_path / "features.npy").rename(tmp_path / "elsewhere.npy")
    with pytest.raises(
        DataError, match=r"features.npy cannot be read on the worker .*put it where all of them have it"
    ):
        engines.pickle.loads(packed)
    with pytest.raises(DataError, match="is gone"):
        pack(mapped)
    (tmp_path / "features.npy").write_bytes(b"other")
    with pytest.raises(DataError, match="has 5 bytes on the worker"):
        engines.pickle.loads(packed)


# --- which engine -----------------------------------------------------------------------------------------


def test_the_options_say_which_engine() -> None:
    assert isinstance(open_engine(), Here)
    assert isinstance(open_engine(processes=1), Here)
    assert open_engine(processes=3).n_workers == 3
    assert open_engine("processes").n_workers == engines.n_cores()
    assert isinstance(open_engine("processes", 1), Processes)


def test_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UnknownNameError, match='Did you mean "processes"'):
        open_engine("process")
    with pytest.raises(EngineError, match="address of a scheduler"):
        open_engine("dask")
    with pytest.raises(EngineError, match='is for the engine "dask"'):
        open_engine("here", scheduler="tcp://x")
    with pytest.raises(EngineError, match='4 processes are for the engine "processes"'):
        open_engine("here", 4)


def test_a_scheduler_that_does_not_answer_is_said(monkeypatch) -> None:
    monkeypatch.setattr(engines, "CONNECT_S", 0.5)
    with pytest.raises(EngineError, match=r"No Dask scheduler answers at tcp://127.0.0.1:1 .*dask scheduler"):
        open_engine(scheduler="tcp://127.0.0.1:1")


def test_workers_of_several_threads_or_another_version_are_refused(scheduler, monkeypatch) -> None:
    import distributed

    with monkeypatch.context() as patched:
        patched.setattr(distributed.Client, "nthreads", lambda self: {"tcp://a": 4})
        with pytest.raises(EngineError, match=r"tcp://a has 4 threads.*--nthreads 1"):
            open_engine(scheduler=scheduler)
    monkeypatch.setattr(distributed.Client, "run", lambda self, function: {"tcp://a": "0.0.1"})
    with pytest.raises(EngineError, match=r"tcp://a has infonn 0\.0\.1; here is"):
        open_engine(scheduler=scheduler)


def test_without_dask_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(engines.sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"infonn\[cluster\]"):
        open_engine(scheduler="tcp://x")


def test_what_cannot_travel_is_known_before() -> None:
    from threading import Lock

    assert travels(lambda x: x)
    assert not travels(Lock())
