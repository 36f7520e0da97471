"""What a participant's link can do."""

import pytest

from infonn.records import Item, ItemFile, StudyRecord

PRACTICE = {"reference": "item 0", "candidates": ["item 1", "item 2", "item 3"], "expected": "item 2"}


def test_a_person_arrives_and_is_asked(site) -> None:
    person = site.person(site.study(people={"title": "Dishes", "instructions": "Please *look*."}))
    assert person.arrival["study"]["title"] == "Dishes"
    assert len(person.questions) == 3  # one, and two fetched ahead
    question = person.questions[0]
    assert question["reference"]["name"].startswith("item ")
    assert sorted(option["response"] for option in question["options"]) == [0, 1, 2]
    assert question["expected"] is None
    assert person.arrival["progress"] == {"done": 0, "of": None}


def test_one_round_trip_stores_an_answer_and_brings_the_next_question(site) -> None:
    person = site.person(site.study())
    second = person.questions[1]
    reply = person.answer(1)
    assert reply["questions"][0] == second
    assert len(reply["questions"]) == 3
    assert reply["progress"]["done"] == 1
    assert (reply["answer"]["response"], reply["answer"]["late"]) == (1, False)
    assert len(site.storage.answers("s", None)) == 1


def test_the_same_post_again_gets_the_same_reply(site) -> None:
    person = site.person(site.study())
    body = {"id": "client-id-1", "question": person.questions[0]["id"], "response": 2}
    first, again = person.post("answers", body), person.post("answers", body)
    assert first.json() == again.json()
    assert len(site.storage.answers("s", None)) == 1


def test_reload_gives_the_same_questions(site) -> None:
    key = site.study()
    person = site.person(key)
    back = site.person(key, session=person.session)
    assert (back.name, back.questions) == (person.name, person.questions)
    asked = site.client.get(f"/api/p/{key}/questions", headers=person.headers).json()
    assert asked["questions"] == person.questions


@pytest.mark.parametrize("outcome", ["skipped", "cannot_tell"])
def test_skipping_and_not_being_able_to_tell_are_on_record(site, outcome) -> None:
    person = site.person(site.study())
    reply = person.answer(None, outcome=outcome, response_time_s=1.5, context={"device": "phone"})
    assert reply["answer"]["outcome"] == outcome
    stored = site.storage.answers("s", None)[0].answer
    assert (stored.outcome, stored.response_time_s, stored.context) == (outcome, 1.5, {"device": "phone"})


def test_undo_brings_the_question_back(site) -> None:
    person = site.person(site.study())
    question = person.questions[0]
    answered = person.answer(1)
    reply = person.post("undo", {"answer": answered["answer"]["id"]})
    assert reply.status_code == 200
    assert reply.json()["questions"][0] == question
    assert reply.json()["answer"]["undone"]
    assert reply.json()["progress"]["done"] == 0


def test_nobody_undoes_what_another_person_said(site) -> None:
    key = site.study()
    anna, bert = site.person(key), site.person(key)
    answered = anna.answer(1)
    reply = bert.post("undo", {"answer": answered["answer"]["id"]})
    assert reply.status_code == 404
    assert len(site.storage.answers("s", None)) == 1


def test_practice_tells_what_was_expected_and_other_questions_do_not(site) -> None:
    catch = [{"position": 1, **PRACTICE}]
    key = site.study(people={"practice": [PRACTICE], "catch": catch, "per_person": 3, "completion_code": "C0DE"})
    person = site.person(key)
    first = person.questions[0]
    assert (first["practice"], first["expected"]) == (True, 1)
    assert [question["practice"] for question in person.questions[1:]] == [False, False]
    assert {question["expected"] for question in person.questions[1:]} == {None}
    for _ in range(4):
        reply = person.answer(0)
    assert (reply["finished"], reply["completion_code"]) == (True, "C0DE")
    assert reply["progress"] == {"done": 3, "of": 3}
    assert [pair.question.purpose for pair in site.storage.answers("s", "catch")] == ["catch"]


@pytest.mark.parametrize(
    ("queries", "candidates", "expected", "response"),
    [
        ({"kind": "ranking"}, ["item 1", "item 2", "item 3"], "item 3 > item 1 > item 2", 4),
        ({"classes": ["cat", "dog", "fox"]}, [], "fox", 2),
    ],
)
def test_rankings_and_labels_have_practice_and_catch_questions(site, queries, candidates, expected, response) -> None:
    entry = {"reference": "item 0", "candidates": candidates, "expected": expected}
    key = site.study(
        study={"name": "s", "task": "labels" if "classes" in queries else "similarity"},
        queries=queries,
        features=[[float(i)] for i in range(12)],
        people={"practice": [entry], "catch": [{"position": 0, **entry}], "prefetch": 0, "per_person": 2},
    )
    person = site.person(key)
    assert (person.questions[0]["practice"], person.questions[0]["expected"]) == (True, response)
    person.answer(response)
    person.answer(response)
    (row,) = site.get("/api/studies/s/people")
    assert (row["catch_right"], row["catch_asked"]) == (1, 1)


