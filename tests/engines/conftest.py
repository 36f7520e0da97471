"""A Dask scheduler and two workers as processes of their own, and the engines that every test runs on."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from infonn.bench.servers import free_port
from infonn.engines import Cluster, Engine, Here, Processes

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def scheduler(tmp_path_factory):
    """The address of a scheduler that has two workers of one thread each."""
    folder, port = tmp_path_factory.mktemp("dask"), free_port()
    address = f"tcp://127.0.0.1:{port}"
    common = ["--no-dashboard", "--host", "127.0.0.1"]
    commands = [
        ["distributed.cli.dask_scheduler", "--port", str(port), *common],
        ["distributed.cli.dask_worker", address, "--nworkers", "2", "--nthreads", "1", "--memory-limit", "0", *common],
    ]
    settings = {
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s",
    }
    started = []
    with (folder / "log").open("ab") as log:
        for words in commands:
            command = [sys.executable, "-m", *words]
            environment = {**os.environ, **settings}
            started.append(
                subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, env=environment, start_new_session=True)
            )
            time.sleep(0.1)
    yield address
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)  # nothing of it is to be kept, and a farewell takes seconds
        process.wait(20)


@pytest.fixture(scope="session")
def opened():
    """Engines by name, opened when they are first asked for."""
    with ExitStack() as stack:
        engines: dict[str, Engine] = {}

        def open_once(name, make):
            if name not in engines:
                engines[name] = stack.enter_context(make())
            return engines[name]

        yield open_once


@pytest.fixture(params=["here", "one process", "two processes", "dask"])
def engine(request, opened):
    """Each engine in turn."""
    if request.param == "here":
        return Here()
    return opened(request.param, MAKERS[request.param](request))


@pytest.fixture(params=["two processes", "dask"])
def elsewhere(request, opened):
    """The engines whose workers can be killed."""
    return opened(request.param, MAKERS[request.param](request))


MAKERS = {
    "one process": lambda request: partial(Processes, 1),
    "two processes": lambda request: partial(Processes, 2),
    "dask": lambda request: partial(Cluster, request.getfixturevalue("scheduler")),
}
