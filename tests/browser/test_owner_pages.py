"""Every page of the owner: axe-core finds no fault, nothing is wider than the screen, and pictures to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browser.conftest import NEXT_FRAME, SCREENSHOTS
from browser.people import answer_for
from browser.sites import CONSENT, INSTRUCTIONS, Site
from browser.steps import A_FIT_MS, log_in
from browser.test_access import check
from infonn.plots.study_page import AskedQuestion, Snapshot, write_report
from infonn.records import Option, Question, StudyRecord

SIZES = {
    "desktop": {"width": 1280, "height": 800},
    "phone": {"width": 390, "height": 844},
    "phone-landscape": {"width": 844, "height": 390},
}
WIDER = "document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def record(site: Site) -> StudyRecord:
    """A study with something on every part of its pages."""
    record = site.study(
        "image", hold_out=0.3, overlap=3, at_random=0.3, instructions=INSTRUCTIONS, consent=CONSENT, title="Fruits"
    )
    answer_for(site.storage, record, people=6, each=20)
    site.storage.exclude(record.name, site.storage.respondents(record.name)[2].name)
    return record


def nothing(page: Page) -> None:
    """It is there as soon as it is loaded."""


def drawn(page: Page) -> None:
    expect(page.locator("#people tbody tr")).to_have_count(6, timeout=A_FIT_MS)
    expect(page.locator("#map image").first).to_be_visible(timeout=A_FIT_MS)
    expect(page.locator("#trust dt")).to_have_count(5)


def listed(page: Page) -> None:
    expect(page.locator(".study-card").first).to_be_visible()


def tabled(page: Page) -> None:
    expect(page.locator("#tokens tbody tr").first).to_be_visible()


# name -> (path, where {study} is the study's name; until it is there)
PAGES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "studies": ("/studies", listed),
    "new": ("/new", nothing),
    "tokens": ("/tokens", tabled),
    "dashboard": ("/studies/{study}", drawn),
    "edit": ("/studies/{study}/edit", nothing),
    "report": ("/studies/{study}/report", nothing),
}


@pytest.mark.parametrize("name", PAGES)
def test_an_owners_page(site: Site, new_page: Any, axe: str, record: StudyRecord, name: str) -> None:
    path, ready = PAGES[name]
    page = new_page()
    log_in(page, site)
    page.goto(site.url + path.format(study=record.name))
    ready(page)
    check(page, axe, name)
    look_at(page, f"owner-{name}")


def test_the_login(site: Site, new_page: Any, axe: str) -> None:
    page = new_page()
    page.goto(f"{site.url}/login")
    check(page, axe, "login")
    look_at(page, "owner-login")


@pytest.fixture
def demo_report(tmp_path: Path) -> Path:
    """A page as `infonn demo` writes it."""
    rng, names = np.random.default_rng(0), [f"A dish with quite a long name {i}" for i in range(40)]
    (tmp_path / "curves.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 400"/>')
    options = tuple(Option(name, i) for i, name in enumerate(names[1:4], start=1))
    question = Question("q", "s", (0, 1, 2, 3), tuple(names[:4]), options, (0, 1, 2), score=0.7)
    write_report(
        tmp_path / "report.html",
        title="What tastes like what, learned from a few hundred answers",
        lead="40 dishes. Each question shows one and asks which of three others tastes most like it.",
        numbers=[("81.0 %", "of people's held-out judgements", True), ("204 / 235", "answers until 80 %", False)],
        curves=tmp_path / "curves.svg",
        texts=dict.fromkeys(
            ("curves_text", "map_text", "questions_text", "footer"), "Some words about what is seen here."
        ),
        names=names,
        snapshots=[Snapshot(n, rng.standard_normal((40, 3))) for n in (20, 1360)],
        questions=[AskedQuestion(question, 1)] * 5,
    )
    return tmp_path / "report.html"


def test_the_demos_report_fits_a_phone_and_has_no_fault(new_page: Any, axe: str, demo_report: Path) -> None:
    page = new_page()
    page.set_content(demo_report.read_text())
    expect(page.locator("svg.map circle").first).to_be_attached()
    check(page, axe, "demo report")
    look_at(page, "demo-report")


def look_at(page: Page, name: str) -> None:
    """Screenshots in every size, and in the dark; on none of them has one to scroll sideways."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for size, viewport in SIZES.items():
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(viewport)
        page.evaluate(NEXT_FRAME)
        assert page.evaluate(WIDER) <= 0, f"{name} is wider than a {size}"
        page.screenshot(path=SCREENSHOTS / f"{name}-{size}.png", full_page=True)
    page.set_viewport_size(SIZES["desktop"])
    page.emulate_media(color_scheme="dark")
    page.evaluate(NEXT_FRAME)
    page.screenshot(path=SCREENSHOTS / f"{name}-dark.png", full_page=True)
