"""Label questions with the nearest labelled example of each class, type-ahead, and rankings."""

from __future__ import annotations

import math
from urllib.parse import quote

from playwright.sync_api import expect

from browser.people import answer_for
from browser.sites import Site
from browser.steps import log_in, open_study, ready, wait_for_answers, wait_until


def test_a_label_question_shows_an_example_of_each_class(site: Site, new_page, picture) -> None:
    classes = ["pome", "stone", "citrus"]
    record = site.study("image", {"classes": classes, "first": 2}, hold_out=0.0)
    answer_for(site.storage, record, people=1, each=6)
    page = new_page()
    page.goto(site.link(record))
    open_questions = lambda: site.storage.questions(record.name, "open")  # noqa: E731
    wait_until(page, lambda: any(option.item is not None for q in open_questions() for option in q.options))
    page.click("#start")
    ready(page)
    expect(page.locator(".classes > .item img")).to_have_count(1)
    expect(page.locator(".options .choice .caption")).to_have_text(classes)  # in their own order, every time
    assert page.locator(".choice img").count() >= 1
    picture(page, "question-labels")
    page.keyboard.press("2")
    wait_for_answers(page, site, record, 7)
    assert site.answers(record)[-1].answer.response == 1


def test_questions_drawn_by_the_server_show_examples_too(site: Site, new_page) -> None:
    record = site.study("image", {"classes": ["pome", "stone", "citrus"], "first": 2}, hold_out=0.9)
    answer_for(site.storage, record, people=4, each=12)
    reported = lambda: site.storage.notes(record.name).get("reported", {}).get("revision", [0])[0]  # noqa: E731
    page = new_page()
    wait_until(page, lambda: reported() == 48, "the last fit")
    open_study(page, site.link(record))
    (item,) = page.locator(".classes > .item img").evaluate_all("all => all.map(image => image.alt)")
    class_of = {pair.question.names[0]: pair.answer.response for pair in site.storage.answers(record.name)}
    shown = {response for name, response in class_of.items() if name != item}  # an item never stands for itself
    expect(page.locator(".choice img")).to_have_count(len(shown))


def test_letters_and_digits_are_their_own_keys(site: Site, new_page) -> None:
    record = site.study("text", {"classes": ["a", "b", "7"]})
    page = new_page()
    open_study(page, site.link(record))
    page.keyboard.press("7")
    wait_for_answers(page, site, record, 1)
    assert site.answers(record)[0].answer.response == 2


def test_many_classes_are_found_by_typing(site: Site, new_page, picture) -> None:
    classes = [
        f"{colour} {thing}" for colour in ("red", "green", "blue", "grey") for thing in ("bird", "fish", "cat", "dog")
    ]
    record = site.study("image", {"classes": classes})
    page = new_page()
    open_study(page, site.link(record))
    expect(page.locator(".search input")).to_be_focused()
    page.keyboard.type("fish")
    expect(page.locator(".card:visible")).to_have_count(4)
    page.keyboard.type("x")
    expect(page.locator(".search")).to_contain_text("No class is called that.")
    page.locator(".search input").fill("grey d")
    picture(page, "question-many-classes")
    page.locator(".search input").press("Enter")
    wait_for_answers(page, site, record, 1)
    assert classes[site.answers(record)[0].answer.response] == "grey dog"


def test_none_of_these_is_an_answer_by_click_and_by_key(site: Site, new_page) -> None:
    record = site.study("image", {"classes": ["pome", "stone", "citrus"]})
    page = new_page()
    open_study(page, site.link(record))
    page.locator(".choice.none").click()
    wait_for_answers(page, site, record, 1)
    ready(page)
    page.keyboard.press("0")
    wait_for_answers(page, site, record, 2)
    for pair in site.answers(record):
        assert (pair.answer.response, pair.answer.outcome) == (None, "cannot_tell")
        assert pair.answer.context["none_of_these"]


def test_the_nearest_labelled_items_stand_beside_many_classes(site: Site, new_page, picture) -> None:
    classes = [f"kind {number}" for number in range(20)]
    record = site.study("image", {"classes": classes, "first": 2}, hold_out=0.0)
    answer_for(site.storage, record, people=1, each=7)
    page = new_page()
    page.goto(site.link(record))
    chosen = lambda: [q for q in site.storage.questions(record.name, "open") if len(q.query) > 1]  # noqa: E731
    wait_until(page, lambda: bool(chosen()), "a chosen question")
    page.click("#start")
    ready(page)
    near = page.locator(".nearest .near")
    expect(near.first).to_be_visible()
    picture(page, "question-nearest-labelled")
    label = near.first.locator(".caption").text_content()
    near.first.click()
    wait_for_answers(page, site, record, 8)
    assert classes[site.answers(record)[-1].answer.response] == label


