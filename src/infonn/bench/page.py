"""`infonn bench page`: from choosing an answer to the next question on the screen, in a real browser."""

from __future__ import annotations

import io
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from infonn.bench.servers import free_port, server, wait_until_up
from infonn.contracts.storage import LiveStorage
from infonn.datasets.items import ItemSet
from infonn.errors import MissingPartError
from infonn.live.status import study_status
from infonn.live.transfer import put_study
from infonn.records import Item, ItemFile
from infonn.specs.build import open_live_storage

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_SIDE = 480  # pixels of a picture


def bench_page(questions: int = 100, think_s: float = 0.4, n_items: int = 60) -> dict[str, Any]:
    """One person answers with keys: four pictures a question, chosen actively while the answers come in.

    The time runs in the page, from the key press as the browser stamped it to the frame that shows the next question
    with all its pictures decoded.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/bench.db"
        kept, port = open_live_storage(url), free_port()
        spec = {"study": {"name": "bench"}, "budget": {"answers": 10**6}, "queries": {"first": 10}}
        items = ItemSet(tuple(Item(f"item {i}", image=f"{i}.jpg") for i in range(n_items)))
        record = put_study(kept, spec, items, [ItemFile(f"{i}.jpg", "image/jpeg", picture(i)) for i in range(n_items)])
        with server(url, port, folder, workers=1):
            wait_until_up(port)
            _wait_for_questions(kept)
            seconds = _answer(f"http://127.0.0.1:{port}/s/{record.key}", questions, think_s)
            status = study_status(kept, kept.study("bench"))
        stored = len(kept.answers("bench", None))
    middle, high, highest = np.percentile(seconds, [50, 95, 100])
    return {
        "questions": len(seconds),
        "choice_to_paint_p50_s": float(middle),
        "choice_to_paint_p95_s": float(high),
        "choice_to_paint_max_s": float(highest),
        "all_stored": stored == questions + 1,
        "model_answers": status.model_answers,
        "fallback_share": status.fallback_share,
    }


def _answer(link: str, questions: int, think_s: float) -> list[float]:
    """Seconds from each choice to the paint of the next question."""
    with chromium_page() as page:
        page.goto(link)
        page.click("#start")
        for number in range(questions + 1):  # the first one warms up
            page.wait_for_selector("#stage[data-open]")
            page.wait_for_timeout(1000 * think_s)
            page.keyboard.press(str(1 + number % 3))
        page.wait_for_function("n => performance.getEntriesByName('choice-to-paint').length >= n", arg=questions + 1)
        page.wait_for_timeout(1000)
        taken = page.evaluate("performance.getEntriesByName('choice-to-paint').map((entry) => entry.duration)")
    return [milliseconds / 1000 for milliseconds in taken[1:]]


@contextmanager
def chromium_page() -> Iterator[Any]:
    """A page of a headless Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise MissingPartError('The bench drives a browser: pip install "infonn[test]".') from error
    chromium = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if chromium is None:
        raise MissingPartError("The bench needs Chromium: apt-get install chromium, or put one on the PATH.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield browser.new_page(viewport={"width": 1280, "height": 800})
        browser.close()


def _wait_for_questions(kept: LiveStorage) -> None:
    """Until the worker has filled the queue, as on a server that has run for a while."""
    end = time.monotonic() + 120
    while not kept.queue_depth("bench") and time.monotonic() < end:
        time.sleep(0.1)


def picture(number: int, side: int = _SIDE) -> bytes:
    """A picture about as large as a photograph on a page: smooth colours with some grain."""
    from PIL import Image

    rng = np.random.default_rng(number)
    coarse = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC), int)
    grain = rng.integers(-6, 7, smooth.shape)
    buffer = io.BytesIO()
    Image.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=85)
    return buffer.getvalue()
