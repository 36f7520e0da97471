"""Turns: requests of one address wait for one another, so that a flood from it is waited for by nobody else."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import Message, Receive, Send


class Turns:
    """Of each client so many requests are worked on at the same time; the next begins when one of them is done.

    With 0 nobody waits. Used on one event loop alone."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._busy: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[Turn]:
        turn = Turn(self, client)
        await self.begin(client)
        try:
            yield turn
        finally:
            if not turn.n_outside:
                self.end(client)

    async def begin(self, client: str) -> None:
        if self._at_once <= 0:
            return
        if self._busy[client] < self._at_once:
            self._busy[client] += 1
            return
        mine = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # its turn came at that very moment
                self.end(client)
            raise

    def end(self, client: str) -> None:
        if self._at_once <= 0:
            return
        waiting = self._waiting.get(client, deque())
        while waiting:
            following = waiting.popleft()
            if not following.done():
                following.set_result(None)
                return
        self._waiting.pop(client, None)
        self._busy[client] -= 1
        if self._busy[client] <= 0:
            del self._busy[client]


class Turn:
    """One request's turn, which others may use while it waits for its client."""

    def __init__(self, turns: Turns, client: str) -> None:
        self._turns, self._client, self.n_outside = turns, client, 0

    def receiving(self, receive: Receive) -> Receive:
        return lambda: self._outside(receive)

    def sending(self, send: Send) -> Send:
        async def send_in_turn(message: Message) -> None:
            if message.get("more_body"):  # the next part waits until the client has read this one
                await self._outside(send, message)
            else:
                await send(message)

        return send_in_turn

    async def _outside(self, wait: Callable[..., Awaitable[Any]], *given: Any) -> Any:
        if not self.n_outside:
            self._turns.end(self._client)
        self.n_outside += 1
        try:
            return await wait(*given)
        finally:
            if self.n_outside == 1:
                await self._turns.begin(self._client)  # cancelled meanwhile, it stays outside
            self.n_outside -= 1
