"""A server and its worker as processes of their own on this machine: for load and for faults."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

_SECRET = "the secret of servers that last as long as a test"  # so that several share one storage


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Process:
    """`infonn` with these words, in its own process group; its output goes to a file."""

    def __init__(self, words: list[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self.words, self.log = words, log
        self.environment = {**os.environ, "INFONN_SECRET": _SECRET, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        with self.log.open("ab") as out:
            command = [sys.executable, "-m", "infonn", *self.words]
            self.process = subprocess.Popen(
                command,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                env=self.environment,
                cwd=self.log.parent,  # what it writes beside it goes with the folder
                start_new_session=True,
            )
        return self

    def kill(self) -> None:
        """As the kernel or a power cut would: SIGKILL, no warning."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, number)
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)
        except ProcessLookupError:
            self.process.wait(10)
        self.process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def server(
    storage: str,
    port: int,
    folder: Path,
    workers: int = 0,
    environment: dict[str, str] | None = None,
    at_once_per_client: int = 0,
) -> Process:
    """A server; a crowd on this machine has one address, so by default nothing limits how much comes from one."""
    words = ["serve", "--storage", storage, "--port", str(port), "--workers", str(workers)]
    words += ["--limit", f"at_once_per_client={at_once_per_client}"]
    return Process(words, folder / "server.log", environment)


def worker(storage: str, folder: Path, claim_s: float = 15.0, environment: dict[str, str] | None = None) -> Process:
    return Process(["work", "--storage", storage, "--claim-s", str(claim_s)], folder / "worker.log", environment)


def wait_until_up(port: int, seconds: float = 60.0) -> None:
    """Until the server on `port` and its storage answer."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=2) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
