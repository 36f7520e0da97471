"""What a lab plans beyond plain questions, as people and owners meet it in a browser."""

from __future__ import annotations

import http.server
import threading
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.sites import CONSENT, FRUITS, INSTRUCTIONS, Site
from browser.steps import choose, log_in, open_study, ready, wait_for_answers, wait_until

AGE = {"name": "age", "label": "How old are you?", "kind": "choice", "options": ["under 18", "18 to 29", "30 or more"]}
SIDEWAYS = {"width": 844, "height": 390}


def page_of(name: str) -> str:
    return f"/studies/{name.replace(' ', '%20')}"


# --- owners ----------------------------------------------------------------------------------------


def test_an_owner_changes_a_study_that_people_answer(site: Site, new_page, picture) -> None:
    record = site.study("image", question="Old words?", per_person=3)
    page = new_page()
    log_in(page, site, page_of(record.name))
    expect(page.locator("#go-edit")).to_have_attribute("href", f"{page_of(record.name)}/edit")
    page.click("#go-edit")
    expect(page.locator("#question")).to_have_value("Old words?")
    page.fill("#question", "Which one is more alike?")
    page.fill("#answers", "600")
    page.fill("#per-person", "2")
    page.fill("#ends", "2999-12-31")
    page.click("text=Questions about the person, conditions")
    page.locator("#before").get_by_role("button", name="Add a question").click()
    row = page.locator("#before li").first
    row.get_by_label("Name").fill("age")
    row.get_by_label("Question", exact=True).fill("How old?")
    row.get_by_label("Options").fill("young, old")
    row.get_by_label("Ends it").fill("old")
    picture(page, "edit", full=True)
    page.click("#save")
    page.wait_for_url(f"**{page_of(record.name)}")
    spec = site.storage.study(record.name).spec
    assert spec["budget"]["answers"] == 600
    people = spec["people"]
    assert (people["question"], people["per_person"], people["ends"]) == ("Which one is more alike?", 2, "2999-12-31")
    field = {"name": "age", "label": "How old?", "kind": "choice", "options": ["young", "old"]}
    assert people["before"] == [{**field, "screen_out": ["old"], "required": True}]
    page.click("#go-edit")
    expect(page.locator("#before li").get_by_label("Options")).to_have_value("young, old")  # there and back
    page.fill("#per-person", "-1")
    page.click("#save")
    expect(page.locator("#refusals")).to_contain_text("Questions per person")
    person = new_page()
    person.goto(site.link(record))
    person.click("#start")
    person.get_by_label("young").check()
    person.click("#about-form button")
    ready(person)
    expect(person.locator("#asked-text")).to_have_text("Which one is more alike?")


def test_an_owner_copies_and_pauses_a_study(site: Site, new_page) -> None:
    record = site.study("image", title="Fruits", per_person=2, prefetch=0)
    person = new_page()
    open_study(person, site.link(record))
    page = new_page()
    log_in(page, site, page_of(record.name))
    page.click("#pause-study")
    expect(page.locator("#is-paused")).to_be_visible()
    choose(person)
    expect(person.locator("#paused h1")).to_be_visible()
    stranger = new_page()
    stranger.goto(site.link(record))
    expect(stranger.locator("h1")).to_have_text("This study takes a break")
    expect(page.locator("#pause-study")).to_have_text("Go on")
    page.click("#pause-study")
    expect(page.locator("#is-paused")).to_be_hidden()
    person.click("#paused-retry")
    choose(person)
    expect(person.locator("#end")).to_be_visible()

    page.click("#copy-study")
    page.fill("#copy-name", record.name)
    page.locator("#copy-form button.main").click()
    expect(page.locator("#copy-problem")).to_contain_text("exists already")
    page.fill("#copy-name", f"{record.name} again")
    page.locator("#copy-form button.main").click()
    page.wait_for_url(f"**{page_of(record.name)}%20again")
    assert site.storage.study(f"{record.name} again").spec["people"]["title"] == "Fruits"
    assert site.storage.answers(f"{record.name} again", None) == []


