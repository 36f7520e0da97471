"""Connections: so many per address, and each has so long to say what it wants."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from infonn.web.security import client_key
from infonn.web.server import Limits

HEAD_S = 10.0  # from the first byte of a request (or the connection) to the end of its headers
_MOST_HEAD_BYTES = 64 << 10


def guarded_protocol(limits: Limits, head_s: float = HEAD_S) -> type[HttpToolsProtocol]:
    """uvicorn's own protocol, with limits on how many connections there are and how slow a request may be."""
    held: Counter[str] = Counter()

    class Guarded(HttpToolsProtocol):
        _address = ""
        _deadline: asyncio.TimerHandle | None = None
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

        def on_headers_complete(self) -> None:
            self._head_is_here()
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            unread = self.cycle is not None and self.cycle.more_body
            super().on_response_complete()
            if unread and not self.pipeline:  # answered before the body was here: nobody will read the rest
                self.transport.close()

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
