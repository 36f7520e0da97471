"""Tokens by person and role, deletion, retention, consent and the audit log, over HTTP."""

from concurrent.futures import ThreadPoolExecutor

from infonn.specs.build import open_live_storage

from .conftest import Site


def made(site: Site, **body) -> dict[str, str]:
    """The headers of a new token."""
    reply = site.client.post("/api/tokens", json=body, headers=site.owner)
    assert reply.status_code == 201, reply.text
    return {"authorization": f"Bearer {reply.json()['text']}"}


def test_a_reader_looks_and_changes_nothing(site) -> None:
    key = site.study()
    site.person(key, parameters={"PROLIFIC_PID": "5f1"}).answer()
    reader = made(site, person="Rosa", role="reader")
    for path in ("", "/s", "/s/status", "/s/accuracy", "/s/people", "/s/export"):
        assert site.client.get(f"/api/studies{path}", headers=reader).status_code == 200
    assert site.client.get("/metrics", headers=reader).status_code == 200
    assert "5f1" not in site.client.get("/api/studies/s/people", headers=reader).text
    assert "5f1" in site.client.get("/api/studies/s/people", headers=site.owner).text
    for method, path in (
        ("PATCH", "/api/studies/s"),
        ("DELETE", "/api/studies/s"),
        ("DELETE", "/api/studies/s/details"),
        ("POST", "/api/studies"),
        ("POST", "/api/studies/s/links"),
        ("POST", "/api/tokens"),
        ("GET", "/api/tokens"),
    ):
        assert site.client.request(method, path, json={}, headers=reader).status_code == 403, path


def test_the_owner_of_one_study_has_nothing_of_another(site) -> None:
    site.study("mine")
    site.study("theirs")
    owner = made(site, person="Olaf", study="mine")
    assert [study["name"] for study in site.client.get("/api/studies", headers=owner).json()] == ["mine"]
    assert site.client.patch("/api/studies/mine", json={"archived": True}, headers=owner).status_code == 200
    for method, path in (
        ("GET", "/api/studies/theirs/status"),
        ("PATCH", "/api/studies/theirs"),
        ("GET", "/api/studies/nothing"),
        ("POST", "/api/studies"),
        ("POST", "/api/studies/restore"),
        ("POST", "/api/tokens"),
        ("GET", "/api/tokens"),
        ("GET", "/api/server"),
        ("GET", "/metrics"),
    ):
        assert site.client.request(method, path, json={}, headers=owner).status_code == 403, path
    acts = site.client.get("/api/acts?study=theirs", headers=owner).json()
    assert {act["study"] for act in acts} == {"mine"}
    site.client.post("/api/login", json={"token": owner["authorization"].split()[1]})
    assert site.client.get("/studies/mine").status_code == 200
    assert site.client.get("/studies/theirs").status_code == 404
    assert site.client.get("/studies/theirs/preview").status_code == 404


def test_a_revoked_token_ends_at_once_with_its_logins(site) -> None:
    headers = made(site, person="Ria")
    site.client.post("/api/login", json={"token": headers["authorization"].split()[1]})
    token = site.client.get("/api/me").json()
    assert (token["person"], token["role"], token["study"]) == ("Ria", "owner", None)
    assert site.client.delete(f"/api/tokens/{token['id']}", headers=site.owner).status_code == 200
    assert site.client.get("/api/studies").status_code == 401
    assert site.client.get("/api/studies", headers=headers).status_code == 401
    listed = site.get("/api/tokens")
    assert [entry["person"] for entry in listed if entry["revoked_at"] is not None] == ["Ria"]
    assert "text" not in listed[0]
    assert site.client.delete("/api/tokens/nothing", headers=site.owner).status_code == 404


def test_logging_out_ends_the_logins_of_that_token_alone(site) -> None:
    other = made(site, person="Otto")
    site.client.post("/api/login", json={"token": other["authorization"].split()[1]})
    cookies = dict(site.client.cookies)
    site.client.cookies.clear()
    site.client.post("/api/login", json={"token": site.token})
    site.client.post("/api/logout")
    site.client.cookies.update(cookies)
    assert site.client.get("/api/studies").status_code == 200


