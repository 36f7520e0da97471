"""Which of three is the odd one: from the page to the posterior, over HTTP, and out into files and back."""

import itertools
import json

import numpy as np
import pytest

from infonn.live.worker import Worker
from infonn.maths.accuracy import triplet_accuracy
from infonn.queries import split_into_triplets
from infonn.specs.build import load_study

PLACES = {f"item {i}": (i % 6) ** 1.3 + 0.1 * (i // 6) for i in range(12)}  # on a line: 0 by 6, 1 by 7, and so on
ODD = {"kind": "odd_one_out", "first": 10}
QUICK = {"name": "posterior", "dims": 1, "n_chains": 16, "leaps": 4}


def odd_one(question: dict) -> int:
    """What somebody answers who sees the line: the item that the nearest pair leaves out."""
    place = {option["response"]: PLACES[option["label"]] for option in question["options"]}
    return min(place, key=lambda odd: abs(np.subtract(*(place[other] for other in place if other != odd))))


def settle(worker: Worker) -> None:
    while worker.turn():
        pass


def test_people_answer_the_worker_fits_and_the_next_questions_are_chosen(site, monkeypatch) -> None:
    monkeypatch.setattr("infonn.live.updating.REFILL_EVERY_S", 0.0)
    key = site.study(queries=ODD, learner=QUICK, people={"hold_out": 0.2}, budget={"answers": 60})
    person, worker = site.person(key), Worker(site.storage)
    for number in range(60):
        question = person.questions[0]
        assert (question["kind"], question["reference"]) == ("odd_one_out", None)
        assert {item["name"] for item in question["candidates"]} == {option["label"] for option in question["options"]}
        assert sorted(option["response"] for option in question["options"]) == [0, 1, 2]
        person.answer(odd_one(question))
        if number % 20 == 19:
            settle(worker)
    settle(worker)
    answered = site.storage.answers("s")
    assert {pair.question.kind for pair in answered} == {"odd_one_out"}
    assert {pair.question.strategy_used for pair in answered} == {"random", "info_nn"}
    assert len({frozenset(pair.question.query) for pair in answered}) == len(answered)  # no triple twice
    study = load_study(site.storage, "s")
    truth = np.array(list(PLACES.values()))[:, None]
    everything = split_into_triplets(study.answers().joined(study.answers("hold_out")))
    assert triplet_accuracy(truth, everything) == 1
    assert triplet_accuracy(study.belief().embedding, everything) > 0.9
    curve = site.get("/api/studies/s/accuracy")
    assert curve["chance"] == pytest.approx(1 / 3)
    assert curve["points"][-1]["accuracy"] > 0.5


def test_exports_come_back_and_other_tools_get_what_they_know(site) -> None:
    person = site.person(site.study(queries=ODD, people={"hold_out": 0.0}))
    for _ in range(8):
        person.answer(odd_one(person.questions[0]))

    def exported(format: str) -> bytes:
        return site.client.get("/api/studies/s/export", params={"format": format}, headers=site.owner).content

    rows = [json.loads(line) for line in exported("jsonl").decode().splitlines()]
    assert {(row["kind"], row["reference"], len(row["candidates"])) for row in rows} == {("odd_one_out", None, 3)}
    said = [(frozenset(row["candidates"]), row["chosen"]) for row in rows]
    for number, format in enumerate(("csv", "jsonl", "parquet", "things")):
        name = f"copy {number}"
        site.study(name, queries=ODD)
        path, file = f"/api/studies/{name}/import", {"file": ("answers", exported(format))}
        reply = site.client.post(path, params={"format": format}, files=file, headers=site.owner)
        assert reply.json() == {"imported": 8, "known": 0}, reply.text
        assert [
            (frozenset(pair.question.names), pair.question.options[pair.answer.response].label)
            for pair in site.storage.answers(name, None)
        ] == said
    for format in ("salmon", "next", "r"):
        assert len(exported(format).decode().splitlines()) == 1 + 2 * 8  # two triplets an answer


def test_answers_of_another_kind_are_not_imported(site) -> None:
    site.study("nearest")
    site.study("odd", queries=ODD)
    file = {"file": ("answers.txt", b"0 1 2\n")}
    reply = site.client.post("/api/studies/nearest/import", params={"format": "things"}, files=file, headers=site.owner)
    assert reply.status_code == 422
    assert 'answers of kind "odd_one_out", and the study asks "nearest"' in reply.json()["detail"]


def test_practice_and_catch_questions_name_three_items_and_the_odd_one(site) -> None:
    fixed = {"candidates": ["item 0", "item 6", "item 3"], "expected": "item 3"}
    person = site.person(site.study(queries=ODD, people={"practice": [fixed], "catch": [{**fixed, "position": 1}]}))
    practice = person.questions[0]
    assert practice["practice"]
    assert {option["response"]: option["label"] for option in practice["options"]}[practice["expected"]] == "item 3"


@pytest.mark.parametrize(
    "entry, says",
    [
        ({"reference": "item 0", "candidates": ["item 1", "item 2"], "expected": "item 1"}, "are written as"),
        ({"candidates": ["item 1", "item 2"], "expected": "item 1"}, "among 3 items"),
        ({"candidates": ["item 1", "item 2", "item 3"], "expected": "item 4"}, "its options are item 1, item 2"),
    ],
)
def test_practice_that_is_no_odd_one_out_is_refused(site, entry, says) -> None:
    body = {"study": {"name": "s"}, "items": list(PLACES), "queries": ODD, "people": {"practice": [entry]}}
    reply = site.client.post("/api/studies", json=body, headers=site.owner)
    assert reply.status_code == 422
    assert says in reply.text


def test_more_or_fewer_than_three_items_are_refused(site) -> None:
    body = {"study": {"name": "s"}, "items": list(PLACES), "queries": {**ODD, "candidates": 3}}
    reply = site.client.post("/api/studies", json=body, headers=site.owner)
    assert reply.status_code == 422
    assert "among 3 items, and these queries have 4. Use candidates = 2" in reply.text


def test_a_person_sees_every_triple_once_and_then_no_more(site) -> None:
    person = site.person(site.study(items=["a", "b", "c", "d"], queries=ODD, people={"hold_out": 0.0}))
    seen = []
    while person.questions:
        seen.append(frozenset(option["label"] for option in person.questions[0]["options"]))
        person.answer(person.questions[0]["options"][0]["response"])
    assert sorted(map(sorted, seen)) == [list(triple) for triple in itertools.combinations("abcd", 3)]
