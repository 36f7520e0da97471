"""A real server with its worker, a real Chromium, and pictures of every page in runs/screenshots/."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from browser.sites import Site
from browser.steps import PATIENCE_S
from infonn.live.worker import Worker
from infonn.storage.memory import MemoryStorage
from infonn.web.app import create_app
from infonn.web.security import reset_owner_token
from infonn.web.server import Limits

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-gpu-watchdog",  # a busy machine is no reason to give up
]
SCREENSHOTS = Path(__file__).parents[2] / "runs" / "screenshots"
expect.set_options(timeout=1000 * PATIENCE_S)
PHONE = {"width": 390, "height": 844}
SIDEWAYS = {"width": 844, "height": 390}
WIDE = {"width": 1280, "height": 800}
KEEP_NOTICES = """
    window.notices = [];
    addEventListener("DOMContentLoaded", () => {
        const place = document.querySelector("#notice");
        const keep = () => place.textContent && window.notices.push(place.textContent);
        if (place) new MutationObserver(keep).observe(place, { childList: true, characterData: true, subtree: true });
    });
"""
NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def chromium() -> str:
    """Chromium's path; it is installed from Debian's packages where none is found."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        for words, seconds in (["update", "-q"], 60), (["install", "-y", "-q", "chromium"], 220):
            subprocess.run(["apt-get", *words], check=False, capture_output=True, timeout=seconds)
        found = shutil.which("chromium")
    if found is None:
        pytest.fail("The browser tests need Chromium: apt-get install chromium (or put one on the PATH).")
    return found


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browsers(playwright: Playwright) -> Iterator[list[Browser]]:
    """Browsers so far: one, unless it died."""
    launched: list[Browser] = []
    yield launched
    for browser in launched:
        browser.close()


@pytest.fixture
def browser(playwright: Playwright, browsers: list[Browser]) -> Browser:
    if not browsers or not browsers[-1].is_connected():
        browsers.append(playwright.chromium.launch(executable_path=chromium(), args=FLAGS))
    return browsers[-1]


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core's source, from the npm registry, kept in the user's cache."""
    version = "4.10.3"
    kept = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "infonn-tests" / f"axe-{version}.min.js"
    if not kept.is_file():
        if shutil.which("npm") is None:
            pytest.fail("The accessibility tests fetch axe-core with npm, and there is no npm: install nodejs and npm.")
        with tempfile.TemporaryDirectory() as folder:
            packed = subprocess.run(
                ["npm", "pack", f"axe-core@{version}", "--silent"], cwd=folder, capture_output=True, text=True
            )
            if packed.returncode:
                pytest.fail(f"npm could not fetch axe-core {version}: {packed.stderr.strip()}")
            shutil.unpack_archive(next(Path(folder).glob("*.tgz")), folder)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(folder) / "package" / "axe.min.js", kept)
    return kept.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """A server on a free port of this machine."""
    storage = MemoryStorage()
    token = reset_owner_token(storage)
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    app = create_app(storage, url, Limits(per_session=0, per_client=0, logins_per_minute=0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    stop = threading.Event()
    threads = [
        threading.Thread(target=server.run, args=([listening],), daemon=True),
        threading.Thread(target=Worker(storage).run, args=(stop,), daemon=True),
    ]
    for thread in threads:
        thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Site(url, token, storage)
    server.should_exit = True
    stop.set()
    for thread in threads:
        thread.join(timeout=5)


@pytest.fixture
def new_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Opens pages, each in a browser of its own; a script error, a refused resource or another host fails the test."""
    opened: list[BrowserContext] = []
    problems: list[str] = []

    def open_page(**settings: Any) -> Page:
        context = browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **settings})
        opened.append(context)
        context.set_default_timeout(1000 * PATIENCE_S)
        context.add_init_script(KEEP_NOTICES)
        watch(context, problems)
        return context.new_page()

    yield open_page
    for context in opened:
        with contextlib.suppress(Exception):
            context.close()
    if not request.node.get_closest_marker("expects_problems"):
        assert not problems, "\n".join(problems)


def watch(context: BrowserContext, problems: list[str]) -> None:
    context.on("weberror", lambda error: problems.append(f"script error: {error.error}"))
    context.on(
        "console",
        lambda message: (
            problems.append(f"console: {message.text}")
            if message.type == "error" and "Failed to load resource" not in message.text
            else None
        ),
    )
    context.on(
        "request",
        lambda sent: (
            problems.append(f"request to another host: {sent.url}")
            if not sent.url.startswith(("http://127.0.0.1:", "data:", "blob:"))
            else None
        ),
    )


@pytest.fixture
def picture() -> Any:
    """picture(page, "question"): a screenshot in light, dark and phone size, upright and sideways."""

    def take(page: Page, name: str, full: bool = False) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        before = page.viewport_size or WIDE
        for scheme, size, ending in (
            *(("light", WIDE, ""), ("dark", WIDE, "-dark")),
            *(("light", PHONE, "-phone"), ("light", SIDEWAYS, "-phone-landscape")),
        ):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(size)
            page.evaluate(NEXT_FRAME)
            page.screenshot(path=SCREENSHOTS / f"{name}{ending}.png", full_page=full)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(before)
        page.evaluate(NEXT_FRAME)

    return take
