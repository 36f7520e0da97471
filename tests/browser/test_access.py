"""axe-core finds no fault on any page, in light and dark."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.people import answer_for
from browser.sites import CONSENT, INSTRUCTIONS, Site
from browser.steps import A_FIT_MS, ready, wait_until

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def faults(page: Page, axe: str) -> list[str]:
    """What axe-core complains about, one line for each element."""
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate(
        "rules => axe.run(document, { runOnly: { type: 'tag', values: rules } })", RULES
    )
    return [
        f"{fault['id']} ({fault['impact']}): {fault['help']}: {node['html'][:140]}"
        for fault in found["violations"]
        for node in fault["nodes"]
    ]


def check(page: Page, axe: str, where: str) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = faults(page, axe)
        assert not found, f"{where}, {scheme}:\n" + "\n".join(found)


@pytest.mark.parametrize("kind", ["text", "image"])
def test_participants_pages(site: Site, new_page, axe: str, kind: str) -> None:
    practice = [{"reference": "lemon", "candidates": ["lime", "cherry", "fig"], "expected": "lime"}]
    record = site.study(
        kind, instructions=INSTRUCTIONS, consent=CONSENT, practice=practice, per_person=1, completion_code="X1"
    )
    page = new_page()
    page.goto(site.link(record))
    check(page, axe, "welcome")
    page.check("#consent")
    page.click("#start")
    for where in ("practice", "question"):
        ready(page)
        check(page, axe, where)
        if where == "question":
            page.click("#help-button")
            check(page, axe, "help")
            page.click("#help-close")
        page.locator(".choice").first.click()
        if where == "practice":
            check(page, axe, "feedback")
            page.click("#feedback-next")
    expect(page.locator("#end")).to_be_visible()
    check(page, axe, "end")


def test_pages_beside_the_questions(site: Site, new_page, axe: str) -> None:
    fields = [
        {"name": "age", "label": "How old?", "kind": "choice", "options": ["young", "old"]},
        {"name": "place", "label": "Where from?", "kind": "choice", "options": [f"land {i}" for i in range(9)]},
        {"name": "hours", "label": "Hours slept?", "kind": "number", "least": 0, "most": 24, "required": False},
        {"name": "note", "label": "Anything else?", "kind": "long_text", "required": False},
    ]
    conditions = [{"name": "a", "instructions": "Mind the **colour**.", "order": "listed"}]
    record = site.study(
        "image",
        language="ar",
        consent=CONSENT,
        before=fields,
        conditions=conditions,
        block=1,
        per_person=2,
        min_time_s=0.2,
    )
    page = new_page()
    page.goto(site.link(record))
    page.click("#decline")
    check(page, axe, "declined")
    page.goto(site.link(record))
    page.check("#consent")
    page.click("#start")
    expect(page.locator("#briefing")).to_be_visible()
    check(page, axe, "briefing")
    page.click("#briefed")
    expect(page.locator("#about")).to_be_visible()
    page.click("#about-form button")
    check(page, axe, "form with a fault")
    page.get_by_label("young").check()
    page.get_by_label("Where from?").select_option("land 3")
    page.click("#about-form button")
    ready(page)
    check(page, axe, "question from right to left")
    page.locator(".choice").first.click()
    expect(page.locator("#pause")).to_be_visible()
    check(page, axe, "break")
    page.click("#pause-over")
    ready(page)
    page.click("#help-button")
    page.locator("#help .withdraw").click()
    check(page, axe, "withdraw")
    page.click("#withdraw-yes")
    expect(page.locator("#withdrawn")).to_be_visible()
    check(page, axe, "withdrawn")


def test_label_pages(site: Site, new_page, axe: str) -> None:
    for classes in (["pome", "stone", "citrus"], [f"class {i}" for i in range(20)]):
        page = new_page()
        page.goto(site.link(site.study("image", {"classes": classes})))
        page.click("#start")
        ready(page)
        check(page, axe, f"{len(classes)} classes")


def test_owners_pages(site: Site, new_page, axe: str) -> None:
    record = site.study("image", hold_out=0.3)
    answer_for(site.storage, record, people=3, each=12)
    page = new_page()
    page.goto(f"{site.url}/login")
    check(page, axe, "login")
    page.goto(f"{site.url}/login#token={site.token}")
    page.wait_for_selector(".study-card")
    check(page, axe, "studies")
    page.goto(f"{site.url}/new")
    check(page, axe, "new study")
    page.goto(f"{site.url}/tokens")
    expect(page.locator("#tokens tbody tr").first).to_be_visible()
    check(page, axe, "tokens")
    page.goto(f"{site.url}/studies/{record.name}")
    expect(page.locator("#people tbody tr")).to_have_count(3, timeout=A_FIT_MS)
    expect(page.locator("#map image").first).to_be_visible(timeout=A_FIT_MS)
    page.locator("#map-details summary").click()
    check(page, axe, "dashboard")
    page.click("#copy-study")
    check(page, axe, "copying")
    page.goto(f"{site.url}/studies/{record.name}/edit")
    for summary in page.locator("details.group summary").all():
        summary.click()
    for name in ("practice", "catch", "before", "conditions"):
        page.locator(f"#{name} > button").click()
    check(page, axe, "settings")


def test_other_pages(site: Site, new_page, axe: str) -> None:
    record = site.study("image", thanks="See you **soon**.")
    page = new_page()
    page.goto(f"{site.url}/s/none")
    check(page, axe, "no study")
    page.goto(site.link(record))
    page.context.route("**/session", lambda route: route.abort())
    page.click("#start")
    expect(page.locator("#trouble")).to_be_visible()
    check(page, axe, "out of reach")
    page.context.unroute("**/session")
    page.click("#retry")
    ready(page)
    page.click("#stop")
    expect(page.locator("#stopped")).to_be_visible()
    check(page, axe, "stopped")
    other = page.context.new_page()
    other.goto(site.link(record))
    expect(page.locator("#elsewhere")).to_be_visible()
    check(page, axe, "another tab")
    site.storage.change_study(record.name, archived=True)
    wait_until(page, lambda: "ended" in other.request.get(site.link(record)).text(), "the end")
    page.goto(site.link(record))
    check(page, axe, "ended")
