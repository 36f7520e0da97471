"""Who may do what: owners' tokens and logins, participants' sessions, limits per client, headers on every reply."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from itsdangerous import BadData, URLSafeSerializer, URLSafeTimedSerializer

from infonn.contracts.storage import LiveStorage
from infonn.live.tokens import find_token, first_owner_token, reset_owner_token
from infonn.records import Token

__all__ = ["Credentials", "RateLimit", "Session", "client_key", "first_owner_token", "reset_owner_token"]

_LOGINS = "logins/"  # with a token's id, the setting that every login of the token carries; a new value ends them all
SIGNATURE = "signature"  # the link parameter that proves who comes: see `POST /api/studies/{name}/links`
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


def framed_policy(origins: Sequence[str]) -> str:
    """The policy of a page that these sites may show in a frame."""
    policy = HEADERS["content-security-policy"]
    return policy.replace("frame-ancestors 'none'", f"frame-ancestors 'self' {' '.join(origins)}")


# --- owners and participants -----------------------------------------------------------------------


@dataclass(frozen=True)
class Session:
    """A participant's: whose it is, and how many answers the study had when it was given without proof of who came.

    Answers up to that number are none of this session's: it can neither see nor undo them."""

    respondent: str
    after: int = 0
    condition: str = ""


class Credentials:
    """Checks tokens against the storage, and signs what browsers keep."""

    def __init__(self, storage: LiveStorage, secret: bytes) -> None:
        self._storage, self._secret = storage, secret
        self._logins = URLSafeTimedSerializer(secret, "login", signer_kwargs=_SIGNING)

    # --- owners ------------------------------------------------------------------------------------

    def token(self, text: str) -> Token | None:
        """The token with this text, where it is in force."""
        return find_token(self._storage, text)

    def login(self, token: Token) -> str:
        """The value of a login's cookie: good for a month, or until a log-out or the end of its token."""
        return str(self._logins.dumps([token.id, self._login_number(token.id)]))

    def token_of_login(self, cookie: str) -> Token | None:
        """Whose login this is; None where it is none, or has ended."""
        try:
            token_id, number = self._logins.loads(cookie, max_age=LOGIN_S)
        except (BadData, TypeError, ValueError):
            return None
        token = next((each for each in self._storage.tokens() if each.id == token_id), None)
        if token is None or token.revoked_at is not None or number != self._login_number(token.id):
            return None
        return token

    def log_out(self, token: Token) -> None:
        """End every login made with this token, copies of its cookies included."""
        self._storage.setting(f"{_LOGINS}{token.id}", secrets.token_hex(8))

    def _login_number(self, token_id: str) -> str:
        return self._storage.setting(f"{_LOGINS}{token_id}") or ""

    # --- participants ------------------------------------------------------------------------------

    def sign_session(self, key: str, session: Session) -> str:
        """What a participant's page shows to be let in again; of no use in another study."""
        return str(self._sessions(key).dumps([session.respondent, session.after, session.condition]))

    def session(self, key: str, signed: str) -> Session | None:
        try:
            respondent, after, *condition = self._sessions(key).loads(signed)  # earlier versions signed no condition
        except (BadData, TypeError, ValueError):
            return None
        return Session(respondent, after, *condition[:1])

    def sign_link(self, key: str, outside_id: str) -> str:
        """The `signature` of a link that proves its bearer to be the person of this outside id."""
        return str(self._links(key).dumps(outside_id).rpartition(".")[2])

    def own_link(self, link: str, key: str, outside_id: str) -> str:
        """The participants' link made out to one person, by the name or number by which its owner knows them."""
        return f"{link}?{urlencode({'participant': outside_id, SIGNATURE: self.sign_link(key, outside_id)})}"

    def is_signed_link(self, key: str, outside_id: str, signature: str) -> bool:
        return hmac.compare_digest(self.sign_link(key, outside_id).encode(), signature.encode(errors="replace"))

    def _sessions(self, key: str) -> URLSafeSerializer:
        return URLSafeSerializer(self._secret, f"session/{key}", signer_kwargs=_SIGNING)

    def _links(self, key: str) -> URLSafeSerializer:
        return URLSafeSerializer(self._secret, f"link/{key}", signer_kwargs=_SIGNING)


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
