"""A database engine whose transactions are kept once they return; what is not ours, or damaged, is refused."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import DBAPIError, NoSuchModuleError

from infonn.errors import DataError, MissingPartError, StorageError, StudyError
from infonn.storage import schema

_BUSY_S = 30  # how long a writer waits for another process before it gives up
_WRITERS = 2  # of a server on PostgreSQL; more gain nothing, as a study's answers meet at its counter
_CREATION_LOCK = 0x1F0_22  # any number, the same for every server that may create the tables


T = TypeVar("T")


@dataclass
class _Job:
    """A piece of work that waits for the writer."""

    work: Callable[[Connection], Any]
    finish: Callable[[Connection, list[Any]], list[Any]] | None = None
    taken: bool = False  # by somebody who writes
    result: Any = None
    error: Exception | None = None
    ended: threading.Event = field(default_factory=threading.Event)


class Database:
    """One SQLite file or PostgreSQL database. `write()` and `read()` are its transactions."""

    def __init__(self, url: str, *, check_version: bool = True) -> None:
        self.url = normal_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        # SQLite has one writer at a time; threads of this process queue here, and not in its polling busy handler.
        self._writer = threading.Semaphore(1 if self.is_sqlite else _WRITERS)
        self._jobs: list[_Job] = []
        self._jobs_lock = threading.Lock()
        self._engine = self._make_engine()
        self._write_engine = self._engine.execution_options(infonn_write=True)
        self._is_there = False  # whether our tables are; a database without is read as an empty one
        self._creation = threading.Lock()
        self._empty: sa.Engine | None = None
        if check_version:
            self._check()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that changes something: committed to disk when the block ends without an error."""
        self.create()
        with self.write_as_is() as connection:
            yield connection

    @contextmanager
    def write_as_is(self) -> Iterator[Connection]:
        """As `write`, in a database whose tables may be others, or none."""
        if not self.is_sqlite:
            with self._transaction(self._write_engine) as connection:
                yield connection
            return
        with self._writer, self._transaction(self._write_engine) as connection:
            yield connection

    def together(
        self, work: Callable[[Connection], T], finish: Callable[[Connection, list[T]], list[T]] | None = None
    ) -> T:
        """What `work` gives, committed. Whatever waits for a writer shares one transaction and one sync.

        `finish` is called once at the end with what all work that shares it gave, for what all of it meets at (and
        holds until the disk has answered): it gives the same in the same order, completed. Where anything fails,
        nothing is kept and each piece of work is run again by itself; so work may run twice, and changes nothing
        but the database.
        """
        self.create()
        job = _Job(work, finish)
        with self._jobs_lock:
            self._jobs.append(job)
        with self._writer:
            batch: list[_Job] = []
            with self._jobs_lock:
                if not job.taken:
                    batch, self._jobs = self._jobs, []
                for each in batch:
                    each.taken = True
            if batch:
                self._run(batch)
        job.ended.wait()
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def _run(self, batch: list[_Job]) -> None:
        try:
            with self._transaction(self._write_engine) as connection:
                for job in batch:
                    job.result = job.work(connection)
                for finish in {job.finish: None for job in batch if job.finish is not None}:
                    mine = [job for job in batch if job.finish == finish]
                    for job, result in zip(mine, finish(connection, [job.result for job in mine])):
                        job.result = result
        except Exception as error:
            if len(batch) > 1:
                for job in batch:
                    self._run([job])
                return
            batch[0].error = error
        for job in batch:
            job.ended.set()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only looks. A database that is not there yet looks empty, and is not made by looking."""
        if not self._is_there and self.version() is None:
            with self._transaction(self._nothing()) as connection:
                yield connection
            return
        self._is_there = True
        with self._transaction(self._engine) as connection:
            yield connection

    @contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[Connection]:
        try:
            with engine.begin() as connection:
                yield connection
        except sa.exc.IntegrityError as error:
            if "foreign key" in str(error.orig).lower():
                raise StudyError("The study, or the question, was deleted a moment ago; nothing was stored.") from error
            raise
        except (sa.exc.DataError, UnicodeEncodeError, OverflowError) as error:
            raise DataError("A value is no number or text that the storage can keep; nothing was stored.") from error
        except DBAPIError as error:
            raise StorageError(_plain(error, self.url)) from error

    def close(self) -> None:
        self._engine.dispose()

    def version(self) -> str | None:
        """The migration the database stands at; None where it has no tables yet."""
        if self.is_sqlite and not Path(str(self.url.database)).exists():
            return None
        with self._transaction(self._engine) as connection:
            if not sa.inspect(connection).has_table("alembic_version"):
                return None
            return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()

    def create(self) -> None:
        """Make the tables, unless they are there, or another process did so a moment ago."""
        with self._creation:
            if self._is_there:
                return
            if self.is_sqlite:
                make_private(Path(str(self.url.database)))
            with self.write_as_is() as connection:
                if not self.is_sqlite:
                    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION_LOCK})
                if not sa.inspect(connection).has_table("alembic_version"):
                    schema.metadata.create_all(connection)
                    version = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"
                    connection.execute(sa.text(version))
                    connection.execute(sa.text("INSERT INTO alembic_version VALUES (:head)"), {"head": schema.HEAD})
            self._is_there = True

    # --- inside ------------------------------------------------------------------------------------

    def _make_engine(self) -> sa.Engine:
        options: dict[str, Any] = {"json_serializer": _dumps, "pool_pre_ping": not self.is_sqlite}
        if self.is_sqlite:
            options["connect_args"] = {"timeout": _BUSY_S, "check_same_thread": False}
            options |= {"poolclass": sa.pool.QueuePool, "pool_size": 8, "max_overflow": 40}
        else:
            options["connect_args"] = {"connect_timeout": 5}
            options |= {"pool_size": 8, "max_overflow": 8, "pool_timeout": 15}
        try:
            engine = sa.create_engine(self.url, **options)
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise MissingPartError('PostgreSQL needs the psycopg package: pip install "infonn[postgres]".') from error
        if self.is_sqlite:
            sa.event.listen(engine, "connect", _set_pragmas)
            sa.event.listen(engine, "begin", _begin)
        return engine

    def _nothing(self) -> sa.Engine:
        """Our tables without a row, in memory."""
        with self._creation:
            if self._empty is None:
                self._empty = sa.create_engine(
                    "sqlite://", poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False}
                )
                schema.metadata.create_all(self._empty)
            return self._empty

    def _check(self) -> None:
        """Refuse what is damaged, another program's, or of another version."""
        if self.is_sqlite:
            check_file(Path(str(self.url.database)))
        found = self.version()
        if found is None:
            return
        if self.is_sqlite:
            make_private(Path(str(self.url.database)))
        self._is_there = True
        if found == schema.HEAD:
            return
        shown = shown_url(self.url)
        if found < schema.HEAD:
            raise StorageError(
                f"{shown} has the tables of an earlier infonn (schema {found}; this one needs {schema.HEAD}). "
                f"Make a backup, then run: infonn storage upgrade {shown}"
            )
        raise StorageError(
            f"{shown} was written by a newer infonn (schema {found}; this one knows {schema.HEAD}). "
            "Install that version to open it."
        )


