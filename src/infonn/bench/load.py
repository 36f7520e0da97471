"""A crowd at a server on this machine: people who arrive, think, answer, and send again what was not acknowledged."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from infonn.errors import DataError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_SECONDS, MAX_PEOPLE = 600.0, 2000
_REPLY_S = 30.0  # a reply that takes longer counts as lost, and is asked for again


@dataclass
class Crowd:
    """What a crowd saw. `acknowledged` maps the id of every answer that got a 200 to what was answered."""

    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)  # of each acknowledged answer, seen from the client
    refused: list[str] = field(default_factory=list)  # replies of 400 to 499: the crowd did something wrong
    failed: int = 0  # replies of 500 and above, and connections that broke
    finished: int = 0  # people who were told that there is no more


@dataclass(frozen=True)
class Visit:
    """So many people for so long; each thinks for about `think_s`, at least 0.2 s where it is not 0."""

    host: str
    port: int
    key: str
    people: int
    seconds: float
    think_s: float = 0.75
    seed: int = 0

    def __post_init__(self) -> None:
        if self.host not in LOOPBACK:
            raise DataError(f"The load generator only talks to this machine (127.0.0.1), and not to {self.host}.")
        if not 0 < self.seconds <= MAX_SECONDS or not 0 < self.people <= MAX_PEOPLE:
            raise DataError(
                f"At most {MAX_PEOPLE} people for {MAX_SECONDS:.0f} s; not {self.people} for {self.seconds} s."
            )


async def visit(planned: Visit, crowd: Crowd, stop: asyncio.Event | None = None) -> Crowd:
    """Let the crowd answer until the time is over, or `stop` is set; what is under way is brought to its end."""
    end = time.monotonic() + planned.seconds
    stop = stop or asyncio.Event()
    rngs = [np.random.default_rng([planned.seed, i]) for i in range(planned.people)]
    await asyncio.gather(*(_Person(planned, crowd, rng, end, stop).live() for rng in rngs))
    return crowd


class _Person:
    def __init__(self, planned: Visit, crowd: Crowd, rng: np.random.Generator, end: float, stop: asyncio.Event) -> None:
        self.planned, self.crowd, self.rng, self.end, self.stop = planned, crowd, rng, end, stop
        self.session = ""
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def live(self) -> None:
        try:
            await asyncio.sleep(self.rng.random() * max(self.planned.think_s, 0.05))
            turn = await self._post("session", {})
            if turn is None:
                return
            self.session, respondent = turn["session"], turn["respondent"]
            while not self._over():
                if not turn["questions"]:
                    self.crowd.finished += 1
                    return
                await asyncio.sleep(self._thinking())
                question = turn["questions"][0]
                options = question["options"]
                body = {
                    "id": str(uuid.UUID(bytes=self.rng.bytes(16), version=4)),
                    "question": question["id"],
                    "response": options[int(self.rng.integers(len(options)))]["response"],
                    "response_time_s": 0.75,
                }
                started = time.monotonic()
                turn = await self._post("answers", body)
                if turn is None:
                    return
                self.crowd.seconds.append(time.monotonic() - started)
                self.crowd.acknowledged[body["id"]] = {**body, "respondent": respondent}
        finally:
            self._hang_up()

    def _over(self) -> bool:
        return time.monotonic() > self.end or self.stop.is_set()

    def _thinking(self) -> float:
        if not self.planned.think_s:
            return 0.0
        return max(0.2, float(self.rng.normal(self.planned.think_s, self.planned.think_s / 3)))

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """The reply; a request that broke is sent again, as it is. None when it was refused, or time has run out."""
        patience = self.end + 60
        while time.monotonic() < patience:
            try:
                status, reply = await asyncio.wait_for(self._exchange(path, body), _REPLY_S)
            except (TimeoutError, OSError, asyncio.IncompleteReadError, ValueError):
                self._hang_up()
                self.crowd.failed += 1
                await asyncio.sleep(0.1)
                continue
            if status == 200:
                return reply
            if status >= 500 or status == 429:
                self.crowd.failed += 1
                await asyncio.sleep(0.2)
                continue
            self.crowd.refused.append(f"{status}: {reply.get('detail')}")
            return None
        return None

    async def _exchange(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.streams is None:
            self.streams = await asyncio.open_connection(self.planned.host, self.planned.port)
        reader, writer = self.streams
        data = json.dumps(body).encode()
        head = [
            f"POST /api/p/{self.planned.key}/{path} HTTP/1.1",
            f"Host: {self.planned.host}:{self.planned.port}",
            "Content-Type: application/json",
            f"Content-Length: {len(data)}",
        ]
        if self.session:
            head.append(f"Authorization: Bearer {self.session}")
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + data)
        await writer.drain()
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        reply = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self._hang_up()
        return int(lines[0].split()[1]), json.loads(reply or b"{}")

    def _hang_up(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None
