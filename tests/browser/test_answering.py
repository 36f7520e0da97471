"""A person answers: click, keyboard, skip, undo, reload, offline, two tabs, a phone, the end."""

from __future__ import annotations

import time

from playwright.sync_api import expect

from browser.sites import CONSENT, INSTRUCTIONS, Site
from browser.steps import choose, fetched_ahead, open_study, ready, shown, told, wait_for_answers, wait_until


def test_a_person_reads_agrees_answers_by_click_and_ends_with_a_code(site: Site, new_page, picture) -> None:
    record = site.study(
        "image",
        per_person=4,
        instructions=INSTRUCTIONS,
        consent=CONSENT,
        completion_code="FRUIT-77",
        thanks="Well *done*.",
    )
    page, began = new_page(), time.monotonic()
    page.goto(site.link(record))
    expect(page.locator("#start")).to_be_disabled()
    assert site.storage.respondents(record.name) == []  # nobody is on record before they agree
    picture(page, "welcome")
    page.check("#consent")
    page.click("#start")
    ready(page)
    picture(page, "question-images")
    for _ in range(4):
        choose(page, 1)
    expect(page.locator("#code")).to_have_text("FRUIT-77")
    expect(page.locator("#end")).to_contain_text("Well done.")
    picture(page, "end")
    answered = site.answers(record)
    assert len(answered) == 4
    for pair in answered:
        assert pair.answer.response == pair.question.shown[1]  # the second on the screen
        assert 0.15 < pair.answer.response_time_s < time.monotonic() - began
        assert pair.answer.context["device"] == "desktop"
        assert pair.answer.context["hidden_times"] == 0


def test_keys_choose_skip_and_say_that_one_cannot_tell(site: Site, new_page) -> None:
    record = site.study()
    page = new_page()
    open_study(page, site.link(record))
    for key in ("3", "s", "c"):
        ready(page)
        page.keyboard.press(key)
    wait_for_answers(page, site, record, 3)
    first, second, third = site.answers(record)
    assert first.answer.response == first.question.shown[2]
    assert first.answer.context["by"] == "key"
    assert (second.answer.outcome, third.answer.outcome) == ("skipped", "cannot_tell")


def test_undo_brings_the_question_back_and_the_second_answer_counts(site: Site, new_page) -> None:
    record = site.study()
    page = new_page()
    open_study(page, site.link(record))
    first = shown(page)
    choose(page, 0)
    wait_for_answers(page, site, record, 1)
    ready(page)
    second = shown(page)
    assert second != first
    page.keyboard.press("u")
    ready(page)
    assert shown(page) == first
    expect(page.locator("#undo")).to_be_disabled()  # one answer back, not two
    choose(page, 2)
    ready(page)
    assert shown(page) == second
    expect(page.locator("#progress-text")).to_have_text("1 answered")
    undone = lambda: [pair.answer.undone for pair in site.answers(record, everything=True)]  # noqa: E731
    wait_until(page, lambda: undone() == [True, False], "the undo")
    kept = site.answers(record, everything=True)
    assert kept[1].answer.response == kept[1].question.shown[2]


def test_reload_neither_repeats_nor_skips_a_question(site: Site, new_page) -> None:
    record = site.study("image", per_person=6)
    page = new_page()
    open_study(page, site.link(record))
    seen = []
    for turn in range(6):
        ready(page)
        before = shown(page)
        page.reload()
        ready(page)
        assert shown(page) == before
        seen.append(before)
        choose(page, turn % 3)
    expect(page.locator("#end")).to_be_visible()
    assert len(set(seen)) == 6
    asked = [pair.question.id for pair in site.answers(record)]
    assert len(asked) == len(set(asked)) == 6
    page.reload()
    expect(page.locator("#end")).to_be_visible()  # whoever is done stays done


def test_answering_goes_on_without_a_connection_and_nothing_is_lost(site: Site, new_page) -> None:
    record = site.study("image", prefetch=2)
    page = new_page()
    open_study(page, site.link(record))
    fetched_ahead(page, 3)
    page.context.set_offline(True)
    expect(page.locator("#notice")).to_contain_text("No connection")
    for _ in range(3):  # one on the screen, two fetched ahead
        ready(page)
        assert page.locator(".asked img").evaluate_all("all => all.every(image => image.naturalWidth > 0)")
        choose(page, 1)
    expect(page.locator("#waiting")).to_be_visible()
    assert site.answers(record) == []
    page.context.set_offline(False)
    told(page, "Everything is saved")
    ready(page)
    wait_for_answers(page, site, record, 3)
    choose(page)
    wait_for_answers(page, site, record, 4)
    assert len({pair.question.id for pair in site.answers(record)}) == 4


def test_answers_not_yet_sent_survive_a_closed_tab(site: Site, new_page) -> None:
    record = site.study(prefetch=2)
    page = new_page()
    open_study(page, site.link(record))
    page.context.route("**/answers*", lambda route: route.abort())
    choose(page)
    choose(page)
    assert site.answers(record) == []
    page.close()
    page.context.unroute("**/answers*")
    again = page.context.new_page()
    again.goto(site.link(record))
    wait_for_answers(again, site, record, 2)
    ready(again)
    choose(again)
    wait_for_answers(again, site, record, 3)
    assert len({pair.answer.respondent for pair in site.answers(record)}) == 1


