"""Servers, workers and crowds that the fault tests kill, cut off and start again."""

import asyncio
import threading
import time

import numpy as np
import pytest

from infonn.bench.load import Crowd, Visit, visit
from infonn.bench.servers import free_port, server, wait_until_up, worker
from infonn.live.transfer import put_study
from infonn.specs.build import items_of, load_study, open_live_storage

N_ITEMS = 20


class Field:
    """A study on a database, with a server and a worker as processes of their own."""

    def __init__(self, url: str, folder, n_people: int = 20, claim_s: float = 2.0, environment=None) -> None:
        self.url, self.folder, self.n_people = url, folder, n_people
        self.storage = open_live_storage(url)
        spec = {
            "study": {"name": "s", "seed": 5},
            "queries": {"first": 10},
            "learner": {"name": "mds"},
            "budget": {"answers": 10**6},
            "people": {"hold_out": 0.1, "prefetch": 1},
        }
        items = items_of([(f"item {i}", None) for i in range(N_ITEMS)])
        self.record = put_study(self.storage, spec, items, [])
        self.port = free_port()
        self.server = server(url, self.port, folder, environment=environment)
        self.worker = worker(url, folder, claim_s, environment=environment)
        self.crowd, self._stop, self._thread = Crowd(), None, None

    def start(self) -> None:
        self.server.start()
        self.worker.start()
        wait_until_up(self.port)

    def people_arrive(self, seconds: float = 240.0, think_s: float = 0.02, seed: int = 0) -> None:
        """A crowd in a thread of its own, which answers until `people_leave`."""
        ready = threading.Event()

        def run() -> None:
            async def live() -> None:
                self._stop, self._loop = asyncio.Event(), asyncio.get_running_loop()
                ready.set()
                planned = Visit("127.0.0.1", self.port, self.record.key, self.n_people, seconds, think_s, seed)
                await visit(planned, self.crowd, self._stop)

            asyncio.run(live())

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        ready.wait()

    def wait_for_answers(self, n: int, seconds: float = 60.0) -> None:
        """Until the crowd has `n` more answers acknowledged."""
        goal, end = len(self.crowd.acknowledged) + n, time.monotonic() + seconds
        while len(self.crowd.acknowledged) < goal:
            assert time.monotonic() < end, f"{len(self.crowd.acknowledged)} of {goal} answers: {self.logs()}"
            time.sleep(0.02)

    def people_leave(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(90)
        assert not self._thread.is_alive(), "somebody never got a reply"

    def check_nothing_lost(self) -> None:
        """Every acknowledged answer is there exactly once, as it was given; nobody answered a question twice."""
        assert self.crowd.refused == []
        kept = self.storage.answers("s", None, everything=True)
        ids = [pair.answer.id for pair in kept]
        assert len(ids) == len(set(ids))
        assert [pair.answer.number for pair in kept] == list(range(1, len(kept) + 1))
        by_id = {pair.answer.id: pair.answer for pair in kept}
        for name, given in self.crowd.acknowledged.items():
            stored = by_id[name]
            assert (stored.question_id, stored.response) == (given["question"], given["response"])
            assert stored.respondent == given["respondent"]
        pairs = [(pair.answer.question_id, pair.answer.respondent) for pair in kept if not pair.answer.undone]
        assert len(pairs) == len(set(pairs))
        keys = [(pair.answer.respondent, pair.question.query[0], frozenset(pair.question.query[1:])) for pair in kept]
        assert len(keys) == len(set(keys)), "somebody was asked the same query twice"

    def check_model_is_a_fresh_fit(self, seconds: float = 90.0) -> None:
        """What is reported follows from the stored answers alone."""
        end = time.monotonic() + seconds
        while True:
            kept = self.storage.load_model("s")
            if kept is not None and tuple(kept[1]["revision"]) == self.storage.revision("s"):
                break
            assert time.monotonic() < end, f"the worker never reported: {self.logs()}"
            time.sleep(0.05)
        np.testing.assert_array_equal(kept[1]["embedding"], load_study(self.storage, "s").belief().embedding)

    def logs(self) -> str:
        return "\n".join(path.read_text()[-3000:] for path in sorted(self.folder.glob("*.log")))

    def close(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self.server.kill()
        self.worker.kill()
        self.storage.close()


@pytest.fixture
def field(database_url, tmp_path):
    """A study on each kind of database."""
    made = Field(database_url, tmp_path)
    yield made
    made.close()


@pytest.fixture
def sqlite_field(tmp_path):
    made = Field(f"sqlite:///{tmp_path}/study.db", tmp_path)
    yield made
    made.close()
