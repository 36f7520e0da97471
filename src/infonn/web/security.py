"""Who may do what: owners' tokens and logins, participants' sessions, limits per client, headers on every reply."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from itsdangerous import BadData, URLSafeSerializer, URLSafeTimedSerializer

from infonn.contracts.storage import LiveStorage

_OWNER = "owner_token_sha256"
_LOGIN = "owner_logins"  # the setting that every login of the owner carries; a new value ends them all
LOGIN_S = 30 * 86_400
COOKIE = "infonn_owner"
_SIGNING = {"key_derivation": "hmac", "digest_method": hashlib.sha256}

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
    token = secrets.token_urlsafe(32)
    return token if storage.first_setting(_OWNER, _hash(token)) == _hash(token) else None


def reset_owner_token(storage: LiveStorage) -> str:
    """A new owner token; the old one and every login made with it end."""
    token = secrets.token_urlsafe(32)
    storage.setting(_OWNER, _hash(token))
    return token


@dataclass(frozen=True)
class Session:
    """A participant's: whose it is, and how many answers the study had when it was given without proof of who came.

    Answers up to that number are none of this session's: it can neither see nor undo them."""

    respondent: str
    after: int = 0


class Credentials:
    """Checks tokens against the storage, and signs what browsers keep."""

    def __init__(self, storage: LiveStorage, secret: bytes) -> None:
        self._storage, self._secret = storage, secret
        self._logins = URLSafeTimedSerializer(secret, "login", signer_kwargs=_SIGNING)

    def is_owner(self, token: str) -> bool:
        return hmac.compare_digest(_hash(token), self._storage.setting(_OWNER) or "-")

    def login(self) -> str:
        """The value of the owner's cookie: good for a month, or until a log-out or a new token."""
        return str(self._logins.dumps([self._storage.setting(_OWNER), self._login_number()]))

    def is_login(self, cookie: str) -> bool:
        try:
            signed = self._logins.loads(cookie, max_age=LOGIN_S)
        except BadData:
            return False
        return bool(signed == [self._storage.setting(_OWNER), self._login_number()])

    def log_out(self) -> None:
        """End every login of the owner, copies of its cookie included."""
        self._storage.setting(_LOGIN, secrets.token_hex(8))

    def _login_number(self) -> str:
        return self._storage.setting(_LOGIN) or ""

    # --- participants ------------------------------------------------------------------------------

    def sign_session(self, key: str, session: Session) -> str:
        """What a participant's page shows to be let in again; of no use in another study."""
        return str(self._sessions(key).dumps([session.respondent, session.after]))

    def session(self, key: str, signed: str) -> Session | None:
        try:
            respondent, after = self._sessions(key).loads(signed)
        except (BadData, TypeError, ValueError):
            return None
        return Session(respondent, after)

    def sign_link(self, key: str, outside_id: str) -> str:
        """The `signature` of a link that proves its bearer to be the person of this outside id."""
        return str(self._links(key).dumps(outside_id).rpartition(".")[2])

    def is_signed_link(self, key: str, outside_id: str, signature: str) -> bool:
        return hmac.compare_digest(self.sign_link(key, outside_id).encode(), signature.encode(errors="replace"))

    def _sessions(self, key: str) -> URLSafeSerializer:
        return URLSafeSerializer(self._secret, f"session/{key}", signer_kwargs=_SIGNING)

    def _links(self, key: str) -> URLSafeSerializer:
        return URLSafeSerializer(self._secret, f"link/{key}", signer_kwargs=_SIGNING)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


# --- limits ----------------------------------------------------------------------------------------


@dataclass
class RateLimit:
    """So many requests a second per client, and a burst on top. A rate of 0 lets everything pass.

    It remembers the clients seen last, and no more than `most_clients` of them."""

    per_second: float
    burst: int
    clock: Callable[[], float] = time.monotonic
    most_clients: int = 20_000
    _clients: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)  # -> tokens left, when
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def allows(self, client: str) -> bool:
        if self.per_second <= 0:
            return True
        with self._lock:
            now = self.clock()
            tokens, before = self._clients.pop(client, (float(self.burst), now))
            tokens = min(float(self.burst), tokens + (now - before) * self.per_second)
            allowed = tokens >= 1
            self._clients[client] = (tokens - 1 if allowed else tokens, now)
            if len(self._clients) > self.most_clients:
                self._clients.popitem(last=False)
            return allowed

    def __len__(self) -> int:
        return len(self._clients)


def client_key(address: str) -> str:
    """What counts as one client: an IPv4 address, or an IPv6 network of 64 bits, which is what one household has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
    return address
