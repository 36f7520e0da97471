"""What all requests share: the storage, the gate, the limits, and how long replies took."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np
from fastapi import HTTPException, Request

from infonn.contracts.storage import LiveStorage
from infonn.live.studies import LiveStudies
from infonn.web.security import Gate, RateLimit

_REMEMBERED = 20_000  # replies of each kind whose times are kept


@dataclass(frozen=True)
class Limits:
    """What one client may do. Zero rates switch the limit off."""

    per_session: float = 20.0  # requests a second of one participant
    per_client: float = 10.0  # arrivals a second from one address
    logins_per_minute: float = 10.0  # tries of the owner's token from one address
    upload_bytes: int = 200 << 20
    body_bytes: int = 8 << 20  # of requests that upload nothing


@dataclass
class Timings:
    """Seconds from a request's arrival to its reply, by kind of request."""

    _seconds: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=_REMEMBERED)))

    def add(self, kind: str, seconds: float) -> None:
        self._seconds[kind].append(seconds)

    def summary(self) -> dict[str, dict[str, float]]:
        result = {}
        for kind, kept in list(self._seconds.items()):
            values = np.array(list(kept))
            middle, high, highest = (float(value) for value in np.percentile(values, [50, 95, 99]))
            result[kind] = {"n": float(len(values)), "p50_s": middle, "p95_s": high, "p99_s": highest}
        return result


class Server:
    """Made once per process; the app keeps it in its state."""

    def __init__(self, storage: LiveStorage, public_url: str, limits: Limits) -> None:
        self.storage, self.public_url, self.limits = storage, public_url.rstrip("/"), limits
        self.gate = Gate(storage)
        self.studies = LiveStudies(storage)
        self.timings = Timings()
        self.started_at = time.time()
        self.session_limit = RateLimit(limits.per_session, burst=60)
        self.client_limit = RateLimit(limits.per_client, burst=200)
        self.login_limit = RateLimit(limits.logins_per_minute / 60, burst=10)

    def limit(self, limit: RateLimit, client: str) -> None:
        if not limit.allows(client):
            raise HTTPException(429, "Too many requests. Wait a moment, then go on.", headers={"retry-after": "1"})

    @staticmethod
    def client_of(request: Request) -> str:
        return request.client.host if request.client else ""

    def link(self, key: str) -> str:
        """The participants' link of a study."""
        return f"{self.public_url}/s/{key}"


async def server_of(request: Request) -> Server:  # async: a plain function would cost a change of threads
    server: Server = request.app.state.server
    return server
