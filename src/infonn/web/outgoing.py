"""What goes out: large replies, of which one client keeps only so much in this server's memory by reading slowly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from fastapi import HTTPException, Response
from starlette.types import Receive, Scope, Send

_MOST_BYTES = 64 << 20  # on their way to one client: some hundred images
_AT_ONCE = 64 << 10  # bytes that are given to the connection, which then waits for its reader


class Outgoing:
    """Counts the bytes of large replies on their way, by client."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most, self._bytes = most_bytes, Counter[str]()

    def reply(self, client: str, data: bytes, media_type: str, headers: Mapping[str, str]) -> Response:
        """A reply of these bytes; refused while the client has too many others to read. One of any size may go."""
        if self._bytes[client] and self._bytes[client] + len(data) > self._most:
            raise HTTPException(429, "Read what was sent before you ask for more.", {"retry-after": "5"})
        return _Counted(self._bytes, client, data, media_type, headers)


class _Counted(Response):
    def __init__(
        self, on_their_way: Counter[str], client: str, data: bytes, media_type: str, headers: Mapping[str, str]
    ) -> None:
        super().__init__(data, headers=dict(headers), media_type=media_type)
        self._on_their_way, self._client = on_their_way, client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        data = memoryview(self.body)
        self._on_their_way[self._client] += len(data)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            for start in range(0, max(len(data), 1), _AT_ONCE):
                part, end = bytes(data[start : start + _AT_ONCE]), start + _AT_ONCE
                await send({"type": "http.response.body", "body": part, "more_body": end < len(data)})
        finally:
            self._on_their_way[self._client] -= len(data)
            if self._on_their_way[self._client] <= 0:
                del self._on_their_way[self._client]