def test_a_lost_reply_does_not_make_a_second_answer(site: Site, new_page) -> None:
    record = site.study()
    page = new_page()
    open_study(page, site.link(record))
    lost = []

    def lose_first(route) -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route.fetch())  # the server stores it; the page never hears
            route.abort()

    page.context.route("**/answers*", lose_first)
    choose(page)
    told(page, "No connection")
    told(page, "Everything is saved")
    choose(page)
    wait_for_answers(page, site, record, 2)
    assert len(site.answers(record, everything=True)) == 2


def test_two_tabs_do_not_fight(site: Site, new_page, picture) -> None:
    record = site.study()
    first = new_page()
    open_study(first, site.link(record))
    asked = shown(first)
    second = first.context.new_page()
    second.goto(site.link(record))
    ready(second)
    assert shown(second) == asked
    expect(first.locator("#elsewhere")).to_be_visible()
    picture(first, "another-tab")
    choose(second)
    wait_for_answers(second, site, record, 1)
    ready(second)
    following = shown(second)
    first.click("#take-over")
    ready(first)
    assert shown(first) == following
    expect(second.locator("#elsewhere")).to_be_visible()
    choose(first)
    wait_for_answers(first, site, record, 2)
    assert len({pair.answer.respondent for pair in site.answers(record)}) == 1


def test_a_double_click_is_one_answer(site: Site, new_page) -> None:
    record = site.study()
    page = new_page()
    open_study(page, site.link(record))
    first = shown(page)
    page.locator(".choice").first.evaluate(
        """choice => {
            const { left, top } = choice.getBoundingClientRect();
            for (let i = 0; i < 2; i += 1) document.elementFromPoint(left + 30, top + 30).click();
        }"""
    )
    ready(page)
    assert shown(page) != first  # the second click met the next question, and did not count
    second = shown(page)
    wait_for_answers(page, site, record, 1)
    choose(page)
    wait_for_answers(page, site, record, 2)
    assert " | ".join(site.answers(record)[1].question.names).startswith(second.split(" | ")[0])


def test_practice_tells_what_was_meant(site: Site, new_page, picture) -> None:
    practice = [{"reference": "lemon", "candidates": ["lime", "cherry", "fig"], "expected": "lime"}] * 2
    record = site.study("image", practice=practice, per_person=1)
    page = new_page()
    open_study(page, site.link(record))
    expect(page.locator("#practice")).to_be_visible()
    page.locator(".choice", has=page.get_by_alt_text("cherry")).click()
    expect(page.locator("#feedback")).to_contain_text("this one")  # pictures are shown without their names
    expect(page.locator("#feedback").get_by_alt_text("lime")).to_be_visible()
    expect(page.locator(".wrong")).to_have_count(1)
    picture(page, "practice")
    page.keyboard.press("Enter")
    ready(page)
    page.locator(".choice", has=page.get_by_alt_text("lime")).click()
    expect(page.locator("#feedback")).to_contain_text("that is what we mean")
    page.get_by_role("button", name="Go to the questions").click()
    ready(page)
    expect(page.locator("#practice")).to_be_hidden()
    expect(page.locator("#progress-text")).to_have_text("0 of 1")
    choose(page)
    expect(page.locator("#end")).to_be_visible()


def test_practice_with_words_names_what_was_meant(site: Site, new_page) -> None:
    practice = [{"reference": "lemon", "candidates": ["lime", "cherry", "fig"], "expected": "lime"}]
    page = new_page()
    open_study(page, site.link(site.study("text", practice=practice)))
    page.locator(".choice", has_text="cherry").click()
    expect(page.locator("#feedback")).to_contain_text("“lime”")
    expect(page.locator("#feedback-picture")).to_be_hidden()


def test_a_crowd_platform_sends_and_takes_back_its_people(site: Site, new_page) -> None:
    record = site.study(per_person=1, completion_url=f"{site.url}/login?cc=ABC")
    page = new_page()
    open_study(page, site.link(record, "?PROLIFIC_PID=5f3&STUDY_ID=s1&SESSION_ID=x9"))
    choose(page)
    page.wait_for_url("**/login?cc=ABC")
    (details,) = site.storage.details(record.name).values()
    assert (details["PROLIFIC_PID"], details["STUDY_ID"], details["SESSION_ID"]) == ("5f3", "s1", "x9")
    page.goto(site.link(record, "?PROLIFIC_PID=another"))
    page.click("#start")  # another person at the same computer is another person
    ready(page)
    assert len(site.storage.respondents(record.name)) == 2


