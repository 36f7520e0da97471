"""Copy a database while it is in use, and put a copy in its place: whole, checked, and readable by nobody else."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path

import sqlalchemy as sa

from infonn.errors import StorageError
from infonn.storage import schema
from infonn.storage.database import Database, check_file, make_private, normal_url, shown_url

_SECRET = "session_secret"  # a setting of infonn 0.1.0, which has no place in a copy
_SHARED_LOCK = 0x40000002, 510  # the bytes of its file that SQLite locks while somebody has the database open


def backup(url: str, target: Path) -> None:
    """A copy of the database as it stands, taken while people go on answering."""
    if target.exists():
        raise StorageError(f"{target} is there already. Choose another name; a backup never overwrites.")
    if not target.parent.is_dir():
        raise StorageError(f"There is no folder {target.parent} for the backup.")
    parsed = normal_url(url)
    try:
        if parsed.get_backend_name() == "sqlite":
            _copy_sqlite(Path(str(parsed.database)), target)
        else:
            _dump_postgres(url, target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def restore(url: str, copy: Path) -> Path | None:
    """Put a copy that `backup` made in the database's place; where the database it replaced is kept, if there was one.

    Refused while the database is in use, or where the copy is damaged or of a newer version. Killed at any moment, it
    leaves the old database or the new one, whole.
    """
    if not copy.is_file():
        raise StorageError(f"There is no backup {copy}.")
    parsed = normal_url(url)
    if parsed.get_backend_name() != "sqlite":
        _restore_postgres(url, copy)
        return None
    try:
        return _restore_sqlite(Path(str(parsed.database)), copy)
    except OSError as error:
        raise StorageError(f"{parsed.database} was not replaced: {error.strerror}.") from error


# --- SQLite ----------------------------------------------------------------------------------------


def _copy_sqlite(path: Path, target: Path) -> None:
    """The database in one file, without what deleted rows left behind and without a secret."""
    if not path.is_file():
        raise StorageError(f"There is no database {path} to back up.")
    check_file(path)
    make_private(target)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        copy.execute("DELETE FROM settings WHERE key = ?", (_SECRET,))
        copy.commit()
        copy.execute("VACUUM")
    check_file(target)
    _sync(target)


def _restore_sqlite(path: Path, copy: Path) -> Path | None:
    path = path.resolve()  # a journal lies beside the file that a link leads to
    in_use = StorageError(f"{path} is in use. Stop the server and its workers, then restore.")
    _check_copy(copy)
    if _in_use(path):
        raise in_use
    draft = path.with_name(f"{path.name}.restoring")
    draft.unlink(missing_ok=True)  # of a restore that was killed
    make_private(draft)
    with closing(_read_only(copy)) as source, closing(sqlite3.connect(draft)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
    check_file(draft)
    _sync(draft)
    replaced = _put_aside(path)
    os.replace(draft, path)
    if replaced is not None and _in_use(replaced):  # a server has started meanwhile: it keeps what it opened
        os.replace(replaced, path)
        raise in_use
    _sync(path)
    return replaced


def _check_copy(copy: Path) -> None:
    check_file(copy)
    with closing(_read_only(copy)) as connection:
        try:
            version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.Error:
            version = None
    if version is None:
        raise StorageError(f"{copy} is no backup of a storage; nothing was changed.")
    if version[0] > schema.HEAD:
        raise StorageError(f"{copy} was written by a newer infonn (schema {version[0]}); nothing was changed.")


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _in_use(path: Path) -> bool:
    """Whether another process has the database open; asked of the lock, as a damaged file answers nothing else."""
    if not path.exists():
        return False
    try:
        import fcntl
    except ModuleNotFoundError:  # on Windows, where an open file cannot be replaced
        return False
    start, length = _SHARED_LOCK
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except OSError:
            return True
    return False


def _put_aside(path: Path) -> Path | None:
    """Keep the old database under another name, with what its journal holds; a journal must not meet a new database."""
    aside = path.with_name(f"{path.name}.replaced-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}")
    if path.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as old:
            old.execute("PRAGMA journal_mode = DELETE")  # brings the journal into the file
    for ending in ("-wal", "-shm"):  # of a database so damaged that it takes nothing in
        with suppress(FileNotFoundError):
            os.rename(f"{path}{ending}", f"{aside}{ending}")
    if not path.exists():
        return None
    os.link(path, aside)
    return aside


def _sync(path: Path) -> None:
    """Wait until the file, and its name, are on the disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
    with suppress(OSError):  # where the system lets a folder be synced: not on Windows
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# --- PostgreSQL ------------------------------------------------------------------------------------


def _dump_postgres(url: str, target: Path) -> None:
    make_private(target)
    _run("pg_dump", url, "--format=custom", f"--file={target}")


def _restore_postgres(url: str, copy: Path) -> None:
    database = Database(url, check_version=False)
    try:
        if database.version() is not None:
            raise StorageError(
                f"{shown_url(database.url)} holds studies already. Restore into an empty database, then name that one."
            )
        with database.write_as_is() as connection:
            schema_name = connection.scalar(sa.text("SELECT current_schema()"))
        _run("pg_restore", url, "--single-transaction", "--no-owner", f"--schema={schema_name}", str(copy))
        if database.version() is None:
            raise StorageError(f'{copy} holds no storage in the schema "{schema_name}"; nothing was changed.')
    finally:
        database.close()


def _run(name: str, url: str, *words: str) -> None:
    """Run one of PostgreSQL's own programs on a database."""
    program = shutil.which(name)
    if program is None:
        raise StorageError(f"{name} was not found. Install PostgreSQL's client programs, or run {name} elsewhere.")
    parsed = normal_url(url)
    # A command's words can be seen in the list of processes, its environment cannot.
    bare = parsed.set(drivername="postgresql")._replace(password=None)
    password = {} if parsed.password is None else {"PGPASSWORD": parsed.password}
    done = subprocess.run(
        [program, f"--dbname={bare.render_as_string()}", *words],
        env={**os.environ, **password},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StorageError(f"{name} failed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
