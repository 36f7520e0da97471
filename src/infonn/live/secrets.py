"""The secret that sessions are signed with: in the environment or in a file of its own, never in the database."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from sqlalchemy.engine import make_url

from infonn.contracts.storage import LiveStorage
from infonn.errors import StorageError

VARIABLE = "INFONN_SECRET"
FINGERPRINT = "secret_fingerprint"  # the setting by which servers of one storage know that they share a secret
_STORED = "session_secret"  # where infonn 0.1.0 kept the secret itself
_SHORTEST = 32


def session_secret(storage_url: str, storage: LiveStorage) -> bytes:
    """The secret of this storage: from INFONN_SECRET, or from the file `<database>.secret` beside a SQLite database.

    The first server makes the file and leaves the secret's fingerprint in the storage; one whose secret has another
    fingerprint is refused. A secret that an earlier version kept in the database is moved out of it.
    """
    if storage_url.startswith("memory:"):
        return storage.first_setting(_STORED, secrets.token_hex(32)).encode()  # it ends with the process
    file, given, stored = secret_file(storage_url), os.environ.get(VARIABLE), storage.setting(_STORED)
    shown = make_url(storage_url).render_as_string(hide_password=True)
    if given is not None:
        secret = _long_enough(given)
    elif file is not None:
        if not file.exists() and stored is None and storage.setting(FINGERPRINT) is not None:
            raise StorageError(
                f"The secret of {shown} is missing: put back {file}, set {VARIABLE} to it, or start with a new one, "
                f"which ends every session: infonn storage secret --new --storage {shown}"
            )
        secret = _kept_in(file, stored)
    else:
        raise StorageError(
            f"{shown} has no place for the secret that sessions are signed with: set {VARIABLE} to {_SHORTEST} or more "
            "random characters, the same for every server of this storage"
            + (f" (`infonn storage secret --storage {shown}` shows the present one)." if stored else ".")
        )
    if storage.first_setting(FINGERPRINT, _fingerprint(secret)) != _fingerprint(secret):
        where = VARIABLE if given is not None else str(file)
        raise StorageError(
            f"The secret in {where} is not the one that sessions of this storage are signed with. Give this server the "
            f"secret of the others, or start with a new one: infonn storage secret --new --storage {shown}"
        )
    if stored is not None:
        storage.drop_setting(_STORED)
    return secret.encode()


def new_secret(storage_url: str, storage: LiveStorage) -> Path | None:
    """Forget the secret of a storage, so that every session ends: the new file, or None where servers are given one."""
    file = secret_file(storage_url)
    if file is not None:
        file.unlink(missing_ok=True)
        _kept_in(file, None)
    storage.drop_setting(_STORED)
    storage.drop_setting(FINGERPRINT)
    return file


def stored_secret(storage: LiveStorage) -> str | None:
    """The secret that an earlier version left in the database, if it is still there."""
    return storage.setting(_STORED)


def secret_file(storage_url: str) -> Path | None:
    """Where the secret of a SQLite database is kept; None for other storages."""
    if not storage_url.startswith("sqlite"):
        return None
    return Path(f"{make_url(storage_url).database}.secret")


# --- inside ----------------------------------------------------------------------------------------


def _kept_in(file: Path, stored: str | None) -> str:
    """The secret in `file`, which is made whole or not at all; of two servers that make it, one does."""
    if not file.exists():
        draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
                opened.write(f"{stored or secrets.token_hex(32)}\n")
                opened.flush()
                os.fsync(opened.fileno())
            os.link(draft, file)
        except FileExistsError:
            pass
        except OSError as error:
            raise StorageError(f"The secret cannot be written to {file}: {error.strerror}.") from error
        finally:
            draft.unlink(missing_ok=True)
    file.chmod(0o600)
    return _long_enough(file.read_text(encoding="utf-8").strip())


def _long_enough(secret: str) -> str:
    if len(secret) < _SHORTEST:
        raise StorageError(
            f"The secret has {len(secret)} characters, which could be guessed. It must have {_SHORTEST} or more."
        )
    return secret


def _fingerprint(secret: str) -> str:
    return hashlib.sha256(f"infonn/fingerprint/{secret}".encode(errors="replace")).hexdigest()