def test_a_phone_shows_everything_without_scrolling(site: Site, new_page, picture) -> None:
    for kind in ("image", "text"):
        record = site.study(kind)
        page = new_page(viewport={"width": 375, "height": 667}, has_touch=True, is_mobile=True)
        open_study(page, site.link(record))
        overflow = "document.documentElement.scrollHeight - innerHeight"
        assert page.evaluate(overflow) <= 0, kind
        sizes = page.locator(".card").evaluate_all("all => all.map(e => [e.offsetWidth, e.offsetHeight])")
        assert len({tuple(size) for size in sizes}) == 1
        assert min(min(size) for size in sizes) >= 80
        page.locator(".choice").nth(2).tap()
        wait_for_answers(page, site, record, 1)
        (pair,) = site.answers(record)
        assert pair.answer.context["device"] == "phone"
        assert pair.answer.response == pair.question.shown[2]


def test_the_keyboard_alone_is_enough(site: Site, new_page) -> None:
    record = site.study(per_person=2)
    page = new_page()
    page.goto(site.link(record))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    ready(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    ready(page)
    page.keyboard.press("1")
    expect(page.locator("#end")).to_be_visible()
    first, second = site.answers(record)
    assert first.answer.response == first.question.shown[1]
    assert second.answer.response == second.question.shown[0]


def test_keys_can_be_switched_off(site: Site, new_page, picture) -> None:
    record = site.study(instructions=INSTRUCTIONS)
    page = new_page()
    open_study(page, site.link(record))
    picture(page, "question-texts")
    page.click("#help-button")
    picture(page, "help")
    page.uncheck("#keys")
    page.click("#help-close")
    page.keyboard.press("1")
    choose(page, 2)
    wait_for_answers(page, site, record, 1)
    (pair,) = site.answers(record)
    assert (pair.answer.response, pair.answer.context["by"]) == (pair.question.shown[2], "mouse")


def test_time_away_from_the_page_is_told(site: Site, new_page) -> None:
    record = site.study()
    page = new_page()
    open_study(page, site.link(record))
    page.evaluate(
        """async () => {
            for (const hidden of [true, false]) {
                Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
                document.dispatchEvent(new Event("visibilitychange"));
                await new Promise((done) => setTimeout(done, 120));
            }
        }"""
    )
    choose(page)
    wait_for_answers(page, site, record, 1)
    context = site.answers(record)[0].answer.context
    assert context["hidden_times"] == 1
    assert context["hidden_s"] >= 0.1


def test_a_study_speaks_german(site: Site, new_page) -> None:
    record = site.study(language="de", per_person=1)
    page = new_page()
    page.goto(site.link(record))
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.get_by_role("button", name="Beginnen").click()
    ready(page)
    expect(page.locator("#asked")).to_contain_text("Was davon ist dem oberen am ähnlichsten?")


def test_wrong_and_ended_links_say_so(site: Site, new_page, picture) -> None:
    page = new_page()
    page.goto(f"{site.url}/s/nothing")
    expect(page.locator("main")).to_contain_text("no study behind this link")
    picture(page, "no-study")
    record = site.study()
    site.storage.change_study(record.name, archived=True)
    page.goto(site.link(record))
    expect(page.locator("h1")).to_have_text("This study has ended")


def test_sounds_are_played_beside_their_choice(site: Site, new_page, picture) -> None:
    record = site.study("sound", per_person=1)
    page = new_page()
    open_study(page, site.link(record))
    assert page.locator("audio[controls]").count() == 4
    picture(page, "question-sounds")
    page.locator(".asked audio").first.evaluate("audio => audio.play()")
    choose(page, 1)
    expect(page.locator("#end")).to_be_visible()


def test_whoever_wants_to_stop_may_and_can_come_back(site: Site, new_page, picture) -> None:
    record = site.study("image", thanks="See you **soon**.")
    page = new_page()
    open_study(page, site.link(record))
    choose(page)
    ready(page)
    before = shown(page)
    page.click("#stop")
    expect(page.locator("#stopped")).to_contain_text("See you soon.")
    picture(page, "stopped")
    page.click("#go-on")
    ready(page)
    assert shown(page) == before


def test_a_study_out_of_reach_says_so_and_can_be_tried_again(site: Site, new_page, picture) -> None:
    record = site.study()
    page = new_page()
    page.goto(site.link(record))
    page.context.route("**/session", lambda route: route.abort())
    page.click("#start")
    expect(page.locator("#trouble")).to_contain_text("cannot be reached")
    picture(page, "out-of-reach")
    page.context.unroute("**/session")
    page.click("#retry")
    ready(page)


def test_an_undo_while_offline_is_kept_as_well(site: Site, new_page, picture) -> None:
    record = site.study("image", prefetch=2)
    page = new_page()
    open_study(page, site.link(record))
    fetched_ahead(page, 3)
    page.context.set_offline(True)
    first = shown(page)
    choose(page, 0)
    ready(page)
    page.click("#undo")
    ready(page)
    assert shown(page) == first
    picture(page, "offline")
    choose(page, 1)
    page.context.set_offline(False)
    # The first answer, its undo and the second answer are sent one after the other.
    undone = lambda: [pair.answer.undone for pair in site.answers(record, everything=True)]  # noqa: E731
    wait_until(page, lambda: undone() == [True, False], "the undo")
    kept = site.answers(record, everything=True)
    assert kept[1].answer.response == kept[1].question.shown[1]
