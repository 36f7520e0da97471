"""What a page keeps when a server does not know it, and where a login leads."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.sites import Site
from browser.steps import choose, log_in, open_study, ready, told, wait_for_answers


@pytest.mark.parametrize("query", ["", "?PROLIFIC_PID=person-11"])
def test_point_11_a_page_keeps_unsent_answers_when_its_session_is_unknown(site: Site, new_page, query) -> None:
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


def test_point_11_a_reload_with_an_unknown_session_keeps_unsent_answers(site: Site, new_page) -> None:
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
    ("next", "leads_to"),
    [
        ("//127.0.0.2/x", "/studies"),
        ("/%09/127.0.0.2/x", "/studies"),
        ("/%5C127.0.0.2", "/studies"),
        ("https://127.0.0.2", "/studies"),
        ("javascript:0", "/studies"),
        ("/..//127.0.0.2/x", "//127.0.0.2/x"),  # a path of this site, which says by itself another one
        ("/.//127.0.0.2/x", "//127.0.0.2/x"),
        ("/tokens", "/tokens"),
    ],
)
def test_low_a_login_leads_to_this_site_alone(site: Site, new_page, next, leads_to) -> None:
    page = new_page()
    page.goto(f"{site.url}/login?next={next}#token={site.token}")
    page.wait_for_url(f"{site.url}{leads_to}")


def test_a_token_is_made_for_somebody_and_ended_on_the_page(site: Site, new_page, picture) -> None:
    record = site.study()
    page = new_page()
    page.on("dialog", lambda dialog: dialog.accept())
    log_in(page, site, "/tokens")
    page.fill("#person", "Rosa of the lab")
    page.select_option("#of-study", record.name)
    page.click("#new-token button")
    text = page.locator("#text")
    expect(text).not_to_be_empty()
    picture(page, "tokens")
    reader = new_page()
    reader.goto(f"{site.url}/login#token={text.inner_text()}")
    reader.wait_for_url(f"{site.url}/studies")
    expect(reader.locator(".study-card")).to_have_count(1)
    page.get_by_label("End the token of Rosa of the lab").click()
    expect(page.locator("#tokens")).to_contain_text("ended")
    expect(page.locator("#acts")).to_contain_text("revoke token")
    reader.reload()
    reader.wait_for_url(f"{site.url}/login?next=/studies")


def test_a_person_and_then_the_study_are_deleted_on_the_page(site: Site, new_page) -> None:
    record = site.study()
    person = new_page()
    open_study(person, site.link(record, "?participant=Anna"))
    choose(person)
    wait_for_answers(person, site, record, 1)
    person.close()
    page = new_page()
    page.on("dialog", lambda dialog: dialog.accept())
    log_in(page, site, f"/studies/{record.name.replace(' ', '%20')}")
    page.get_by_label("Delete Anna").click()
    expect(page.locator("#people")).to_contain_text("Nobody has answered yet")
    assert site.answers(record, everything=True) == []
    page.get_by_text("Delete this study for good").click()
    page.fill("#delete-name", "another name")
    page.get_by_text("Delete the study").click()
    told(page, "nothing was deleted")
    page.fill("#delete-name", record.name)
    page.get_by_text("Delete the study").click()
    page.wait_for_url(f"{site.url}/studies")
    assert record.name not in [other.name for other in site.storage.studies()]