def test_the_form_makes_no_name_of_one_picture_and_forgets_old_faults(site: Site, new_page) -> None:
    from browser.sites import blob

    page = new_page()
    log_in(page, site, "/new")
    page.click("#create")
    expect(page.locator("#refusals")).to_contain_text("Choose the files first")
    files = [{"name": f"{name}.png", "mimeType": "image/png", "buffer": blob(i)} for i, name in enumerate(FRUITS[:5])]
    page.set_input_files("#files", files)
    expect(page.locator("#found-text")).to_contain_text("5 items")
    expect(page.locator("#refusals li")).to_have_count(0)
    expect(page.locator("#name")).to_have_value("")
    page.fill("#name", "five pictures")
    page.fill("#dims", "3")
    page.fill("#thanks", "Bye.")
    page.set_input_files("#media", [{"name": "how.png", "mimeType": "image/png", "buffer": blob(7)}])
    page.fill("#instructions", "![Like this](how.png)")
    page.click("text=Practice, checks and breaks")
    page.locator("#catch").get_by_role("button", name="Add a catch question").click()
    row = page.locator("#catch li").first
    row.get_by_label("Reference").fill("apple")
    row.get_by_label("Candidates").fill("pear, apple, plum")
    page.fill("#catch-every", "5")
    page.click("#create")
    expect(page.locator("#done")).to_be_visible()
    spec = site.storage.study("five pictures").spec
    assert spec["learner"]["dims"] == 3
    assert spec["people"]["catch"] == [{"reference": "apple", "candidates": ["pear", "apple", "plum"]}]
    person = new_page()
    person.goto(page.locator("#link").text_content())
    shown = person.get_by_role("img", name="Like this")
    expect(shown).to_be_visible()
    assert shown.evaluate("image => image.naturalWidth") > 0


# --- questions -------------------------------------------------------------------------------------


def test_an_attention_check_shows_the_reference_again(site: Site, new_page) -> None:
    catch = [{"reference": "fig", "candidates": ["kiwi", "fig", "lime"], "position": 0}]
    record = site.study("text", catch=catch, per_person=2)
    page = new_page()
    open_study(page, site.link(record))
    expect(page.locator(".asked > .item")).to_contain_text("fig")
    page.get_by_role("button", name="fig").click()
    choose(page)
    expect(page.locator("#end")).to_be_visible()
    (caught,) = [pair for pair in site.answers(record) if pair.question.purpose == "catch"]
    assert caught.answer.response == caught.question.expected


def test_a_person_is_asked_again_what_they_answered(site: Site, new_page) -> None:
    record = site.study("text", self_repeats=0.5, repeat_gap=2, per_person=12, hold_out=0.0)
    page = new_page()
    open_study(page, site.link(record))
    for _ in range(12):
        choose(page)
    expect(page.locator("#end")).to_be_visible()
    pairs = site.answers(record)
    again = [pair.question for pair in pairs if pair.question.purpose == "repeat"]
    first = {pair.question.id: pair.question.query for pair in pairs}
    assert again
    assert all(first[question.copy_of] == question.query for question in again)


def test_too_many_wrong_checks_screen_a_person_out(site: Site, new_page, picture) -> None:
    catch = [{"reference": "fig", "candidates": ["kiwi", "fig", "lime"], "position": 0}]
    record = site.study("text", catch=catch, most_wrong=1, prefetch=0, screen_out_code="OUT-1", completion_code="DONE")
    page = new_page()
    open_study(page, site.link(record))
    page.get_by_role("button", name="kiwi").click()
    expect(page.locator("#end h1")).to_have_text("Thank you for your interest")
    expect(page.locator("#code")).to_have_text("OUT-1")
    picture(page, "screened-out")