def normal_url(url: str) -> URL:
    """The URL with the driver we use."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        if parsed.database in (None, "", ":memory:"):
            raise StorageError(f'"{url}" names no file. Use sqlite:///study.db, or memory:// to keep nothing.')
        return parsed.set(drivername="sqlite")
    return parsed.set(drivername="postgresql+psycopg")


def make_private(path: Path) -> None:
    """Make the file and its folder if there are none, and keep others from reading it: it holds what people answered.

    A file that is there is not opened: closing it would end the locks that this process has on it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"The folder of {path} cannot be made: {error.strerror}.") from error
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise StorageError(f"{path} cannot be written to: {error.strerror}.") from error
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):  # the file of another user, who decides
            each.chmod(0o600)


def check_file(path: Path) -> None:
    """Refuse a SQLite file that is damaged or of another program; nothing in it is changed. A missing one is fine."""
    if not path.exists() or not path.stat().st_size:
        return
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            marked = connection.execute("PRAGMA application_id").fetchone()[0]
            if (tables or marked) and not {"studies", "settings", "alembic_version"} <= tables:
                shown = ", ".join(sorted(tables)[:5]) or "none yet"
                raise StorageError(f"{path} is a database of another program (its tables: {shown}). Name another file.")
            problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        raise StorageError(f"{path} cannot be read now: {error}. Try again.") from error
    except sqlite3.DatabaseError as error:
        problem = str(error)
    if problem != "ok":
        raise StorageError(
            f"{path} is damaged or no database ({problem.splitlines()[-1]}), and was left as it is. Bring back a copy: "
            f"infonn storage restore BACKUP --storage sqlite:///{path}"
        )


def shown_url(url: URL) -> str:
    """The URL as a person may see it, without its password."""
    return url.render_as_string(hide_password=True)


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _set_pragmas(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin` says, not where the driver guesses
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("infonn_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _plain(error: DBAPIError, url: URL) -> str:
    """One sentence for a person; the log has the rest."""
    text = str(error.orig).lower()
    where = shown_url(url)
    if "full" in text or "no space" in text:
        return f"The disk that holds {where} is full; nothing was stored."
    if "locked" in text:
        return f"{where} was busy for {_BUSY_S} s; nothing was stored. Try again."
    if "readonly" in text or "read-only" in text:
        return f"{where} cannot be written to; nothing was stored."
    return f"{where} cannot be reached or read now; nothing was stored. Try again."
