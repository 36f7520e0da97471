"""What came of a study, over HTTP: people with exclusions and why, reliability in sentences, a page to print."""

import csv
import io
import json

from infonn.live.worker import Worker

CATCH = [{"position": 1, "reference": "item 0", "candidates": ["item 1", "item 2", "item 3"], "expected": "item 1"}]


def answered_study(site, people=6, each=14) -> list:
    key = site.study(
        queries={"first": 6},
        learner={"name": "mds"},
        people={"overlap": 3, "hold_out": 0.3, "catch": CATCH, "consent": "We keep your answers.", "prefetch": 0},
        budget={"answers": 500},
    )
    crowd = []
    for number in range(people):
        parameters = {"PROLIFIC_PID": f"=pid{number}", "consented_at": "now"}
        crowd.append(site.person(key, parameters=parameters))
    for _ in range(each):
        for number, person in enumerate(crowd):
            context = {"device": "phone" if number % 2 else "desktop", "condition": f"c{number % 2}"}
            person.answer(0, response_time_s=1.0 + number, context=context)
    return crowd


def fit(worker: Worker) -> None:
    while worker.turn():
        pass


def test_peoples_table_has_consent_device_times_catch_results_and_why_somebody_is_left_out(site) -> None:
    crowd = answered_study(site)
    path = f"/api/studies/s/people/{crowd[1].name}"
    assert site.client.put(path, json={"excluded": True, "why": "slept"}, headers=site.owner).status_code == 200
    reply = site.client.get("/api/studies/s/people/export", headers=site.owner)
    assert reply.status_code == 200
    assert "s-people.csv" in reply.headers["content-disposition"]
    rows = {row["respondent"]: row for row in csv.DictReader(io.StringIO(reply.text))}
    row = rows[crowd[1].name]
    assert row["outside_id"] == "'=pid1"  # a spreadsheet would run it
    assert (row["device"], row["condition"], row["median_response_time_s"]) == ("phone", "c1", "2.0")
    assert (row["consent_version"], row["consent_text"]) == ("1", "We keep your answers.")
    assert row["consented_at"].endswith("Z")
    assert (row["catch_asked"], row["excluded"], row["excluded_why"]) == ("1", "true", "slept")
    assert row["excluded_by"]
    [caught] = json.loads(row["catch_results"])
    assert caught["expected"] == "item 1"
    assert rows[crowd[0].name]["excluded_why"] == ""
    shown = {person["respondent"]: person["excluded_why"] for person in site.get("/api/studies/s/people")}
    assert shown[crowd[1].name] == "slept"
    site.client.put(path, json={"excluded": False}, headers=site.owner)
    taken_back = site.get("/api/studies/s/people/export", format="json")
    assert {person["excluded_why"] for person in taken_back} == {None}


def test_a_reader_is_not_told_who_people_are(site) -> None:
    answered_study(site, people=2, each=2)
    made = site.client.post("/api/tokens", json={"person": "rita", "role": "reader"}, headers=site.owner).json()
    reader = {"authorization": f"Bearer {made['text']}"}
    reply = site.client.get("/api/studies/s/people/export?format=json", headers=reader)
    assert reply.status_code == 200
    assert "pid0" not in reply.text
    assert "outside_id" not in reply.json()[0]
    assert site.client.get("/api/studies/s/people/export").status_code == 401


def test_reliability_is_told_in_sentences_and_the_worker_halves_the_map(site, monkeypatch) -> None:
    monkeypatch.setattr("infonn.live.updating.REFILL_EVERY_S", 0.0)  # else the last answer waits for a later turn
    crowd, worker = answered_study(site), Worker(site.storage)
    fit(worker)
    told = site.get("/api/studies/s/reliability")
    assert set(told) == {"agreement_with_others", "agreement_with_oneself", "noise_ceiling", "alpha", "split_half"}
    assert 0 <= told["agreement_with_others"]["value"] <= 1
    assert told["agreement_with_others"]["n"] >= 20
    assert told["agreement_with_oneself"]["value"] is None
    assert "at least 20 are needed" in told["agreement_with_oneself"]["sentence"]
    assert "Spearman–Brown; median of 3 splits" in told["split_half"]["sentence"]
    before = len(site.storage.rounds("s"))
    crowd[0].answer(0)
    fit(worker)
    rounds = site.storage.rounds("s")
    assert len(rounds) > before
    assert "split_half" not in rounds[-1].measures  # hardly any new answers: not halved again


def test_an_empty_study_has_a_report_that_says_so(site) -> None:
    site.study()
    site.client.cookies.clear()
    assert site.client.get("/studies/s/report", follow_redirects=False).status_code == 303
    site.client.post("/api/login", json={"token": site.token})
    page = site.client.get("/studies/s/report")
    assert page.status_code == 200
    assert "There is no map yet" in page.text
    assert "Nobody has taken part yet." in page.text
    assert site.client.get("/studies/none/report").status_code == 404


def test_the_report_has_map_curve_reliability_people_and_methods_and_names_nobody(site) -> None:
    answered_study(site)
    fit(Worker(site.storage))
    site.client.post("/api/login", json={"token": site.token})
    page = site.client.get("/studies/s/report").text
    for part in ("Summary", "Map of the items", "How far it can be trusted", "People", "Methods", "How to cite"):
        assert f"<h2>{part}</h2>" in page
    assert page.count("<circle") >= 12
    assert "6 people judged 12 items" in page
    assert "report.css" in page
    assert "<style" not in page  # the security policy refuses it
    assert "pid0" not in page
    assert "Nadagouda" in page