def test_a_shortest_look_and_breaks_between_blocks(site: Site, new_page, picture) -> None:
    record = site.study("image", min_time_s=0.6, block=2, pause_text="Stretch a little.", per_person=3)
    page = new_page()
    page.goto(site.link(record))
    page.click("#start")
    page.wait_for_selector("#question:not([hidden]) .choice")
    page.locator(".choice").first.click()  # too early to count
    choose(page)
    choose(page)
    expect(page.locator("#pause")).to_contain_text("You have answered 2 questions.")
    expect(page.locator("#pause")).to_contain_text("Stretch a little.")
    picture(page, "pause")
    page.reload()
    expect(page.locator("#pause")).to_be_visible()
    page.click("#pause-over")
    choose(page)
    expect(page.locator("#end")).to_be_visible()
    assert all(pair.answer.response_time_s >= 0.6 for pair in site.answers(record))


def test_a_break_lasts_as_long_as_it_has_to(site: Site, new_page) -> None:
    record = site.study("text", block=1, pause_s=1.2, per_person=2)
    page = new_page()
    open_study(page, site.link(record))
    choose(page)
    expect(page.locator("#pause-over")).to_be_disabled()
    expect(page.locator("#pause-over")).to_have_text("Go on")
    page.click("#pause-over")
    choose(page)
    expect(page.locator("#end")).to_be_visible()


def test_practice_says_what_was_meant_with_its_picture(site: Site, new_page, picture) -> None:
    practice = [{"reference": "lemon", "candidates": ["lime", "cherry", "fig"], "expected": "lime"}]
    record = site.study("image", practice=practice, per_person=1)
    page = new_page()
    open_study(page, site.link(record))
    page.get_by_role("button", name="fig").click()
    expect(page.locator("#feedback-text")).to_have_text("Here we would have chosen this one:")
    expect(page.locator("#feedback-picture")).to_be_visible()
    picture(page, "practice-feedback")


# --- people ----------------------------------------------------------------------------------------


def test_conditions_have_their_own_words_and_items(site: Site, new_page, picture) -> None:
    conditions = [
        {"name": "colour", "instructions": "Mind the **colour** alone.", "question": "Which colour is nearest?"},
        {"name": "few", "items": list(FRUITS[:5]), "order": "listed", "question": "Which shape is nearest?"},
    ]
    record = site.study("text", instructions=INSTRUCTIONS, conditions=conditions, per_person=4, hold_out=0.0)
    first = new_page()
    first.goto(site.link(record))
    first.click("#start")
    expect(first.locator("#briefing")).to_contain_text("Mind the colour alone.")
    picture(first, "briefing")
    first.click("#briefed")
    ready(first)
    expect(first.locator("#asked-text")).to_have_text("Which colour is nearest?")
    first.reload()
    ready(first)  # told once
    second = new_page()
    open_study(second, site.link(record))  # by turn
    expect(second.locator("#asked-text")).to_have_text("Which shape is nearest?")
    for _ in range(4):
        choose(second)
    expect(second.locator("#end")).to_be_visible()
    asked = [pair.question for pair in site.answers(record)]
    assert [question.names[0] for question in asked] == list(FRUITS[:4])
    third = new_page()
    open_study(third, site.link(record, "?condition=few"))
    expect(third.locator("#asked-text")).to_have_text("Which shape is nearest?")


