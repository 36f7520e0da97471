"""An owner: logs in, creates a study from files, watches it live, leaves a person out, exports, imports."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from playwright.sync_api import expect

from browser.people import answer_for
from browser.sites import FRUITS, Site, blob
from browser.steps import A_FIT_MS, log_in, ready

CURVE = 'JSON.stringify(document.querySelector("#accuracy").data.at(-1).x)'
PLACES = 'JSON.stringify(document.querySelector("#map").data.at(-1).x)'
ACROSS = '((range) => range[1] - range[0])(document.querySelector("#map").layout.xaxis.range)'


def zipped(tmp_path: Path) -> Path:
    path = tmp_path / "fruits.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number, name in enumerate(FRUITS):
            archive.writestr(f"fruits/{name}.png", blob(number))
    return path


def test_nobody_sees_owners_pages_without_the_token(site: Site, new_page, picture) -> None:
    page = new_page()
    page.goto(f"{site.url}/studies")
    expect(page).to_have_url(f"{site.url}/login?next=/studies")
    page.fill("#token", "a wrong one")
    page.click("text=Log in")
    expect(page.locator("#problem")).to_contain_text("not the owner token")
    picture(page, "login")
    page.fill("#token", site.token)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Studies")
    page.click("#log-out")
    page.wait_for_url("**/login")
    page.goto(f"{site.url}/new")
    expect(page).to_have_url(re.compile("/login"))


def test_a_study_is_made_from_a_zip_previewed_and_answered_alone(site: Site, new_page, picture, tmp_path) -> None:
    page = new_page()
    log_in(page, site, "/new")
    page.set_input_files("#files", zipped(tmp_path))
    expect(page.locator("#name")).to_have_value("fruits")
    page.fill("#title", "Fruits")
    page.fill("#instructions", "Look **well**.")
    page.fill("#per-person", "2")
    picture(page, "new-study", full=True)
    page.locator("#create").press("Enter")
    expect(page.locator("#done")).to_be_visible()
    picture(page, "new-study-ready")
    assert page.locator("#link").text_content().startswith(f"{site.url}/s/")
    with page.expect_popup() as opened:
        page.click("#go-preview")
    preview = opened.value
    preview.click("#start")
    ready(preview)
    picture(preview, "preview")
    preview.keyboard.press("1")
    expect(preview.locator("#progress-text")).to_have_text("1 of 5")
    assert site.storage.respondents("fruits") == []
    with page.expect_popup() as opened:
        page.click("#go-answer")
    alone = opened.value
    alone.click("#start")
    for _ in range(2):
        ready(alone)
        alone.keyboard.press("2")
    expect(alone.locator("#end")).to_be_visible()
    assert len(site.storage.answers("fruits", None)) == 2


def test_wrong_files_get_a_sentence_for_each_problem(site: Site, new_page, picture) -> None:
    page = new_page()
    log_in(page, site, "/new")
    table = "name,text\napple,round\n,nothing\napple,again\npear\n"
    page.set_input_files("#files", [{"name": "items.csv", "mimeType": "text/csv", "buffer": table.encode()}])
    expect(page.locator("#problems li")).to_have_count(3)
    expect(page.locator("#problems")).to_contain_text("Line 3 has no name.")
    expect(page.locator("#problems")).to_contain_text("“apple” stands in line 2 and in line 4.")
    expect(page.locator("#problems")).to_contain_text("Line 5 has 1 columns; the header has 2.")
    picture(page, "new-study-problems", full=True)
    text = [{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"x"}]
    page.set_input_files("#files", text)
    expect(page.locator("#problems")).to_contain_text("“notes.txt” is neither")
    page.click("#create")
    expect(page.locator("#refusals li")).to_have_count(1)
    broken = [{"name": f"{i}.png", "mimeType": "image/png", "buffer": b"no picture"} for i in range(4)]
    page.set_input_files("#files", broken)
    page.fill("#name", "broken")
    page.click("#create")
    expect(page.locator("#refusals")).to_contain_text("0.png")  # what only the server can see
    assert "broken" not in {record.name for record in site.storage.studies()}


def test_a_study_from_a_table_of_texts_and_its_classes(site: Site, new_page) -> None:
    page = new_page()
    log_in(page, site, "/new")
    rows = "name,sweet,sour\n" + "".join(f"{name},{i},{i * i % 7}\n" for i, name in enumerate(FRUITS))
    page.set_input_files("#files", [{"name": "f.csv", "mimeType": "text/csv", "buffer": rows.encode()}])
    expect(page.locator("#found-text")).to_contain_text("12 items")
    page.check("input[value=labels]")
    page.fill("#classes", "tree fruit\nberry, citrus")
    page.fill("#name", "classes of fruit")
    page.click("#create")
    expect(page.locator("#done")).to_be_visible()
    spec = site.storage.study("classes of fruit").spec
    assert spec["queries"]["classes"] == ["tree fruit", "berry", "citrus"]


def test_the_dashboard_lives_and_a_person_can_be_left_out(site: Site, new_page, picture) -> None:
    record = site.study("image", hold_out=0.3, at_random=0.4)
    answer_for(site.storage, record, people=4, each=20)
    page = new_page()
    log_in(page, site)
    expect(page.locator(".study-card", has_text=record.name)).to_be_visible()
    picture(page, "studies")
    page.get_by_role("link", name=record.name, exact=True).click()
    expect(page.locator("#accuracy .points path").last).to_be_visible(timeout=A_FIT_MS)
    expect(page.locator("#map image").first).to_be_visible(timeout=A_FIT_MS)
    expect(page.locator("#people tbody tr")).to_have_count(4)
    curve, places = (page.evaluate(drawn) for drawn in (CURVE, PLACES))

    answer_for(site.storage, record, people=4, each=10)
    page.wait_for_function(f"before => {CURVE} !== before", arg=curve, timeout=A_FIT_MS)
    page.wait_for_function(f"before => {PLACES} !== before", arg=places, timeout=A_FIT_MS)

    page.locator("#map image").first.hover(force=True)
    expect(page.locator("#map-caption")).to_contain_text("nearest are")
    page.locator("#map-details summary").click()
    expect(page.locator("#map-table tbody tr")).to_have_count(12)
    page.locator("#map-details summary").click()
    whole = page.evaluate(ACROSS)
    page.click("#zoom-in")
    page.wait_for_function(f"before => {ACROSS} < 0.7 * before", arg=whole)
    page.click("#zoom-all")
    page.wait_for_function(f"before => {ACROSS} > 0.9 * before", arg=whole)
    picture(page, "dashboard", full=True)

    person = page.locator("#people tbody tr").first
    person.locator("input").click()
    expect(page.locator("#notice")).to_contain_text("was left out")
    assert sum(p.excluded for p in site.storage.respondents(record.name)) == 1
    expect(page.locator("tr.excluded")).to_have_count(1)
    page.locator("#notice button").click()
    expect(page.locator("tr.excluded")).to_have_count(0)
    assert not any(p.excluded for p in site.storage.respondents(record.name))

    page.click("#archive")
    expect(page.locator("#ended")).to_be_visible()
    page.locator("#notice button").click()
    expect(page.locator("#ended")).to_be_hidden()


def test_everything_goes_out_in_one_file_and_comes_back(site: Site, new_page, tmp_path) -> None:
    record = site.study("image")
    answer_for(site.storage, record, people=2, each=5)
    page = new_page(accept_downloads=True)
    log_in(page, site, f"/studies/{record.name.replace(' ', '%20')}")
    with page.expect_download() as got:
        page.get_by_role("link", name="Answers (CSV)").click()
    assert len(Path(got.value.path()).read_text().splitlines()) == 11
    with page.expect_download() as got:
        page.get_by_role("link", name="Everything").click()
    data = Path(got.value.path()).read_bytes()
    assert zipfile.ZipFile(io.BytesIO(data)).testzip() is None
    expect(page.locator("#map image").first).to_be_visible(timeout=A_FIT_MS)
    with page.expect_download() as got:
        page.click("#save-map-svg")
    assert Path(got.value.path()).read_text().startswith("<svg")
    with page.expect_download() as got:
        page.click("#save-accuracy-png")
    assert Path(got.value.path()).read_bytes().startswith(b"\x89PNG")

    page.goto(f"{site.url}/studies")
    page.set_input_files("#restore", [{"name": "again.zip", "mimeType": "application/zip", "buffer": data}])
    page.wait_for_url("**/studies/again%20of%20*")  # its own name is taken here
    (restored,) = [found for found in site.storage.studies() if found.name.startswith("again of")]
    before, after = (site.storage.answers(name, None) for name in (record.name, restored.name))
    assert [pair.answer.response for pair in after] == [pair.answer.response for pair in before]
    assert restored.key != record.key