def test_the_crowd_platforms_id_finds_the_person_again(site) -> None:
    key = site.study()
    link = {"PROLIFIC_PID": "5f1", "STUDY_ID": "a", "SESSION_ID": "b"}
    assert site.person(key, parameters=link).name == site.person(key, parameters=link).name
    assert site.person(key, parameters={"PROLIFIC_PID": "other"}).name != site.person(key, parameters=link).name
    assert "5f1" not in str(site.storage.answers("s", None))


def test_the_study_ends_when_it_has_its_answers(site) -> None:
    key = site.study(
        budget={"answers": 2}, people={"hold_out": 0.0, "prefetch": 0, "completion_url": "https://done.example"}
    )
    person = site.person(key)
    person.answer()
    site.app.state.server.studies._kept.clear()  # what a second would do
    person.answer()
    site.app.state.server.studies._kept.clear()
    reply = site.client.get(f"/api/p/{key}/questions", headers=person.headers).json()
    while reply["questions"]:
        reply = person.answer(0, reply["questions"][0]["id"])
    assert (reply["finished"], reply["completion_url"]) == (True, "https://done.example")


def test_an_ended_study_takes_what_is_held_and_lets_nobody_in(site) -> None:
    key = site.study()
    person = site.person(key)
    site.client.patch("/api/studies/s", json={"archived": True}, headers=site.owner)
    site.app.state.server.studies._kept.clear()
    assert site.client.post(f"/api/p/{key}/session", json={}).status_code == 410
    assert (
        person.post("answers", {"id": "late-one", "question": person.questions[0]["id"], "response": 0}).status_code
        == 200
    )


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"response": 3}, 422),
        ({"response": -1}, 422),
        ({"response": None}, 422),
        ({"outcome": "skipped"}, 422),
        ({"outcome": "perhaps"}, 422),
        ({"question": "nonsense"}, 404),
        ({"id": "short"}, 422),
        ({"extra": 1}, 422),
        ({"context": {"x": "y" * 5000}}, 413),
    ],
)
def test_bad_answers_are_refused_in_one_sentence(site, changes, status) -> None:
    person = site.person(site.study())
    body = {"id": "client-id-1", "question": person.questions[0]["id"], "response": 0, **changes}
    reply = person.post("answers", body)
    assert reply.status_code == status
    assert isinstance(reply.json()["detail"], str)
    assert site.storage.revision("s") == (0, 0)


def test_a_second_answer_is_a_conflict(site) -> None:
    person = site.person(site.study())
    question = person.questions[0]["id"]
    person.answer(1)
    reply = person.post("answers", {"id": "another-id", "question": question, "response": 0})
    assert reply.status_code == 409
    assert "already answered" in reply.json()["detail"]


def test_images_are_served_from_the_studys_own_items_alone(site) -> None:
    items = [Item("a", image="a.png"), Item("b"), Item("c"), Item("d")]
    spec = {"study": {"name": "pictures"}}
    site.storage.create_study(
        StudyRecord("pictures", spec, key="k" * 22), items, None, [ItemFile("a.png", "image/png", b"png")]
    )
    reply = site.client.get(f"/api/p/{'k' * 22}/items/0/image")
    assert (reply.content, reply.headers["content-type"]) == (b"png", "image/png")
    assert reply.headers["x-content-type-options"] == "nosniff"
    for path in ("items/1/image", "items/9/image", "items/0/audio", "items/0/features", "items/..%2f..%2fetc/image"):
        assert site.client.get(f"/api/p/{'k' * 22}/{path}").status_code in (404, 422)


def test_everybody_is_asked_for_every_label_in_a_small_study(site) -> None:
    tables = {"queries": {"classes": ["a", "b"], "first": 20}, "people": {"hold_out": 0.9, "prefetch": 0}}
    features = [[float(i)] for i in range(12)]
    key = site.study(study={"name": "s", "task": "labels"}, features=features, **tables)
    assert len({question.query for question in site.storage.questions("s")}) == 12  # first ones are all different
    for _ in range(5):
        person, items = site.person(key), []
        while person.questions:
            items.append(person.questions[0]["reference"]["name"])
            person.answer()
        assert sorted(items) == sorted(f"item {i}" for i in range(12))