def test_questions_about_the_person_before_and_after(site: Site, new_page, picture) -> None:
    after = [
        {"name": "tongues", "label": "Which languages?", "kind": "choices", "options": ["one", "two", "three"]},
        {"name": "place", "label": "Where from?", "kind": "choice", "options": [f"land {i}" for i in range(9)]},
        {"name": "hours", "label": "Hours slept?", "kind": "number", "least": 0, "most": 24},
        {"name": "note", "label": "Anything else?", "kind": "long_text", "required": False},
    ]
    record = site.study("text", before=[AGE], after=after, per_person=1, completion_code="FORM-1")
    page = new_page()
    page.goto(site.link(record))
    page.click("#start")
    expect(page.locator("#about h1")).to_have_text("A few questions about you")
    picture(page, "about-before")
    page.click("#about-form button")
    expect(page.locator("#about-form .problem")).to_have_text("Please answer: How old are you?")
    page.get_by_label("18 to 29").check()
    page.reload()
    expect(page.locator("#about h1")).to_have_text("A few questions about you")
    page.get_by_label("18 to 29").check()
    page.click("#about-form button")
    choose(page)
    expect(page.locator("#about h1")).to_have_text("Before you go")
    page.get_by_label("two").check()
    page.get_by_label("three").check()
    page.get_by_label("Where from?").select_option("land 4")
    page.get_by_label("Hours slept?").fill("30")
    page.click("#about-form button")
    expect(page.locator("#about-form .problem")).to_contain_text("Hours slept?")
    page.get_by_label("Hours slept?").fill("7.5")
    picture(page, "about-after")
    page.click("#about-form button")
    expect(page.locator("#code")).to_have_text("FORM-1")
    (person,) = site.storage.respondents(record.name)
    said = {"age": "18 to 29", "tongues": ["two", "three"], "place": "land 4", "hours": 7.5, "note": None}
    assert person.about == said


def test_who_does_not_fit_is_sent_back_with_a_code(site: Site, new_page) -> None:
    record = site.study("text", before=[{**AGE, "screen_out": ["under 18"]}], screen_out_code="SCREENED")
    page = new_page()
    page.goto(site.link(record, "?PROLIFIC_PID=abc"))
    page.click("#start")
    page.get_by_label("under 18").check()
    page.click("#about-form button")
    expect(page.locator("#code")).to_have_text("SCREENED")
    assert site.answers(record) == []


def test_people_decline_and_withdraw(site: Site, new_page, picture) -> None:
    record = site.study("text", consent=CONSENT, per_person=5)
    page = new_page()
    page.goto(site.link(record))
    page.click("#decline")
    expect(page.locator("#declined")).to_contain_text("Nothing about you was stored")
    picture(page, "declined")
    assert site.storage.respondents(record.name) == []
    open_study(page, site.link(record))
    choose(page)
    wait_for_answers(page, site, record, 1)
    page.click("#help-button")
    page.locator("#help .withdraw").click()
    picture(page, "withdraw")
    page.click("#withdraw-no")
    page.locator("#help .withdraw").click()
    page.click("#withdraw-yes")
    expect(page.locator("#withdrawn")).to_be_visible()
    picture(page, "withdrawn")
    assert site.answers(record, everything=True) == []
    assert site.storage.respondents(record.name) == []
    page.reload()
    expect(page.locator("#welcome")).to_be_visible()


