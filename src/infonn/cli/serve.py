"""`infonn serve` and `infonn work`: the server and its workers."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from infonn.contracts.storage import LiveStorage
    from infonn.web.server import Limits

PANEL = "Ask people"
_RETENTION_S = 3600.0  # how often retention times are looked at
STORAGE = "sqlite:///infonn.db"
Storage = Annotated[str, typer.Option("--storage", "-s", help="Where studies are kept.", envvar="INFONN_STORAGE")]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=PANEL)(serve)
    app.command(rich_help_panel=PANEL)(work)


def serve(
    context: typer.Context,
    storage: Storage = STORAGE,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="Processes that fit models; 0 where others run.", min=0, max=64)] = 1,
    public_url: Annotated[
        str, typer.Option("--url", "--public-url", help="How people reach this server, for the links.")
    ] = "",
    proxy: Annotated[bool, typer.Option(help="Trust what a reverse proxy says: client addresses, our name.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Two ready studies to look at, kept until you stop.")] = False,
    simulate: Annotated[int, typer.Option(help="Simulated people who answer the demo.", min=0, max=1000)] = 0,
    config: Annotated[Path | None, typer.Option(help="A serve.toml; what is said here comes before it.")] = None,
    limit: Annotated[list[str] | None, typer.Option(help="NAME=VALUE, as in [limits] of serve.toml.")] = None,
    access_log: Annotated[str, typer.Option(help="File for a line per request; - for the output.")] = "",
) -> None:
    """Serve studies to people, and fit them as answers arrive."""
    from infonn.web.serve_file import KEYS, limits_of, read_serve_file

    said = {key: context.params[key] for key in KEYS}
    table: dict[str, Any] = {}
    if config is not None:
        in_file, table = read_serve_file(config)
        said |= {key: value for key, value in in_file.items() if _is_default(context, key)}
    options = Options(**said, limits=limits_of(table, limit or []), demo=demo, simulate=simulate)
    if demo and options.storage == STORAGE:
        with tempfile.TemporaryDirectory(prefix="infonn-demo-") as folder:
            # A worker for each of the two studies: the digits take longer to fit, and the dishes need not wait.
            demo_storage = f"sqlite:///{folder}/demo.db"
            _serve(dataclasses.replace(options, storage=demo_storage, workers=2 * options.workers))
    else:
        _serve(options)


@dataclass(frozen=True)
class Options:
    """How to serve: what was said in the shell and in serve.toml."""

    storage: str
    host: str
    port: int
    workers: int
    public_url: str
    proxy: bool
    access_log: str
    limits: Limits
    demo: bool
    simulate: int


def _is_default(context: typer.Context, key: str) -> bool:
    source = context.get_parameter_source(key)
    return source is None or source.name in ("DEFAULT", "DEFAULT_MAP")


def _serve(options: Options) -> None:
    import socket

    import uvicorn

    from infonn.errors import InfonnError
    from infonn.live.addresses import SETTING, public_url
    from infonn.live.secrets import session_secret
    from infonn.specs.build import open_live_storage
    from infonn.web.app import create_app
    from infonn.web.connections import guarded_protocol
    from infonn.web.security import first_owner_token

    _log_plainly()
    _log_access(options.access_log)
    _allow_many_connections()
    sys.setswitchinterval(0.0005)  # the thread that holds the writer gets the interpreter back soon
    storage, host = options.storage, options.host
    opened = open_live_storage(storage)
    secret = session_secret(storage, opened)
    try:
        listener = socket.create_server((host, options.port), backlog=512) if ":" not in host else None
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]
        raise InfonnError(
            f"Cannot serve at {host}, port {options.port}: {reason}. --port 0 takes a free one."
        ) from error
    port = listener.getsockname()[1] if listener is not None else options.port
    url, warning = public_url(options.public_url, host, port)
    ask_proxy = options.proxy and not options.public_url
    opened.setting(SETTING, url)
    token = first_owner_token(opened)
    app = create_app(opened, url, options.limits, secret, None if ask_proxy else warning, ask_proxy)
    demos = []
    if options.demo:
        from infonn.web.demo import Crowd, add_demos

        demos = add_demos(opened)
    beside = Beside(storage, 0 if storage == "memory://" else options.workers)
    if storage == "memory://" and options.workers:
        beside.work_in_thread(opened)
    if demos and options.simulate:
        beside.in_thread(Crowd(opened, demos, options.simulate).run)
    beside.in_thread(partial(_forget_expired, opened))
    links = [(record.name, f"{url}/s/{record.key}") for record in opened.studies() if not record.archived]
    _welcome(url, storage, token, links)
    if links and warning and not ask_proxy:
        typer.secho(warning, fg="yellow", err=True)
    # Behind a proxy all connections have its address, and it is the proxy that has to count them.
    limits = dataclasses.replace(options.limits, connections_per_client=0) if options.proxy else options.limits
    config = uvicorn.Config(
        app,
        host,
        port,
        log_level="error",  # its warnings are about requests that make no sense, a line for each
        access_log=False,
        proxy_headers=options.proxy,
        timeout_keep_alive=75,
        http=guarded_protocol(limits),
        ws="none",
    )
    try:
        uvicorn.Server(config).run(sockets=None if listener is None else [listener])
    finally:
        beside.stop()


def work(
    storage: Storage = STORAGE,
    claim_s: Annotated[
        float, typer.Option(help="Seconds after which other workers take over the studies of a silent one.", min=0.5)
    ] = 15.0,
    memory_gb: Annotated[
        float | None, typer.Option(help="Memory one study's fit may take; half the machine's by default.", min=0.1)
    ] = None,
    fit_s: Annotated[float | None, typer.Option(help="Seconds one fit may take; 600 by default.", min=1)] = None,
    parent: Annotated[int | None, typer.Option(help="End with the process of this number.", hidden=True)] = None,
) -> None:
    """Fit studies as answers arrive, and keep their queues of questions full."""
    from infonn.live.cold_fits import BackgroundFitter
    from infonn.live.limits import FitLimits, default_limits
    from infonn.live.worker import Worker
    from infonn.specs.build import open_live_storage

    _log_plainly()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if parent is not None:
        threading.Thread(target=_stop_with_parent, args=(parent, stop), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(12)  # people at the page come first
    if storage == "memory://":
        raise typer.BadParameter("memory:// belongs to one process; use sqlite:///study.db.")
    usual = default_limits()
    limits = FitLimits(memory_gb or usual.memory_gb, fit_s or usual.seconds)
    Worker(open_live_storage(storage), claim_s, fitter=BackgroundFitter(storage, limits), limits=limits).run(stop)


class Beside:
    """What runs beside a server: worker processes, started again when one dies, and threads; stopped with it."""

    def __init__(self, storage: str, n_workers: int) -> None:
        self._storage, self._stopping = storage, threading.Event()
        self._processes = [self._start() for _ in range(n_workers)]
        self._threads = [threading.Thread(target=self._watch, daemon=True)] if n_workers else []
        for thread in self._threads:
            thread.start()

    def work_in_thread(self, storage: LiveStorage) -> None:
        """For a storage that only this process can see."""
        from infonn.live.worker import Worker

        self.in_thread(Worker(storage).run)

    def in_thread(self, run: Callable[[threading.Event], None]) -> None:
        """Run this beside the server until it stops."""
        self._threads.append(threading.Thread(target=run, args=(self._stopping,), daemon=True))
        self._threads[-1].start()

    def stop(self) -> None:
        self._stopping.set()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "infonn", "work", "--parent", str(os.getpid())]
        return subprocess.Popen(command, env={**os.environ, "INFONN_STORAGE": self._storage})

    def _watch(self) -> None:
        while not self._stopping.wait(1.0):
            for i, process in enumerate(self._processes):
                if process.poll() is not None and not self._stopping.is_set():
                    logging.getLogger("infonn").error(
                        "a worker ended (status %s); starting another", process.returncode
                    )
                    self._processes[i] = self._start()


def _stop_with_parent(parent: int, stop: threading.Event) -> None:
    """A killed server takes its workers along, also one that was killed before they had started."""
    while os.getppid() == parent:
        time.sleep(0.5)
    stop.set()
    time.sleep(20)
    os._exit(1)


def _welcome(url: str, storage: str, token: str | None, links: list[tuple[str, str]]) -> None:
    typer.echo(f"infonn serves {url}   (stop with Ctrl-C)")
    if token is not None and sys.stdout.isatty():
        typer.echo(f"Owner token, shown this once: {token}")
        typer.echo("Keep it; `infonn token reset` makes a new one.")
        typer.echo(f"Owner's pages, logged in: {url}/login#token={token}")
    elif token is not None:  # output that goes to a file or a journal is read by others
        typer.echo(f"The owner token is in {_write_token(storage, token)}; read it, keep it, delete the file.")
        typer.echo(f"Owner's pages: {url}/")
    else:
        typer.echo(f"Owner's pages: {url}/")
    for name, link in links:
        typer.echo(f"Participants of {name}: {link}")
    sys.stdout.flush()


def _forget_expired(storage: LiveStorage, stop: threading.Event) -> None:
    """Every hour, forget who people are whom their study's retention time lets go."""
    from infonn.errors import InfonnError

    while True:
        try:
            for name, people in storage.forget_expired().items():
                logging.getLogger("infonn").info('study "%s": forgot who %d people are', name, people)
        except InfonnError as error:
            logging.getLogger("infonn").error("retention times could not be kept, trying again: %s", error)
        if stop.wait(_RETENTION_S):
            return


def _write_token(storage: str, token: str) -> Path:
    """A file that only its owner reads: beside a SQLite database, else in the working directory."""
    from sqlalchemy.engine import make_url

    from infonn.errors import InfonnError

    database = make_url(storage).database if storage.startswith("sqlite") else None
    path = Path(f"{database or 'infonn'}.owner-token")
    try:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{token}\n")
    except OSError as error:
        raise InfonnError(
            f"The owner token cannot be written to {path}: {error.strerror}. `infonn token reset` shows a new one."
        ) from error
    return path


def _log_access(file: str) -> None:
    """A line per request: when, who, what, the status and how long it took; never a query or a header."""
    if not file:
        return
    handler = logging.StreamHandler(sys.stdout) if file == "-" else logging.FileHandler(file)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger("infonn.access")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def _allow_many_connections() -> None:
    """As many open files as this process may have: the usual 1,024 are few for a crowd and a stranger."""
    try:
        import resource
    except ImportError:  # another system than Unix
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _log_plainly() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
