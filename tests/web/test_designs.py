"""What a study asks of people beyond its questions: forms, conditions, pauses, withdrawal, how it ends for them."""

import io

import pytest
from PIL import Image

from infonn.web.participants import did_work
from infonn.web.prose import markdown
from web.conftest import ITEMS, Site

AGE = {"name": "age", "label": "How old?", "kind": "choice", "options": ["under 18", "18 or more"]}
CATCH = {"reference": "item 1", "candidates": ["item 2", "item 1", "item 3"], "position": 0}


def turn_of(person) -> dict:
    return person.site.client.get(f"/api/p/{person.key}/questions", headers=person.headers).json()


# --- questions about the person --------------------------------------------------------------------


def test_nobody_is_asked_before_the_form_is_filled(site: Site) -> None:
    key = site.study(people={"before": [AGE]})
    person = site.person(key)
    assert (person.arrival["form"], person.arrival["questions"], person.arrival["finished"]) == ("before", [], False)
    assert turn_of(person)["form"] == "before"
    assert person.post("about", {"form": "before", "values": {}}).status_code == 422
    for wrong in ({"age": "seven"}, {"age": 7}, {"size": "18 or more"}):
        assert person.post("about", {"form": "before", "values": wrong}).status_code == 422, wrong
    told = person.post("about", {"form": "before", "values": {"age": "18 or more"}}).json()
    assert told["form"] is None
    assert told["questions"]
    assert site.storage.respondents("s")[0].about == {"age": "18 or more"}


def test_a_form_at_the_end_comes_before_the_code(site: Site) -> None:
    fields = [
        {"name": "hours", "label": "Hours?", "kind": "number", "least": 0, "most": 24},
        {"name": "tongues", "label": "Which?", "kind": "choices", "options": ["en", "de", "fr"], "required": False},
        {"name": "note", "label": "Anything?", "kind": "long_text", "required": False},
    ]
    key = site.study(people={"after": fields, "per_person": 1, "completion_code": "DONE"})
    person = site.person(key)
    turn = person.answer()
    assert (turn["form"], turn["finished"], turn["completion_code"]) == ("after", False, None)
    assert person.post("about", {"form": "after", "values": {"hours": 25}}).status_code == 422
    turn = person.post("about", {"form": "after", "values": {"hours": 7.5, "tongues": ["fr", "en"]}}).json()
    assert (turn["finished"], turn["ended"], turn["completion_code"]) == (True, "done", "DONE")
    about = site.storage.respondents("s")[0].about
    assert about == {"hours": 7.5, "tongues": ["en", "fr"], "note": None}


# --- how it ends -----------------------------------------------------------------------------------


def test_who_does_not_fit_is_screened_out_with_a_code_of_their_own(site: Site) -> None:
    people = {"before": [{**AGE, "screen_out": ["under 18"]}], "screen_out_code": "NOFIT", "completion_code": "DONE"}
    person = site.person(site.study(people=people))
    turn = person.post("about", {"form": "before", "values": {"age": "under 18"}}).json()
    assert (turn["finished"], turn["ended"], turn["completion_code"]) == (True, "screened_out", "NOFIT")
    assert turn["questions"] == []
    assert site.person(person.key, session=person.session).arrival["ended"] == "screened_out"


def test_an_attention_check_that_fails_too_often_ends_it(site: Site) -> None:
    people = {"catch": [CATCH], "most_wrong": 1, "screen_out_url": "https://panel.example/out", "completion_code": "D"}
    key = site.study(people=people)
    person = site.person(key)
    assert [option["label"] for option in person.questions[0]["options"]].count("item 1") == 1
    turn = person.answer(0, question=person.questions[0]["id"])
    while turn["questions"]:  # those fetched ahead may still be answered
        turn = person.answer(0)
    assert (turn["ended"], turn["completion_url"]) == ("screened_out", "https://panel.example/out")
    assert turn["completion_code"] is None


def test_who_comes_when_all_is_there_is_over_quota(site: Site) -> None:
    people = {"over_quota_url": "https://panel.example/full?id={PROLIFIC_PID}", "completion_code": "DONE"}
    key = site.study(budget={"answers": 1}, people={**people, "hold_out": 0.0, "prefetch": 0})
    turn = site.person(key).answer()
    site.app.state.server.studies.forget(key)
    assert turn["questions"] or turn["completion_code"] == "DONE"
    late = site.person(key, parameters={"PROLIFIC_PID": "a b"}).arrival
    assert (late["finished"], late["ended"], late["completion_code"]) == (True, "over_quota", None)
    assert late["completion_url"] == "https://panel.example/full?id=a%20b"


