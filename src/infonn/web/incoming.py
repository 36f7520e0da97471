"""What comes in: who sends it is known before a body is read, and a body is read within limits of size and time."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.types import Message, Receive

from infonn.web.server import Server

UPLOADS = ("/api/studies/upload", "/api/studies/restore", "/api/studies/{name}/import")
_ON_THE_LOOP = 4 << 10  # bytes: what takes less than a millisecond to parse, whatever it is
_MOST_VALUES = 1_000_000  # of one JSON body: more would keep everybody waiting while it is parsed
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_MAYBE_INFINITE = re.compile(rb"[0-9.][eE]\+?[0-9]{3}|(?<![0-9])[0-9]{300}")  # looks at each digit once

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRoute(APIRoute):
    """A route that calls `admit` before anything of the body is read, and then reads no more than the route allows."""

    async def admit(self, request: Request, server: Server) -> None:
        """Raise for whoever may not come in."""

    async def done(self, request: Request, server: Server) -> None:
        """Called once the request has been served."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            server: Server = request.app.state.server
            try:
                await self.admit(request, server)
                body = BodyLimit.of(self.path, server)
                body.check_announced(request.headers.get("content-length", ""))
                limited = LimitedRequest(request.scope, body.reading(request.receive))
                async with server.upload() if self.path in UPLOADS else nullcontext():
                    reply = await handle(limited)
                await self.done(request, server)
                return reply
            except HTTPException as error:
                if error.status_code in (401, 403, 408, 413, 429):  # what is left of the body is not worth reading
                    error.headers = {**(error.headers or {}), "connection": "close"}
                raise

        return guarded


class BodyLimit:
    """Bytes and seconds that one body may take; `idle_s` is the longest silence within it."""

    def __init__(self, n_bytes: int, seconds: float, idle_s: float) -> None:
        self.n_bytes, self.seconds, self.idle_s = n_bytes, seconds, idle_s

    @classmethod
    def of(cls, path: str, server: Server) -> BodyLimit:
        limits = server.limits
        if path in UPLOADS:
            return cls(limits.upload_bytes, limits.upload_s, limits.upload_idle_s)
        n_bytes = limits.body_bytes if path == "/api/studies" else min(limits.body_bytes, limits.small_body_bytes)
        return cls(n_bytes, limits.body_s, limits.body_s)

    def check_announced(self, length: str) -> None:
        if length.isdecimal() and length.isascii() and (len(length) > 15 or int(length) > self.n_bytes):
            raise self._too_large()

    def reading(self, receive: Receive) -> Receive:
        """`receive`, which raises once the body has become too large or too slow."""
        started, seen = time.monotonic(), 0

        async def receive_within_limits() -> Message:
            nonlocal seen
            left = min(self.idle_s, started + self.seconds - time.monotonic())
            try:
                message = await asyncio.wait_for(receive(), max(0.0, left)) if math.isfinite(left) else await receive()
            except TimeoutError:
                raise HTTPException(408, "The request took too long to arrive; nothing of it was stored.") from None
            seen += len(message.get("body", b""))
            if seen > self.n_bytes:
                raise self._too_large()
            return message

        return receive_within_limits

    def _too_large(self) -> HTTPException:
        return HTTPException(413, f"The request is larger than {self.n_bytes / 1024:,.0f} KiB.")


class LimitedRequest(Request):
    """A request whose JSON every storage can hold; a long one is parsed off the event loop."""

    async def json(self) -> Any:
        body = await self.body()
        if len(body) <= _ON_THE_LOOP:
            return parse_json(body)
        return await run_in_threadpool(lambda: parse_json(body))


def parse_json(body: bytes) -> Any:
    """The JSON in `body`; refused with 422 where it is none, or holds what a database cannot: NaN, 1e999, NUL, ..."""
    if body.count(b",") > _MOST_VALUES:
        raise _unreadable(f"it has more than {_MOST_VALUES:,} values")
    try:
        parsed = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise _unreadable(str(error)) from None
    if b"\\u0000" in body and _NUL.search(body):
        raise _unreadable("it has a NUL character (\\u0000), which no storage holds")
    if _MAYBE_INFINITE.search(body) and not _is_finite(parsed):
        raise _unreadable("it has a number beyond what a computer's numbers hold, such as 1e999")
    if body.count(b"{") + body.count(b"[") > _DEEPEST and _depth(parsed) > _DEEPEST:
        raise _unreadable(f"it is nested more than {_DEEPEST} deep")
    return parsed


_DEEPEST = 60  # levels of nesting; a study's tables have three or four


def _unreadable(reason: str) -> HTTPException:
    return HTTPException(422, f"The JSON cannot be read: {reason}.")


def _is_finite(parsed: Any) -> bool:
    try:
        json.dumps(parsed, allow_nan=False)
    except ValueError:
        return False
    return True


def _depth(parsed: Any) -> int:
    """Levels of nesting, counted up to one more than is taken."""
    depth, level = 0, [parsed]
    while level and depth <= _DEEPEST:
        inside = [value for value in level if isinstance(value, dict | list)]
        level = [entry for value in inside for entry in (value.values() if isinstance(value, dict) else value)]
        depth += bool(inside)
    return depth