def test_predictions_are_looked_through_by_doubt_and_corrected(site: Site, new_page, picture) -> None:
    classes = ["pome", "stone", "citrus"]
    record = site.study("image", {"classes": classes, "first": 2}, hold_out=0.0, overlap=2)
    answer_for(site.storage, record, people=2, each=8)
    page = new_page()
    wait_until(page, lambda: site.storage.load_model(record.name) is not None, "a fit")
    log_in(page, site)
    page.goto(f"{site.url}/studies/{quote(record.name)}")
    expect(page.locator("#agreement")).to_contain_text("labelled by several people")
    page.click("#go-gallery")
    cards = page.locator("#gallery button")
    expect(cards).to_have_count(12)
    picture(page, "gallery", full=True)
    page.select_option("#shown", "labelled")
    expect(page.locator("#count")).to_contain_text("labelled")
    name = cards.first.get_attribute("aria-label").split(":")[0]
    page.click(f'#gallery button[aria-label^="{name}:"]')  # by its name: a fit in between may sort the cards anew
    expect(page.locator("#correct-heading")).to_have_text(f"What is {name}?")
    page.keyboard.type("cit")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text(f"{name} is citrus now")
    corrected = [pair for pair in site.answers(record) if pair.answer.respondent.startswith("owner")]
    assert [(pair.question.names[0], pair.answer.response) for pair in corrected] == [(name, 2)]


def test_a_ranking_is_given_click_by_click(site: Site, new_page, picture) -> None:
    record = site.study("image", {"kind": "ranking"})
    page = new_page()
    open_study(page, site.link(record))
    expect(page.locator(".choice")).to_have_count(3)
    names = page.locator(".choice img").evaluate_all("all => all.map(image => image.alt)")
    page.keyboard.press("3")
    expect(page.locator(".rank")).to_have_text("1")
    picture(page, "question-ranking")
    page.keyboard.press("1")
    wait_for_answers(page, site, record, 1)
    (pair,) = site.answers(record)
    assert len(pair.question.options) == math.factorial(3)
    label = pair.question.options[pair.answer.response].label
    assert label == " > ".join([names[2], names[0], names[1]])


def test_the_odd_one_of_three_is_chosen_without_a_reference(site: Site, new_page, picture) -> None:
    record = site.study("image", {"kind": "odd_one_out", "candidates": 2})
    page = new_page()
    open_study(page, site.link(record))
    expect(page.locator("#asked-text")).to_have_text("Which of these does not belong with the other two?")
    expect(page.locator(".choice")).to_have_count(3)
    expect(page.locator(".asked > .item")).to_have_count(0)
    names = page.locator(".choice img").evaluate_all("all => all.map(image => image.alt)")
    picture(page, "question-odd-one-out")
    page.keyboard.press("2")
    wait_for_answers(page, site, record, 1)
    page.locator(".choice").first.wait_for()
    (pair,) = site.answers(record)
    assert pair.question.options[pair.answer.response].label == names[1]
    assert sorted(pair.question.names) == sorted(names)


def test_bars_are_drawn_from_the_text(site: Site, new_page) -> None:
    page = new_page()
    open_study(page, site.link(site.study("text")))
    shown = page.evaluate(
        """async () => {
            const main = [...document.scripts].find((script) => script.src.endsWith("main.js")).src;
            const { view } = await import(main.replace("main.js", "cards.js"));
            return view({ name: "soup", text: "sweet: 67 %\\nwarm and red\\nsour: 3.5%" });
        }"""
    )
    assert shown["caption"] == "warm and red"
    assert [(bar["name"], bar["percent"]) for bar in shown["bars"]] == [("sweet", 67), ("sour", 3.5)]


def test_sounds_to_rank_stand_under_their_own_names(site: Site, new_page) -> None:
    page = new_page()
    open_study(page, site.link(site.study("text")))
    cards = page.evaluate(
        """async () => {
            const main = [...document.scripts].find((script) => script.src.endsWith("main.js")).src;
            const { build } = await import(main.replace("main.js", "cards.js"));
            const [reference, ...candidates] = ["a", "b", "c", "d"].map((name) => ({ name, audio: `/${name}.wav` }));
            const question = { kind: "ranking", reference, candidates, options: [{ response: 3 }] };
            const cards = [...build(question, {}, () => {}).node.querySelectorAll(".card")];
            const part = (card, name) => card.querySelector(name);
            return cards.map((card) => [part(card, ".caption").textContent, part(card, "audio").ariaLabel]);
        }"""
    )
    assert cards == [["c", "c"], ["d", "d"], ["b", "b"]]
