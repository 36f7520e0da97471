"""Point 14: knowing somebody's id on a crowd platform gives nothing of that person's."""

from urllib.parse import parse_qs, urlsplit

from .conftest import Site

LINK = {"PROLIFIC_PID": "5f1", "STUDY_ID": "a"}


def test_point_14_the_id_alone_lets_a_person_go_on_and_neither_see_nor_undo_earlier_answers(site: Site) -> None:
    key = site.study(people={"per_person": 4, "completion_code": "C0DE"})
    owner = site.person(key, parameters=LINK)
    first = owner.answer(1)["answer"]
    second = site.person(key, parameters=LINK)  # another browser: the same person, or somebody who knows the id
    assert (second.name, second.arrival["progress"]["done"]) == (owner.name, 1)
    assert second.session != owner.session
    assert second.post("undo", {"answer": first["id"]}).status_code == 404
    seen = second.post("answers", {"id": first["id"], "question": first["question"], "response": 0})
    assert seen.status_code == 404
    assert "response" not in seen.json()
    own = second.answer(0)["answer"]
    assert second.post("undo", {"answer": own["id"]}).status_code == 200
    assert owner.post("undo", {"answer": first["id"]}).status_code == 200  # whoever gave it may


def test_point_14_the_first_browser_keeps_its_answers_after_a_reload(site: Site) -> None:
    key = site.study()
    owner = site.person(key, parameters=LINK)
    first = owner.answer(1)["answer"]
    back = site.person(key, parameters=LINK, session=owner.session)
    assert (back.name, back.session) == (owner.name, owner.session)
    assert back.post("undo", {"answer": first["id"]}).status_code == 200


def test_point_14_a_completion_code_is_not_told_to_whoever_knows_the_id(site: Site) -> None:
    key = site.study(people={"per_person": 1, "completion_code": "C0DE"})
    assert site.person(key, parameters=LINK).answer(1)["completion_code"] == "C0DE"
    stranger = site.person(key, parameters=LINK)
    assert (stranger.arrival["finished"], stranger.arrival["completion_code"]) == (True, None)


def test_point_14_a_signed_link_is_proof(site: Site) -> None:
    key = site.study(people={"per_person": 2, "completion_code": "C0DE"})
    body = {"participants": ["anna@example.org", "b"]}
    made = site.client.post("/api/studies/s/links", json=body, headers=site.owner).json()["links"]
    query = parse_qs(urlsplit(made["anna@example.org"]).query)
    anna = {name: values[0] for name, values in query.items()}
    first = site.person(key, parameters=anna).answer(1)["answer"]
    phone = site.person(key, parameters=anna)
    assert phone.post("undo", {"answer": first["id"]}).status_code == 200
    forged = {**anna, "participant": "b"}
    site.person(key, parameters={"participant": "b"}).answer(0)
    assert site.person(key, parameters=forged).arrival["progress"]["done"] == 1
    answers = [pair.answer.id for pair in site.storage.answers("s", None) if pair.answer.respondent != phone.name]
    assert site.person(key, parameters=forged).post("undo", {"answer": answers[0]}).status_code == 404
    assert "signature" not in str(site.storage.details("s"))
