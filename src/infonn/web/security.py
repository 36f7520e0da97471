"""Who may do what: the owner's token, participants' sessions, limits per client, and headers on every reply."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from infonn.contracts.storage import LiveStorage

_OWNER = "owner_token_sha256"
_SECRET = "session_secret"
LOGIN_S = 30 * 86_400.0
COOKIE = "infonn_owner"

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; style-src 'self'; "
        "script-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


# --- the owner -------------------------------------------------------------------------------------


def first_owner_token(storage: LiveStorage) -> str | None:
    """A new owner token where the storage has none yet, to be shown once; only its hash is kept."""
    return None if storage.setting(_OWNER) else reset_owner_token(storage)


def reset_owner_token(storage: LiveStorage) -> str:
    """A new owner token; the old one and every login made with it end."""
    token = secrets.token_urlsafe(32)
    storage.setting(_OWNER, _hash(token))
    return token


class Gate:
    """Checks tokens against the storage; hashes are compared in constant time."""

    def __init__(self, storage: LiveStorage) -> None:
        self._storage = storage
        if storage.setting(_SECRET) is None:
            storage.setting(_SECRET, secrets.token_hex(32))
        self._secret = (storage.setting(_SECRET) or "").encode()

    def is_owner(self, token: str) -> bool:
        return hmac.compare_digest(_hash(token), self._storage.setting(_OWNER) or "-")

    def login(self, now: float) -> str:
        """The value of the owner's cookie: good for a month, or until the token is reset."""
        until = int(now + LOGIN_S)
        return f"{until}.{self._sign(f'owner/{until}/{self._storage.setting(_OWNER)}')}"

    def is_login(self, cookie: str, now: float) -> bool:
        until, _, signature = cookie.partition(".")
        expected = self._sign(f"owner/{until}/{self._storage.setting(_OWNER)}")
        return until.isdecimal() and len(until) < 15 and int(until) > now and hmac.compare_digest(signature, expected)

    def session(self, key: str, respondent: str) -> str:
        """What a participant's page shows to be let in again: the same each time, and of no use elsewhere."""
        return f"{respondent}.{self._sign(f'session/{key}/{respondent}')}"

    def respondent_of(self, key: str, session: str) -> str | None:
        respondent, _, signature = session.rpartition(".")
        expected = self._sign(f"session/{key}/{respondent}")
        return respondent if respondent and hmac.compare_digest(signature, expected) else None

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(errors="replace"), hashlib.sha256).hexdigest()


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


# --- limits ----------------------------------------------------------------------------------------


@dataclass
class RateLimit:
    """So many requests a second per client, and a burst on top. A rate of 0 lets everything pass."""

    per_second: float
    burst: int
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)  # client -> tokens, when
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def allows(self, client: str) -> bool:
        if self.per_second <= 0:
            return True
        with self._lock:
            now = self.clock()
            tokens, before = self._buckets.get(client, (float(self.burst), now))
            tokens = min(float(self.burst), tokens + (now - before) * self.per_second)
            allowed = tokens >= 1
            self._buckets[client] = (tokens - 1 if allowed else tokens, now)
            if len(self._buckets) > 50_000:
                self._forget_idle(now)
            return allowed

    def _forget_idle(self, now: float) -> None:
        full_after = self.burst / self.per_second
        self._buckets = {client: kept for client, kept in self._buckets.items() if now - kept[1] < full_after}
