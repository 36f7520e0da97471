"""What people and owners do on a page, each step waiting for what it needs and never for a while."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

from browser.sites import Site
from infonn.records import StudyRecord

PATIENCE_S = 45.0  # on a busy machine; nothing here waits longer than it has to
A_FIT_MS = 120_000  # what waits for the worker's model as well


def open_study(page: Page, link: str) -> None:
    """From the link to the first question."""
    page.goto(link)
    if page.locator("#consent").count():
        page.check("#consent")
    page.click("#start")
    ready(page)


def ready(page: Page) -> None:
    """A question is on the screen, long enough for a choice to count."""
    page.wait_for_selector("#question:not([hidden]) #stage[data-open]")


def shown(page: Page) -> str:
    """What the question on the screen is about."""
    names = page.locator(".asked .caption, .asked img").evaluate_all("all => all.map(e => e.alt || e.textContent)")
    return " | ".join(names)


def choose(page: Page, place: int = 0) -> None:
    ready(page)
    page.locator(".choice").nth(place).click()


def fetched_ahead(page: Page, n: int) -> None:
    """Until the page holds `n` questions and all their images have arrived."""
    page.wait_for_function(
        """n => {
            const key = location.pathname.split("/").pop();
            const { deck } = JSON.parse(localStorage.getItem(`infonn/${key}`));
            const here = new Set(performance.getEntriesByType("resource").map((entry) => new URL(entry.name).pathname));
            const items = deck.flatMap((question) => [question.reference, ...question.options.map((o) => o.item)]);
            return deck.length >= n && items.every((item) => !item?.image || here.has(item.image.split("?")[0]));
        }""",
        arg=n,
    )


def told(page: Page, text: str) -> None:
    """Until a notice with this text was shown, be it gone by now."""
    page.wait_for_function("text => window.notices.some((notice) => notice.includes(text))", arg=text)


def wait_until(page: Page, done: Callable[[], bool], what: str = "it") -> None:
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, f"{what} did not happen within {PATIENCE_S:.0f} s"
        page.wait_for_timeout(30)  # lets the browser's events in meanwhile


def wait_for_answers(page: Page, site: Site, record: StudyRecord, n: int) -> None:
    wait_until(page, lambda: len(site.answers(record)) >= n, f"answer {n}")
    assert len(site.answers(record)) == n


def log_in(page: Page, site: Site, path: str = "/studies") -> None:
    page.goto(f"{site.url}/login?next={path}#token={site.token}")
    page.wait_for_url(f"{site.url}{path}")
    expect(page.locator("h1")).to_be_visible()
