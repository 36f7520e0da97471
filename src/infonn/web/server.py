"""What all requests share: the storage, credentials, limits, and how long replies took."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
from fastapi import HTTPException, Request

from infonn.contracts.storage import LiveStorage
from infonn.live.studies import LiveStudies
from infonn.web.newcomers import Newcomers
from infonn.web.outgoing import Outgoing
from infonn.web.security import Credentials, RateLimit, client_key
from infonn.web.turns import Turns

_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(:\d{1,5})?|\[[0-9a-fA-F:.]{2,45}\](:\d{1,5})?")
TIMED = ("session", "questions", "answers", "undo")  # kinds of requests whose times are kept
_REMEMBERED = 20_000  # replies of each kind
_HEALTH_S = 1.0  # a storage that takes longer does not answer


@dataclass(frozen=True)
class Limits:
    """What one client may do, and how large and slow a request may be. A rate or number of 0 is no limit."""

    at_once_per_client: int = 4  # requests from one address that are worked on; more wait until one of them is done
    per_session: float = 20.0  # requests a second of one participant
    per_client: float = 5.0  # arrivals a second from one address, after the first 200
    logins_per_minute: float = 10.0  # tries of a token from one address
    connections_per_client: int = 600  # open at once from one address
    upload_bytes: int = 200 << 20  # images of a study, a whole study, earlier answers
    body_bytes: int = 8 << 20  # a study sent as JSON
    small_body_bytes: int = 64 << 10  # everything else
    body_s: float = 15.0  # until a body is here
    upload_s: float = 900.0  # until an upload is here
    upload_idle_s: float = 30.0  # the longest silence in an upload
    uploads_at_once: int = 4
    newcomers_with_chosen: int = 8  # people without an answer who hold chosen questions at the same time, by study


@dataclass
class Timings:
    """Seconds from a request's arrival to its reply, by kind of request."""

    _seconds: dict[str, deque[float]] = field(
        default_factory=lambda: {kind: deque(maxlen=_REMEMBERED) for kind in TIMED}
    )
    n_replies: dict[int, int] = field(default_factory=dict)  # status -> replies

    def add(self, kind: str, seconds: float) -> None:
        if kind in self._seconds:
            self._seconds[kind].append(seconds)

    def count(self, status: int) -> None:
        self.n_replies[status] = self.n_replies.get(status, 0) + 1

    def summary(self) -> dict[str, dict[str, float]]:
        result = {}
        for kind, seconds in self._seconds.items():
            if values := list(seconds):
                middle, high, highest = (float(value) for value in np.percentile(values, [50, 95, 99]))
                result[kind] = {"n": float(len(values)), "p50_s": middle, "p95_s": high, "p99_s": highest}
        return result


class Server:
    """Made once per process; the app keeps it in its state."""

    def __init__(
        self,
        storage: LiveStorage,
        public_url: str,
        limits: Limits,
        secret: bytes | None = None,
        link_warning: str | None = None,
        ask_proxy: bool = False,
    ) -> None:
        self.storage, self.public_url, self.limits = storage, public_url.rstrip("/"), limits
        self.link_warning, self._ask_proxy = link_warning, ask_proxy
        self.credentials = Credentials(storage, secret or secrets.token_bytes(32))
        self.studies = LiveStudies(storage)
        self.timings = Timings()
        self.started_at = time.time()
        self.session_limit = RateLimit(limits.per_session, burst=60)
        self.client_limit = RateLimit(limits.per_client, burst=200)
        self.login_limit = RateLimit(limits.logins_per_minute / 60, burst=10)
        self.newcomers = Newcomers(limits.newcomers_with_chosen)
        self.turns = Turns(limits.at_once_per_client)
        self.outgoing = Outgoing()
        self._n_uploads = 0
        self._health = ThreadPoolExecutor(1, "health")
        self._health_asked: Future[str | None] | None = None

    def limit(self, limit: RateLimit, client: str) -> None:
        if not limit.allows(client):
            raise HTTPException(429, "Too many requests. Wait a moment, then go on.", headers={"retry-after": "1"})

    @staticmethod
    def client_of(request: Request) -> str:
        return client_key(request.client.host) if request.client else ""

    @asynccontextmanager
    async def upload(self) -> AsyncIterator[None]:
        """Room for one upload on this server's disk."""
        if 0 < self.limits.uploads_at_once <= self._n_uploads:
            raise HTTPException(429, "Other uploads are under way. Try again in a moment.", {"retry-after": "10"})
        self._n_uploads += 1
        try:
            yield
        finally:
            self._n_uploads -= 1

    async def storage_answers(self) -> bool:
        """Whether the storage answers within a second; a question it has not answered yet is not asked again."""
        if self._health_asked is None:
            self._health_asked = self._health.submit(self.storage.setting, "health")
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._health_asked)), _HEALTH_S)
        except TimeoutError:
            return False
        except Exception:
            self._health_asked = None
            return False
        self._health_asked = None
        return True

    def url(self, request: Request) -> str:
        """How people reach this server: as a trusted proxy says, where nobody said it before."""
        if not self._ask_proxy:
            return self.public_url
        host = request.headers.get("x-forwarded-host", "").partition(",")[0].strip() or request.headers.get("host", "")
        return f"{request.url.scheme}://{host}" if _HOST.fullmatch(host) else self.public_url

    def link(self, key: str, request: Request) -> str:
        """The participants' link of a study."""
        return f"{self.url(request)}/s/{key}"


async def server_of(request: Request) -> Server:  # async: a plain function would cost a change of threads
    server: Server = request.app.state.server
    return server
