"""Connections: so many per address, and each has so long to say what it wants and to take what it asked for."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from infonn.web.security import client_key
from infonn.web.server import Limits

HEAD_S = 10.0  # from the first byte of a request (or the connection) to the end of its headers
READ_S = 20.0  # in which a client who was sent more than it has taken must take some of it
_LEAST_READ = 16 << 10  # bytes
_MOST_HEAD_BYTES = 64 << 10
_MOST_HEADERS = 100
_MOST_WAITING = 16  # requests that came on one connection before those ahead of them were answered


def guarded_protocol(limits: Limits, head_s: float = HEAD_S, read_s: float = READ_S) -> type[HttpToolsProtocol]:
    """uvicorn's own protocol, with limits on how many connections there are, and what each may keep us busy with."""
    held: Counter[str] = Counter()

    class Guarded(HttpToolsProtocol):
        _address = ""
        _deadline: asyncio.TimerHandle | None = None
        _reader_watch: asyncio.TimerHandle | None = None
        _head_bytes = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._address = client_key(self.client[0]) if self.client else ""
            held[self._address] += 1
            if 0 < limits.connections_per_client < held[self._address]:
                transport.abort()
                return
            self._wait_for_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_is_here()
            self._end_reader_watch()
            held[self._address] -= 1
            if held[self._address] <= 0:
                del held[self._address]
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._is_idle() and self._deadline is None:
                self._wait_for_head()
            super().data_received(data)
            if not self._is_idle():
                self._head_is_here()
                return
            self._head_bytes += len(data)
            if self._head_bytes > _MOST_HEAD_BYTES:
                self.transport.abort()

        def on_message_begin(self) -> None:
            if len(self.pipeline) >= _MOST_WAITING:
                raise ValueError("too many requests wait on this connection")  # uvicorn replies 400 and hangs up
            super().on_message_begin()

        def on_header(self, name: bytes, value: bytes) -> None:
            if len(self.headers) >= _MOST_HEADERS or len(value) > _MOST_HEAD_BYTES:
                raise ValueError("too many headers")
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._head_is_here()
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            unread = self.cycle is not None and self.cycle.more_body
            super().on_response_complete()
            if unread and not self.pipeline:  # answered before the body was here: nobody will read the rest
                self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch_reader()

        def resume_writing(self) -> None:
            self._end_reader_watch()
            super().resume_writing()

        def _watch_reader(self, unsent: float = math.inf) -> None:
            """Hang up on a client who takes nothing of what it was sent: until then we keep it in memory."""
            left = self.transport.get_write_buffer_size()
            if left > unsent - _LEAST_READ:
                self.transport.abort()
                return
            self._reader_watch = self.loop.call_later(read_s, self._watch_reader, left)

        def _end_reader_watch(self) -> None:
            if self._reader_watch is not None:
                self._reader_watch.cancel()
                self._reader_watch = None

        def timeout_keep_alive_handler(self) -> None:
            if self.transport.get_write_buffer_size():  # `close` would wait until it is taken
                self.transport.abort()
            super().timeout_keep_alive_handler()

        def _is_idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _wait_for_head(self) -> None:
            self._deadline = self.loop.call_later(head_s, self._too_slow)

        def _head_is_here(self) -> None:
            self._head_bytes = 0
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _too_slow(self) -> None:
            self._deadline = None
            if not self.transport.is_closing():
                self.transport.abort()

    return Guarded
