"""Keys to the owners' pages: one for each person, with a role, for the server or one study; made, found and ended."""

from __future__ import annotations

import hashlib
import secrets

from infonn.contracts.storage import LiveStorage
from infonn.errors import StorageError
from infonn.records import Role, Token

_FIRST = "first"  # the id of the token that a server makes when it starts on an empty storage
_OLD = "owner_token_sha256"  # the setting in which infonn 0.1.0 kept the hash of its one token


def make_token(
    storage: LiveStorage, person: str, role: Role = "owner", study: str | None = None, id: str | None = None
) -> tuple[str, Token]:
    """A new token, to be shown once, and what is kept of it."""
    text = secrets.token_urlsafe(32)
    token = Token(id or secrets.token_hex(4), person, role, study)
    if not storage.add_token(token, token_hash(text)):
        raise StorageError(f'A token "{token.id}" is there already. Revoke it, or try again.')
    return text, token


def find_token(storage: LiveStorage, text: str) -> Token | None:
    """The token with this text; None where there is none, or it was revoked."""
    token = storage.token_by_hash(token_hash(text))
    return token if token is not None and token.revoked_at is None else None


def first_owner_token(storage: LiveStorage) -> str | None:
    """A token for the whole server where the storage has none; None where there is one, or another server makes it.

    The one token of an earlier version is taken in, and goes on working.
    """
    _take_in_old(storage)
    if _server_owners(storage):
        return None
    try:
        return make_token(storage, "owner", id=_FIRST)[0]
    except StorageError:  # another server was first
        return None


def reset_owner_token(storage: LiveStorage) -> str:
    """A new token for the whole server; all others of this kind end."""
    _take_in_old(storage)
    before = _server_owners(storage)
    text, _ = make_token(storage, "owner")
    for token in before:
        storage.revoke_token(token.id)
    return text


def token_hash(text: str) -> str:
    """What is kept of a token: it has 256 random bits, so that one round of SHA-256 is enough."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _server_owners(storage: LiveStorage) -> list[Token]:
    tokens = storage.tokens()
    return [token for token in tokens if token.revoked_at is None and token.role == "owner" and token.study is None]


def _take_in_old(storage: LiveStorage) -> None:
    old = storage.setting(_OLD)
    if old is not None:
        storage.add_token(Token("0.1.0", "owner"), old)
        storage.drop_setting(_OLD)