def test_a_study_takes_so_many_people(site: Site) -> None:
    key = site.study(people={"most_people": 2, "over_quota_code": "FULL"})
    first = site.person(key)
    site.person(key)
    third = site.client.post(f"/api/p/{key}/session", json={}).json()
    assert (third["ended"], third["completion_code"], third["session"]) == ("over_quota", "FULL", "")
    assert len(site.storage.respondents("s")) == 2
    assert site.person(key, session=first.session).arrival["questions"]


def test_skipping_through_earns_nothing(site: Site) -> None:
    key = site.study(people={"per_person": 4, "completion_code": "DONE"})
    lazy, honest = site.person(key), site.person(key)
    for number in range(4):
        skip = {"response": None, "outcome": "skipped"}
        skipped = lazy.answer(**skip if number else {})
        told = honest.answer(**skip if number < 2 else {})
    assert (skipped["finished"], skipped["completion_code"]) == (True, None)
    assert told["completion_code"] == "DONE"
    assert not did_work([])


# --- conditions ------------------------------------------------------------------------------------


def test_people_come_into_conditions_by_turn_or_by_link(site: Site) -> None:
    conditions = [
        {"name": "shape", "instructions": "Mind the **shape**. <b>raw</b>", "question": "Which shape?"},
        {"name": "colour", "items": ITEMS[:5], "question": "Which colour?"},
    ]
    key = site.study(people={"instructions": "Look.", "conditions": conditions})
    people = [site.person(key) for _ in range(4)]
    assert [person.arrival["study"]["question"] for person in people] == ["Which shape?", "Which colour?"] * 2
    assert "<strong>shape</strong>" in people[0].arrival["briefing"]
    assert "<b>" not in people[0].arrival["briefing"]
    assert people[1].arrival["briefing"] is None
    by_link = site.person(key, parameters={"condition": "colour"})
    for question in [*people[1].questions, *by_link.questions]:
        assert {question["reference"]["name"], *(c["name"] for c in question["candidates"])} <= set(ITEMS[:5])
    by_link.answer()
    assert [person.condition for person in site.storage.respondents("s")].count("colour") == 3
    wrong = site.client.post(f"/api/p/{key}/session", json={"parameters": {"condition": "smell"}})
    assert (wrong.status_code, "smell" in wrong.text) == (422, True)
    links = site.get("/api/studies/s")["condition_links"]
    assert links["colour"] == f"https://study.example/s/{key}?condition=colour"


def test_a_session_of_an_earlier_version_is_known(site: Site) -> None:
    key = site.study()
    person = site.person(key)
    credentials = site.app.state.server.credentials
    old = credentials._sessions(key).dumps([person.name, 0])
    assert credentials.session(key, old).respondent == person.name


# --- pause, end, copy ------------------------------------------------------------------------------


def test_a_paused_study_asks_nothing_and_keeps_what_comes(site: Site) -> None:
    key = site.study(people={"completion_code": "DONE", "prefetch": 0})
    person = site.person(key)
    patched = site.client.patch("/api/studies/s", json={"paused": True}, headers=site.owner).json()
    assert patched["paused"]
    assert site.client.get(f"/s/{key}").status_code == 503
    assert site.client.post(f"/api/p/{key}/session", json={}).status_code == 409
    turn = person.answer()
    assert (turn["paused"], turn["finished"], turn["questions"], turn["completion_code"]) == (True, False, [], None)
    site.client.patch("/api/studies/s", json={"paused": False}, headers=site.owner)
    assert turn_of(person)["questions"]


def test_the_last_day_ends_it(site: Site) -> None:
    key = site.study()
    site.client.patch("/api/studies/s", json={"people": {"ends": "2020-01-01"}}, headers=site.owner)
    assert site.client.get(f"/s/{key}").status_code == 410
    assert site.client.post(f"/api/p/{key}/session", json={}).status_code == 410
    bad = site.client.patch("/api/studies/s", json={"people": {"ends": "soon"}}, headers=site.owner)
    assert (bad.status_code, "2027-03-31" in bad.text) == (422, True)


def test_a_copy_has_everything_but_people_and_answers(site: Site) -> None:
    key = site.study(people={"title": "Fruit", "conditions": [{"name": "a"}]}, budget={"answers": 77})
    site.person(key).answer()
    made = site.client.post("/api/studies/s/copy", json={"name": "again"}, headers=site.owner)
    assert made.status_code == 201, made.text
    copy = made.json()
    assert (copy["key"] != key, copy["n_items"], copy["spec"]["budget"]["answers"]) == (True, 12, 77)
    assert copy["spec"]["people"]["title"] == "Fruit"
    assert site.storage.respondents("again") == []
    assert site.person(copy["key"]).questions
    again = site.client.post("/api/studies/s/copy", json={"name": "again"}, headers=site.owner)
    assert again.status_code == 409


