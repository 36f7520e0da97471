"""What a page keeps when a server does not know it, and where a login leads."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.sites import Site
from browser.steps import choose, open_study, ready, told, wait_for_answers


@pytest.mark.parametrize("query", ["", "?PROLIFIC_PID=person-11"])
def test_11_a_page_keeps_unsent_answers_when_its_session_is_unknown(site: Site, new_page, query) -> None:
    record = site.study(prefetch=2)
    page = new_page()
    open_study(page, site.link(record, query))
    refused = {"status": 401, "json": {"detail": "Your session is not known here."}}
    page.context.route("**/answers*", lambda route: route.fulfill(**refused))  # a server with another secret
    choose(page)
    told(page, "does not know this session")
    expect(page.locator("#start")).to_be_visible()
    assert site.answers(record) == []
    page.context.unroute("**/answers*")
    page.reload()
    wait_for_answers(page, site, record, 1)
    page.click("#start")
    ready(page)
    choose(page)
    wait_for_answers(page, site, record, 2)
    assert len({pair.answer.respondent for pair in site.answers(record)}) == (1 if query else 2)


def test_11_a_reload_with_an_unknown_session_keeps_unsent_answers(site: Site, new_page) -> None:
    record = site.study(prefetch=2)
    page = new_page()
    open_study(page, site.link(record))
    page.context.route("**/answers*", lambda route: route.abort())
    choose(page)
    told(page, "No connection")
    kept = page.evaluate("key => JSON.parse(localStorage.getItem(key)).session", f"infonn/{record.key}")
    page.context.route("**/session", lambda route: route.continue_(post_data='{"parameters": {}}'))
    page.reload()  # this server takes the person for a new one
    ready(page)
    unsent = page.evaluate("key => JSON.parse(localStorage.getItem(key)).unsent", f"infonn/{record.key}")
    assert [(lot["session"], len(lot["entries"])) for lot in unsent] == [(kept, 1)]
    page.context.unroute("**/answers*")
    page.reload()
    wait_for_answers(page, site, record, 1)


@pytest.mark.parametrize(
    "next", ["//127.0.0.2/x", "/%09/127.0.0.2/x", "/%5C127.0.0.2", "https://127.0.0.2", "javascript:0"]
)
def test_low_a_login_leads_to_this_site_alone(site: Site, new_page, next) -> None:
    page = new_page()
    page.goto(f"{site.url}/login?next={next}#token={site.token}")
    page.wait_for_url(f"{site.url}/studies")