# --- looks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["ar", "ja"])
def test_a_study_in_another_script(site: Site, new_page, picture, language: str) -> None:
    record = site.study("image", language=language, per_person=2, before=[AGE], instructions="…", consent="…")
    page = new_page()
    page.goto(site.link(record))
    rtl = language == "ar"
    assert page.evaluate("getComputedStyle(document.body).direction") == ("rtl" if rtl else "ltr")
    page.check("#consent")
    page.click("#start")
    page.get_by_label("18 to 29").check()
    page.click("#about-form button")
    ready(page)
    picture(page, f"question-{language}")
    title, button = page.locator(".study-title").bounding_box(), page.locator("#help-button").bounding_box()
    assert (title["x"] > button["x"]) == rtl
    page.keyboard.press("ArrowLeft" if rtl else "ArrowRight")
    page.keyboard.press("ArrowLeft" if rtl else "ArrowRight")
    expect(page.locator(".choice").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    choose(page)
    expect(page.locator("#end")).to_be_visible()


@pytest.mark.parametrize("kind", ["image", "text", "labels"])
def test_a_phone_held_sideways_shows_every_button(site: Site, new_page, kind: str) -> None:
    queries: dict[str, Any] = {"classes": ["pome", "stone", "citrus", "berry"]} if kind == "labels" else {}
    record = site.study("text" if kind == "text" else "image", queries)
    page = new_page(viewport=SIDEWAYS, has_touch=True, is_mobile=True)
    open_study(page, site.link(record))
    for name in ("#undo", "#cannot-tell", "#skip", ".choice >> nth=0", ".choice >> nth=-1", ".asked > .item"):
        box = page.locator(name).bounding_box()
        assert box["y"] >= 0, name
        assert box["y"] + box["height"] <= SIDEWAYS["height"], name
        assert box["x"] >= 0, name
        assert box["x"] + box["width"] <= SIDEWAYS["width"], name
    page.click("#skip")
    wait_for_answers(page, site, record, 1)


def test_a_whole_study_by_keyboard_and_by_its_accessible_names(site: Site, new_page) -> None:
    """Tab, arrows, space and Enter alone, single keys switched off."""
    record = site.study("image", consent=CONSENT, before=[AGE], per_person=2, block=1, completion_code="KEYS")
    page = new_page()
    page.goto(site.link(record))
    page.wait_for_selector("html[data-ready]")
    tab_to(page, "I have read this and agree to take part.")
    page.keyboard.press("Space")
    tab_to(page, "Start")
    page.keyboard.press("Enter")
    expect(page.locator("#about")).to_be_visible()
    tab_to(page, "under 18")
    page.keyboard.press("ArrowDown")
    tab_to(page, "Continue")
    page.keyboard.press("Enter")
    ready(page)
    page.evaluate("document.querySelector('#keys').click()")
    for number in range(2):
        ready(page)
        name = page.locator(".choice img").first.get_attribute("alt")
        tab_to(page, name)
        page.keyboard.press("Enter")
        if not number:
            expect(page.locator("#pause")).to_be_visible()
            tab_to(page, "Go on")
            page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Thank you!")).to_be_focused()
    expect(page.get_by_role("status", name="Your completion code")).to_have_text("KEYS")


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has this name has the focus."""
    script = """() => {
        const at = document.activeElement;
        const label = at.labels?.[0]?.textContent ?? at.getAttribute("aria-label") ?? at.textContent;
        return (label.trim() || at.querySelector("img")?.alt || "").trim();
    }"""
    for _ in range(40):
        page.keyboard.press("Tab")
        if name in (page.evaluate(script), page.evaluate("document.activeElement.querySelector?.('img')?.alt")):
            return
    raise AssertionError(f'"{name}" cannot be reached with the Tab key')


# --- inside another page ---------------------------------------------------------------------------


@pytest.fixture
def lab() -> Any:
    """Another site, whose page shows whatever is named after #."""

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"""<!doctype html><title>lab</title><body><iframe width=900 height=700></iframe><script>
                window.told = [];
                addEventListener("message", (event) => told.push({ origin: event.origin, data: event.data }));
                document.querySelector("iframe").src = location.hash.slice(1);
            </script>"""
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_a_study_inside_another_page_tells_it_when_it_is_over(site: Site, new_page, lab: str) -> None:
    origins = [lab, "http://127.0.0.1:9"]
    record = site.study("text", per_person=1, embed_origins=origins, completion_code="IN-1", completion_url=f"{lab}/x")
    page = new_page()
    page.goto(f"{lab}/#{site.link(record, '?participant=p7')}")
    frame = page.frame_locator("iframe")
    frame.locator("#start").click()
    frame.locator("#stage[data-open]").wait_for()
    frame.locator(".choice").first.click()
    expect(frame.locator("#end")).to_be_visible()
    wait_until(page, lambda: page.evaluate("told.length") == 1, "the message")
    (told,) = page.evaluate("told")
    assert told["origin"] == site.url
    assert told["data"]["event"] == "ended"
    assert (told["data"]["ended"], told["data"]["participant"]) == ("done", "p7")
    assert told["data"]["completion_code"] == "IN-1"