# --- withdrawing -----------------------------------------------------------------------------------


def test_who_withdraws_is_deleted_with_all_answers(site: Site) -> None:
    key = site.study()
    person, other = site.person(key), site.person(key)
    person.answer()
    other.answer()
    assert person.post("withdraw", {}).status_code == 204
    assert [p.name for p in site.storage.respondents("s")] == [other.name]
    assert {pair.answer.respondent for pair in site.storage.answers("s", None, everything=True)} == {other.name}
    assert person.post("withdraw", {}).status_code == 204
    assert [act.what for act in site.storage.acts("s")][-1] == "withdrew"


def test_nobody_withdraws_for_another_or_where_it_is_not_offered(site: Site) -> None:
    key = site.study()
    known = {"parameters": {"PROLIFIC_PID": "anna"}}
    site.person(key, **known).answer()
    stranger = site.person(key, **known)  # the same id, and no proof of it
    assert stranger.post("withdraw", {}).status_code == 403
    assert len(site.storage.answers("s", None)) == 1
    closed = site.person(site.study("t", people={"withdraw": False}))
    assert closed.post("withdraw", {}).status_code == 403


# --- texts and frames ------------------------------------------------------------------------------


def test_texts_show_files_of_the_study_and_no_others(site: Site) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(picture, "PNG")
    files = [("files", ("items.csv", b"name\na\nb\nc\nd\ne\n"))]
    media = [("media", ("how to.png", picture.getvalue())), ("media", ("hello.mp4", b"\0\0\0\x20ftypisom"))]
    settings = '{"study": {"name": "shown"}, "people": {"instructions": "![Do this](how%20to.png) ![](hello.mp4)"}}'
    made = site.client.post(
        "/api/studies/upload", data={"settings": settings}, files=[*files, *media], headers=site.owner
    )
    assert made.status_code == 201, made.text
    key = made.json()["key"]
    page = site.client.get(f"/s/{key}").text
    assert f'src="/api/p/{key}/media/how%20to.png"' in page
    assert "<video" in page
    assert site.client.get(f"/api/p/{key}/media/how%20to.png").headers["content-type"] == "image/png"
    assert site.client.get(f"/api/p/{key}/media/hello.mp4").headers["content-type"] == "video/mp4"
    assert site.client.get(f"/api/p/{key}/media/items.csv").status_code == 404
    copy = site.client.post("/api/studies/shown/copy", json={"name": "again"}, headers=site.owner).json()
    assert site.client.get(f"/api/p/{copy['key']}/media/how%20to.png").status_code == 200
    refused = [("media", ("page.html", b"<script>"))]
    settings = settings.replace("shown", "other")
    made = site.client.post(
        "/api/studies/upload", data={"settings": settings}, files=[*files, *refused], headers=site.owner
    )
    assert (made.status_code, "page.html" in made.text) == (422, True)


@pytest.mark.parametrize("source", ["http://evil/x.png", "//evil/x.png", "../s/k", "a/b.png", "javascript:alert(1)"])
def test_a_text_cannot_show_what_is_elsewhere(source) -> None:
    html = markdown(f"![words]({source})", "key")
    assert ("<img" in html, "words" in html) == (False, True)


def test_raw_html_is_dropped_and_its_words_stay() -> None:
    html = markdown("one <b onclick='x()'>two</b>\n\n<div>\n<script>alert(1)</script>\n</div>\n\n**three** a < b")
    assert html == "<p>one two</p>\n<p><strong>three</strong> a &lt; b</p>\n"


def test_only_sites_that_the_study_names_may_show_it_in_a_frame(site: Site) -> None:
    closed, opened = site.study("a"), site.study("b", people={"embed_origins": ["https://lab.example"]})
    reply = site.client.get(f"/s/{closed}")
    assert reply.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
    reply = site.client.get(f"/s/{opened}")
    assert "x-frame-options" not in reply.headers
    assert "frame-ancestors 'self' https://lab.example" in reply.headers["content-security-policy"]
    assert "script-src 'self'" in reply.headers["content-security-policy"]
    assert site.client.get("/login").headers["x-frame-options"] == "DENY"


def test_a_page_speaks_the_browsers_language_where_the_study_wants_it(site: Site) -> None:
    key = site.study(people={"language": "auto"})
    for accepted, start in (("ar-EG,ar;q=0.9", "ar"), ("xx, fr;q=0.8, de", "fr"), ("xx", "en"), ("", "en")):
        page = site.client.get(f"/s/{key}", headers={"accept-language": accepted}).text
        assert f'<html lang="{start}" dir="{"rtl" if start == "ar" else "ltr"}">' in page