def test_a_deleted_study_is_gone_and_its_name_is_free(site) -> None:
    key = site.study()
    person = site.person(key)
    person.answer()
    assert site.client.delete("/api/studies/s", headers=site.owner).status_code == 204
    assert site.client.get("/api/studies/s", headers=site.owner).status_code == 404
    assert site.client.get(f"/api/p/{key}/questions", headers=person.headers).status_code == 404
    again = site.study(items=[f"other {i}" for i in range(8)])
    assert again != key
    assert site.person(again).questions[0]["reference"]["name"].startswith("other ")


def test_a_deleted_person_leaves_no_answer_and_exports_say_so(site) -> None:
    key = site.study()
    gone, stays = site.person(key), site.person(key)
    for person in (gone, gone, stays):
        person.answer()
    reply = site.client.delete(f"/api/studies/s/people/{gone.name}", headers=site.owner)
    assert reply.json() == {"count": 2}
    exported = site.client.get("/api/studies/s/export", headers=site.owner)
    assert exported.headers["x-infonn-deleted-answers"] == "2"
    assert gone.name not in exported.text
    assert site.get("/api/studies/s/status")["deleted"] == 2
    assert site.client.delete(f"/api/studies/s/people/{gone.name}", headers=site.owner).status_code == 404


def test_the_retention_time_is_set_and_told(site) -> None:
    site.study()
    reply = site.client.patch("/api/studies/s", json={"retention_days": 30}, headers=site.owner)
    assert reply.json()["retention_days"] == 30
    assert site.client.patch("/api/studies/s", json={"retention_days": -1}, headers=site.owner).status_code == 422


def test_the_consent_text_that_a_person_agreed_to_is_kept(site) -> None:
    key = site.study(people={"consent": "We store answers."})
    person = site.person(key, parameters={"consented_at": "2026-01-01T10:00:00Z"})
    site.person(key)
    agreed = {each.name: each.consent_version for each in site.storage.respondents("s")}
    assert agreed[person.name] == 1
    assert list(agreed.values()).count(None) == 1
    assert site.storage.consent_texts("s") == {1: "We store answers."}


def test_what_owners_do_is_on_record(site) -> None:
    site.study()
    headers = made(site, person="Rosa", role="reader", study="s")
    site.client.get("/api/studies/s/export", headers=headers)
    site.client.get("/api/studies/s/status", headers=headers)
    site.client.delete("/api/studies/s", headers=site.owner)
    acts = [(act["who"], act["what"], act["study"]) for act in site.get("/api/acts")]
    assert acts == [
        ("owner", "create study", "s"),
        ("owner", "make token", "s"),
        ("Rosa", "export", "s"),
        ("owner", "delete study", "s"),
    ]


def test_refused_acts_are_not_on_record(site) -> None:
    assert site.client.delete("/api/studies/nothing", headers=site.owner).status_code == 404
    assert site.get("/api/acts") == []


def test_point_12_settings_changed_at_the_same_time_are_all_kept(database_url) -> None:
    storage = open_live_storage(database_url)
    site = Site(storage)
    site.study()
    changes = [{"people": {"title": "t"}}, {"people": {"question": "q"}}, {"people": {"thanks": "x"}}]
    changes += [{"budget": {"answers": 77}}]

    def change(body: dict):
        return site.client.patch("/api/studies/s", json=body, headers=site.owner)

    for _ in range(3):
        with ThreadPoolExecutor(len(changes)) as threads:
            replies = list(threads.map(change, changes))
        assert [reply.status_code for reply in replies] == [200] * len(changes)
        spec = site.get("/api/studies/s")["spec"]
        assert (spec["people"]["title"], spec["people"]["question"], spec["people"]["thanks"]) == ("t", "q", "x")
        assert spec["budget"]["answers"] == 77
        empty = {"people": {"title": "", "question": "", "thanks": ""}, "budget": {"answers": 5}}
        assert site.client.patch("/api/studies/s", json=empty, headers=site.owner).status_code == 200
    storage.close()
