"""`infonn bench attack`: how long people wait while a stranger does the worst a stranger can."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import secrets
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np

from infonn.bench.load import LOOPBACK, MAX_SECONDS, Crowd, Visit, visit
from infonn.bench.serve import wait_for_worker
from infonn.bench.servers import free_port, server, wait_until_up
from infonn.errors import DataError
from infonn.live.status import study_status
from infonn.live.transfer import put_study
from infonn.specs.build import items_of, open_live_storage
from infonn.web.plotly import script_path
from infonn.web.server import Limits

_AT_ONCE = 14  # connections on which the stranger sends
_PAUSE_S = 0.05  # between two requests on one of them
_UNFINISHED = 300  # requests left unfinished, all through the attack
_MOST_REQUESTS = 20_000


def bench_attack(
    people: int = 20, seconds: float = 8.0, rounds: int = 3, think_s: float = 0.3, workers: int = 1
) -> dict[str, Any]:
    """Medians of the answers' times, seen from the people, with and without a stranger: rounds of both in turn."""
    times: dict[bool, list[float]] = {False: [], True: []}
    errors, n_sent = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/bench.db"
        storage, port = open_live_storage(url), free_port()
        spec = {"study": {"name": "bench"}, "budget": {"answers": 10**9}, "learner": {"name": "mds"}}
        record = put_study(storage, spec, items_of([(f"item {i}", None) for i in range(60)]), [])
        with server(url, port, folder, workers, at_once_per_client=Limits().at_once_per_client):
            wait_until_up(port)
            if workers:
                wait_for_worker(storage, "bench")
            for number, attacked in itertools.product(range(rounds), (False, True)):
                planned = Visit("127.0.0.1", port, record.key, people, seconds, think_s, seed=2 * number + attacked)
                with stranger_at_work(port, record.key, seconds) if attacked else contextlib.nullcontext([0]) as sent:
                    crowd = asyncio.run(visit(planned, Crowd()))
                times[attacked] += crowd.seconds
                errors, n_sent = errors + crowd.failed + len(crowd.refused), n_sent + sent[0]
            status = study_status(storage, storage.study("bench"))
    quiet, attacked_s = (float(np.median(times[kind])) for kind in (False, True))
    return {
        "people": people,
        "seconds": seconds * rounds,
        "quiet_p50_s": quiet,
        "attacked_p50_s": attacked_s,
        "ratio": attacked_s / quiet,
        "quiet_p95_s": float(np.percentile(times[False], 95)),
        "attacked_p95_s": float(np.percentile(times[True], 95)),
        "stranger_requests": n_sent,
        "errors": errors,
        "fallback_share": status.fallback_share,
    }


@contextlib.contextmanager
def stranger_at_work(port: int, key: str, seconds: float) -> Any:
    """A stranger in a process of its own, for so long; the list holds the number of its requests once it has ended."""
    context = multiprocessing.get_context("spawn")
    number = context.Value("l", 0)
    process = context.Process(target=_attack, args=("127.0.0.1", port, key, seconds, number), daemon=True)
    process.start()
    sent = [0]
    try:
        yield sent
    finally:
        process.join(seconds + 10)
        process.kill()
        sent[0] = int(number.value)


def _attack(host: str, port: int, key: str, seconds: float, number: Any) -> None:
    number.value = asyncio.run(Stranger(host, port, key, seconds).work())


def _another_address() -> tuple[str, int] | None:
    """An address of this machine that is not the people's; None where there is but one."""
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.2", 0))
        except OSError:
            return None
    return ("127.0.0.2", 0)


class Stranger:
    """Somebody with the participants' link and no good in mind: large bodies, odd paths, arrivals, requests without
    end or by the thousand, replies that nobody reads."""

    def __init__(self, host: str, port: int, key: str, seconds: float) -> None:
        if host not in LOOPBACK or not 0 < seconds <= MAX_SECONDS:
            raise DataError(f"The stranger only talks to this machine, for at most {MAX_SECONDS:.0f} s.")
        self.host, self.port, self.key = host, port, key
        self.end, self.n_sent = time.monotonic() + seconds, 0
        self.local = _another_address()

    async def work(self) -> int:
        """Attack until the time is over; how many requests were sent."""
        lazy = [self._forever(self._leave_unfinished, 5.0) for _ in range(_UNFINISHED)]
        ways = itertools.cycle(
            (
                *(self._large_login, self._large_patch, self._odd_path, self._arrive, self._garbage),
                *(self._send_ahead, self._read_nothing),
            )
        )
        busy = [self._forever(way, _PAUSE_S) for _, way in zip(range(_AT_ONCE), ways)]
        await asyncio.gather(*lazy, *busy)
        return self.n_sent

    async def _forever(self, act: Callable[[], Awaitable[None]], pause_s: float) -> None:
        while time.monotonic() < self.end and self.n_sent < _MOST_REQUESTS:
            self.n_sent += 1
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(act(), max(0.1, self.end - time.monotonic()))
            await asyncio.sleep(pause_s)

    async def _large_login(self) -> None:
        await self._send("POST", "/api/login", b"[]," * (8 << 18), "content-type: application/json")

    async def _large_patch(self) -> None:
        await self._send("PATCH", "/api/studies/restore", b"[]," * (20 << 20), "content-type: application/json")

    async def _odd_path(self) -> None:
        await self._send("POST", f"/api/p/x/{secrets.token_hex(8)}", b"{}", "content-type: application/json")

    async def _arrive(self) -> None:
        await self._send("POST", f"/api/p/{self.key}/session", b"{}", "content-type: application/json")

    async def _garbage(self) -> None:
        headers = f"authorization: Bearer {secrets.token_hex(20)}\r\ncookie: infonn_owner=\xff.\xff"
        await self._send("GET", "/api/studies", b"", headers)

    async def _send_ahead(self) -> None:
        """Thousands of requests in one packet."""
        reader, writer = await self._connect()
        writer.write(b"GET /s/x HTTP/1.1\r\nhost: x\r\n\r\n" * 5000)
        try:
            await reader.read(100)
        finally:
            writer.close()

    async def _read_nothing(self) -> None:
        """Ask for something large, and leave it to the server to keep it."""
        _, writer = await self._connect()
        writer.write(f"GET {script_path()} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        try:
            await asyncio.sleep(5.0)
        finally:
            writer.close()

    async def _leave_unfinished(self) -> None:
        reader, writer = await self._connect()
        writer.write(b"POST /api/login HTTP/1.1\r\nhost: x\r\nx-slow: ")
        try:
            await reader.read(100)
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port, local_addr=self.local)

    async def _send(self, method: str, path: str, body: bytes, headers: str) -> None:
        reader, writer = await self._connect()
        length = f"content-length: {len(body)}\r\nconnection: close"
        writer.write(f"{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n{length}\r\n\r\n".encode("latin-1"))
        try:
            for start in range(0, len(body), 1 << 18):  # until the server hangs up
                writer.write(body[start : start + (1 << 18)])
                await writer.drain()
            await reader.read(1 << 16)
        finally:
            writer.close()
