"""`infonn serve` and `infonn work`: the server and its workers."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from infonn.contracts.storage import LiveStorage

PANEL = "Ask people"
STORAGE = "sqlite:///infonn.db"
Storage = Annotated[str, typer.Option("--storage", "-s", help="Where studies are kept.", envvar="INFONN_STORAGE")]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=PANEL)(serve)
    app.command(rich_help_panel=PANEL)(work)


def serve(
    storage: Storage = STORAGE,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="Processes that fit models; 0 where others run.", min=0, max=64)] = 1,
    public_url: Annotated[str, typer.Option(help="How people reach this server, for the links.")] = "",
    proxy: Annotated[bool, typer.Option(help="Trust the client addresses a reverse proxy reports.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Two ready studies to look at, kept until you stop.")] = False,
    simulate: Annotated[int, typer.Option(help="Simulated people who answer the demo.", min=0, max=1000)] = 0,
) -> None:
    """Serve studies to people, and fit them as answers arrive."""
    if demo and storage == STORAGE:
        with tempfile.TemporaryDirectory(prefix="infonn-demo-") as folder:
            # A worker for each of the two studies: the digits take longer to fit, and the dishes need not wait.
            _serve(f"sqlite:///{folder}/demo.db", host, port, 2 * workers, public_url, proxy, demo, simulate)
    else:
        _serve(storage, host, port, workers, public_url, proxy, demo, simulate)


def _serve(
    storage: str, host: str, port: int, workers: int, public_url: str, proxy: bool, demo: bool, simulate: int
) -> None:
    import socket

    import uvicorn

    from infonn.errors import InfonnError
    from infonn.specs.build import open_live_storage
    from infonn.web.app import create_app
    from infonn.web.security import first_owner_token

    _log_plainly()
    sys.setswitchinterval(0.0005)  # the thread that holds the writer gets the interpreter back soon
    opened = open_live_storage(storage)
    try:
        listener = socket.create_server((host, port), backlog=512) if ":" not in host else None
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]
        raise InfonnError(f"Cannot serve at {host}, port {port}: {reason}. --port 0 takes a free one.") from error
    port = listener.getsockname()[1] if listener is not None else port
    url = public_url or f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"
    token = first_owner_token(opened)
    app = create_app(opened, url)
    demos = []
    if demo:
        from infonn.web.demo import Crowd, add_demos

        demos = add_demos(opened)
    helpers = Helpers(storage, 0 if storage == "memory://" else workers)
    if storage == "memory://" and workers:
        helpers.work_in_thread(opened)
    if demos and simulate:
        helpers.in_thread(Crowd(opened, demos, simulate).run)
    _welcome(url, token, [(record.name, f"{url}/s/{record.key}") for record in opened.studies() if not record.archived])
    config = uvicorn.Config(
        app, host, port, log_level="warning", access_log=False, proxy_headers=proxy, timeout_keep_alive=75
    )
    try:
        uvicorn.Server(config).run(sockets=None if listener is None else [listener])
    finally:
        helpers.stop()


def work(
    storage: Storage = STORAGE,
    claim_s: Annotated[
        float, typer.Option(help="Seconds of silence until another worker takes over its studies.", min=0.5)
    ] = 15.0,
    parent: Annotated[int | None, typer.Option(help="End with the process of this number.", hidden=True)] = None,
) -> None:
    """Fit studies as answers arrive, and keep their queues of questions full."""
    from infonn.live.cold_fits import BackgroundFitter
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
    Worker(open_live_storage(storage), claim_s, fitter=BackgroundFitter(storage)).run(stop)


class Helpers:
    """The worker processes of a server: started again when one dies, stopped with it."""

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


def _welcome(url: str, token: str | None, links: list[tuple[str, str]]) -> None:
    typer.echo(f"infonn serves {url}   (stop with Ctrl-C)")
    if token is not None:
        typer.echo(f"Owner token, shown this once: {token}")
        typer.echo("Keep it; `infonn token reset` makes a new one.")
        typer.echo(f"Owner's pages, logged in: {url}/login#token={token}")
    else:
        typer.echo(f"Owner's pages: {url}/")
    for name, link in links:
        typer.echo(f"Participants of {name}: {link}")
    sys.stdout.flush()


def _log_plainly() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
