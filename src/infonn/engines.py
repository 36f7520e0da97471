"""Where work that splits is done: here, in processes of this machine (joblib's), or on a Dask cluster.

An engine takes a function and pieces of work and gives results as they come. Which engine it is, how many workers it
has, and whether one of them dies on the way changes no result: every piece is worked on by itself, workers compute
with one thread each, and a piece whose worker died is worked on again. Functions and pieces travel as pickles, but
arrays that are mapped from a file travel as its path: workers read such files themselves.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from mmap import mmap
from pathlib import Path
from platform import node
from typing import Any, Literal, Protocol, Self, TypeVar, get_args

import numpy as np

from infonn.errors import DataError, EngineError, MissingPartError, unknown_name

Piece = TypeVar("Piece")
Result = TypeVar("Result")
Then = Callable[[Piece, Result], Iterable[Piece]]  # what is to be done after a piece, now that its result is there

EngineName = Literal["here", "processes", "dask"]
THREAD_VARIABLES = (
    "INFONN_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)
TRIES = 3  # workers that may die over a piece before it is given up
CONNECT_S, WORKERS_S = 10.0, 60.0  # how long a scheduler may take to answer, and the first worker to come


class Engine(Protocol):
    """Where pieces of work are worked on."""

    @property
    def n_workers(self) -> int:
        """Pieces that are worked on at the same time."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether functions run in this process, so that they may call back while they run."""
        ...

    def run(
        self, function: Callable[[Piece], Result], pieces: Iterable[Piece], then: Then[Piece, Result] | None = None
    ) -> Iterator[tuple[Piece, Result]]:
        """Every piece and what `function` makes of it, as they come; `then` says what follows from a result."""
        ...

    def map(self, function: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
        """Results in the order of the pieces, as of the builtin `map`."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def open_engine(name: str | None = None, processes: int | None = None, scheduler: str | None = None) -> Engine:
    """The engine of that name; without one, what `processes` and `scheduler` ask for, or else here."""
    if name is None:
        name = "dask" if scheduler is not None else "processes" if processes is not None and processes > 1 else "here"
    if name not in get_args(EngineName):
        raise unknown_name("Engine", name, get_args(EngineName))
    if scheduler is not None and name != "dask":
        raise EngineError(f'A scheduler ({scheduler}) is for the engine "dask"; the engine is "{name}".')
    if processes is not None and processes > 1 and name != "processes":
        raise EngineError(f'{processes} processes are for the engine "processes"; the engine is "{name}".')
    if name == "here":
        return Here()
    if name == "processes":
        return Processes(n_cores() if processes is None else processes)
    if scheduler is None:
        raise EngineError(
            'The engine "dask" needs the address of a scheduler, such as --scheduler tcp://10.0.0.1:8786.'
        )
    return Cluster(scheduler)


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- the engines -----------------------------------------------------------------------------------------


class Here:
    """This process, one piece after the other."""

    n_workers = 1
    is_here = True

    def run(
        self, function: Callable[[Piece], Result], pieces: Iterable[Piece], then: Then[Piece, Result] | None = None
    ) -> Iterator[tuple[Piece, Result]]:
        waiting = deque(pieces)
        while waiting:
            piece = waiting.popleft()
            result = function(piece)
            if then is not None:
                waiting.extendleft(reversed(list(then(piece, result))))  # one thing after the other
            yield piece, result

    map = staticmethod(map)

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...


class _Elsewhere:
    """What engines have in common whose workers are other processes: all of it but the executor."""

    is_here = False

    def __init__(self) -> None:
        self._executor: Executor | None = None

    def _open(self) -> Executor:
        raise NotImplementedError

    @property
    def n_workers(self) -> int:
        raise NotImplementedError

    def run(
        self, function: Callable[[Piece], Result], pieces: Iterable[Piece], then: Then[Piece, Result] | None = None
    ) -> Iterator[tuple[Piece, Result]]:
        from joblib.externals.loky.process_executor import ShutdownExecutorError

        packed = pack(function)
        futures: dict[Future[Result], tuple[Piece, int]] = {}
        waiting = deque((piece, 0) for piece in pieces)
        try:
            while waiting or futures:
                while waiting and len(futures) < 2 * self.n_workers:  # nobody waits, and what follows soon has its turn
                    piece, deaths = waiting.popleft()
                    futures[self._submit(packed, piece)] = piece, deaths
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    piece, deaths = futures.pop(future)
                    try:
                        result = future.result()
                    except BrokenProcessPool:  # all that were under way break with the one whose worker died
                        self._shut_down()
                        if deaths + 1 == TRIES:
                            raise EngineError(
                                f"A worker process was killed {TRIES} times over while it worked on {piece}: is there "
                                "too little memory? Results until then are kept; fewer processes take less."
                            ) from None
                        waiting.appendleft((piece, deaths + 1))
                        continue
                    except ShutdownExecutorError:  # its pool was shut down for another's death, and it may try again
                        waiting.appendleft((piece, deaths))
                        continue
                    if then is not None:
                        waiting.extendleft([(following, 0) for following in then(piece, result)][::-1])
                    yield piece, result
        finally:
            for future in futures:
                future.cancel()

    def _submit(self, packed: bytes, piece: Piece) -> Future[Any]:
        for _ in range(TRIES):
            self._executor = self._executor or self._open()
            try:
                return self._executor.submit(_work, packed, pack(piece))
            except BrokenProcessPool:  # between two submissions
                self._shut_down()
        raise EngineError("Worker processes are killed as soon as they start. Is there too little memory?")

    def map(self, function: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
        early: dict[int, Result] = {}
        following = 0
        for (number, _), result in self.run(_Second(function), list(enumerate(pieces))):
            early[number] = result
            while following in early:
                yield early.pop(following)
                following += 1

    def _shut_down(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False)
        self._executor = None

    def close(self) -> None:
        self._shut_down()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Second:
    """A function of a numbered piece that looks at the piece alone."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, numbered: tuple[int, Any]) -> Any:
        return self.function(numbered[1])


class Processes(_Elsewhere):
    """Processes of this machine, by joblib's loky: they start afresh, and a killed one is replaced."""

    def __init__(self, n_workers: int) -> None:
        super().__init__()
        if n_workers < 1:
            raise EngineError(f"{n_workers} processes; at least 1 is needed.")
        self._n_workers = n_workers

    @property
    def n_workers(self) -> int:
        return self._n_workers

    def _open(self) -> Executor:
        from joblib.externals.loky import ProcessPoolExecutor

        opened: Executor = ProcessPoolExecutor(self._n_workers, env=dict.fromkeys(THREAD_VARIABLES, "1"))
        return opened

    def _shut_down(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, kill_workers=True)  # type: ignore[call-arg]
        self._executor = None


class Cluster(_Elsewhere):
    """The workers of a Dask scheduler. It gives the pieces of a worker that died to another one."""

    def __init__(self, scheduler: str) -> None:
        super().__init__()
        self.scheduler = scheduler
        self._client: Any = None
        self._connect()

    @property
    def n_workers(self) -> int:
        return max(1, len(self._client.nthreads()))

    def _connect(self) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingPartError('The engine "dask" needs Dask: pip install "infonn[cluster]".') from None
        start = f"dask worker {self.scheduler} --nworkers auto --nthreads 1"
        try:
            self._client = distributed.Client(self.scheduler, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise EngineError(
                f"No Dask scheduler answers at {self.scheduler} ({error}). Start one with `dask scheduler`, and its "
                f"workers with `{start}`."
            ) from None
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_S)
            self._check_workers(start)
        except TimeoutError:
            self.close()
            raise EngineError(f"The scheduler at {self.scheduler} has no workers. Start some with `{start}`.") from None
        except BaseException:
            self.close()
            raise

    def _check_workers(self, start: str) -> None:
        """Refuse what would change results: another version of infonn, and pieces that share a process."""
        for address, n_threads in self._client.nthreads().items():
            if n_threads > 1:
                raise EngineError(
                    f"The Dask worker {address} has {n_threads} threads; infonn needs workers of one thread, so that "
                    f"no result depends on them: `{start}`."
                )
        try:
            versions = self._client.run(_version)
        except ModuleNotFoundError as error:
            raise EngineError(f"{error} on the Dask workers: install there what is installed here.") from None
        for address, version in versions.items():
            if version != _version():
                raise EngineError(f"The Dask worker {address} has infonn {version}; here is {_version()}.")

    def _open(self) -> Executor:
        opened: Executor = self._client.get_executor(retries=0)
        return opened

    def run(
        self, function: Callable[[Piece], Result], pieces: Iterable[Piece], then: Then[Piece, Result] | None = None
    ) -> Iterator[tuple[Piece, Result]]:
        from distributed import KilledWorker

        try:
            yield from super().run(function, pieces, then)
        except KilledWorker as error:
            raise EngineError(
                f"Dask gave up: {error.allowed_failures + 1} workers died over the same piece of work. Is there too "
                "little memory? Results until then are kept."
            ) from None

    def close(self) -> None:
        super().close()
        if self._client is not None:
            self._client.close()


def _version() -> str:
    from infonn import __version__

    return __version__


# --- what travels, and what is done with it at the other end ---------------------------------------------


def pack(thing: object) -> bytes:
    """A pickle, of functions without a name, too; arrays that are mapped from files are in it by path."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, part: Any) -> Any:
            if isinstance(part, np.ndarray) and (place := _place_in_file(part)) is not None:
                return _mapped, place
            return super().reducer_override(part)

    packed = io.BytesIO()
    Pickler(packed, protocol=pickle.HIGHEST_PROTOCOL).dump(thing)
    return packed.getvalue()


def travels(thing: object) -> bool:
    """Whether other processes can be given it."""
    try:
        pack(thing)
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True


Place = tuple[str, int, str, int, tuple[int, ...], tuple[int, ...]]  # path, its size, dtype, offset, shape, strides


def _place_in_file(array: Any) -> Place | None:
    """Where in a file the array lies that is mapped from it, be it a part or a view; None where it is in memory."""
    whole: Any = array
    while whole is not None and not (isinstance(whole, np.memmap) and isinstance(whole.base, mmap)):
        whole = getattr(whole, "base", None)
    if whole is None or whole.filename is None or min(array.strides, default=0) < 0 or array.dtype.hasobject:
        return None
    path = Path(whole.filename).resolve()
    if not path.exists():
        raise DataError(f"{path} was mapped and is gone; workers must be able to read it themselves.")
    start = whole.__array_interface__["data"][0]
    offset = whole.offset + array.__array_interface__["data"][0] - start
    return str(path), path.stat().st_size, array.dtype.str, offset, array.shape, array.strides


def _mapped(path: str, size: int, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The array that `_place_in_file` found, mapped anew."""
    try:
        found = Path(path).stat().st_size
    except OSError as error:
        raise DataError(
            f"{path} cannot be read on the worker {node()} ({error.strerror}). Workers read such files "
            "themselves: put it where all of them have it under that path."
        ) from None
    if found != size:
        raise DataError(f"{path} has {found:,} bytes on the worker {node()}, and {size:,} where it is from.")
    return np.ndarray(shape, dtype, np.memmap(path, np.uint8, "r"), offset, strides)


def _work(packed: bytes, piece: bytes) -> Any:
    """At the other end: the function on the piece, with one thread."""
    _use_one_thread()
    return _unpacked(packed)(pickle.loads(piece))


@lru_cache(maxsize=2)  # a function comes with every one of its pieces
def _unpacked(packed: bytes) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = pickle.loads(packed)
    return function


def _use_one_thread() -> None:
    """Libraries that are still to be loaded read variables; those that are there are told."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    _limit_blas()
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(1)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@lru_cache(maxsize=1)
def _limit_blas() -> Any:
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
