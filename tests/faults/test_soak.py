"""A server under people and a stranger for half an hour: what it takes of memory stays as it is."""

import asyncio
import itertools
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from infonn.bench.attack import stranger_at_work
from infonn.bench.load import Crowd, Visit, visit
from infonn.bench.servers import free_port, server, wait_until_up
from infonn.live.transfer import put_study
from infonn.specs.build import items_of, open_live_storage
from threads import in_thread

MOST_GROWTH_MB = 40.0


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def memory_over(seconds: float, folder: Path, every_s: float) -> list[float]:
    """The server's memory while people answer and a stranger attacks; measured once it has warmed up."""
    url, port, measured = f"sqlite:///{folder}/study.db", free_port(), []
    storage = open_live_storage(url)
    spec = {"study": {"name": "s"}, "learner": {"name": "mds"}, "budget": {"answers": 10**9}}
    record = put_study(storage, spec, items_of([(f"item {i}", None) for i in range(100)]), [])
    running, over = server(url, port, folder, workers=1), threading.Event()
    with running:
        wait_until_up(port)
        pid = running.process.pid

        def measure() -> None:
            while not over.wait(every_s):
                measured.append(resident_mb(pid))

        watch = threading.Thread(target=measure, daemon=True)
        end = time.monotonic() + seconds
        for number in itertools.count():
            left = min(120.0, end - time.monotonic())
            if left <= 0.5:
                break
            with stranger_at_work(port, record.key, left):
                planned = Visit("127.0.0.1", port, record.key, 10, left, 0.5, seed=number)
                crowd = in_thread(asyncio.run, visit(planned, Crowd()))
            assert crowd.refused == []
            if number == 0:
                watch.start()
        over.set()
        watch.join(10)
    storage.close()
    return measured


@pytest.mark.slow
@pytest.mark.timeout(2700)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_memory_is_flat_over_half_an_hour(tmp_path) -> None:
    measured = memory_over(1800.0, tmp_path, every_s=10.0)
    third = len(measured) // 3
    assert np.median(measured[-third:]) - np.median(measured[:third]) < MOST_GROWTH_MB, measured[::6]
