"""What the owner's token can do."""

import io
import json
import zipfile

import pytest
from PIL import Image

from infonn.errors import DataError
from infonn.formats.named import ANSWERS, READ, WRITTEN
from infonn.live.transfer import put_study, restored
from infonn.live.worker import Worker
from infonn.specs.build import items_of

from .conftest import Site

ASKED = {"reference": "a", "candidates": ["b", "c"], "expected": "b"}


def png(colour=(200, 30, 30), size=(80, 60)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, "PNG")
    return buffer.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def upload(site, files, name="up", features=None, **tables):
    sent = [("files", (filename, data)) for filename, data in files.items()]
    if features is not None:
        sent.append(("features", ("features.npy", features)))
    settings = json.dumps({"study": {"name": name}, **tables})
    return site.client.post("/api/studies/upload", data={"settings": settings}, files=sent, headers=site.owner)


def answer_all(site, key, n=12, response=0):
    person = site.person(key)
    for _ in range(n):
        person.answer(response)
    return person


# --- creating --------------------------------------------------------------------------------------


def test_a_study_is_created_from_json_and_has_a_link(site) -> None:
    body = {"study": {"name": "s", "seed": 3}, "items": ["a", {"name": "b", "text": "the b"}, "c", "d"]}
    reply = site.client.post("/api/studies", json=body, headers=site.owner)
    assert reply.status_code == 201
    made = reply.json()
    assert made["link"] == f"https://study.example/s/{made['key']}"
    assert [item.text for item in site.storage.items("s")] == [None, "the b", None, None]
    assert made["spec"]["study"]["seed"] == 3
    assert [study["name"] for study in site.get("/api/studies")] == ["s"]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"study": {}, "items": ["a", "b", "c", "d"]}, "[study] name is needed"),
        ({"study": {"name": "../x"}, "items": ["a", "b", "c", "d"]}, "[study] name is needed"),
        ({"study": {"name": "s"}, "items": ["a", "b"]}, "A study needs at least 3 items"),
        ({"study": {"name": "s"}, "items": ["a", "a", "c", "d"]}, 'Item name "a" occurs more than once'),
        ({"study": {"name": "s", "task": "x"}, "items": ["a", "b", "c", "d"]}, 'Task "x" is unknown'),
        (
            {"study": {"name": "s"}, "items": ["a", "b", "c", "d"], "strategy": {"name": "infonn"}},
            'Did you mean "info_nn"',
        ),
        ({"study": {"name": "s"}, "items": ["a", "b", "c", "d"], "people": {"holdout": 1}}, 'Did you mean "hold_out"'),
        ({"study": {"name": "s"}, "items": ["a", "b", "c", "d"], "people": {"hold_out": 2.0}}, "from 0 to 0.9"),
        (
            {"study": {"name": "s"}, "items": ["a", "b", "c", "d"], "people": {"catch": [{"position": 1}]}},
            "are written as",
        ),
        (
            {
                "study": {"name": "s"},
                "items": ["a", "b", "c", "d"],
                "people": {"practice": [{**ASKED, "expected": "d"}]},
            },
            'expects "d"; its options are b, c',
        ),
        (
            {
                "study": {"name": "s"},
                "items": ["a", "b", "c", "d"],
                "people": {"practice": [{**ASKED, "reference": []}]},
            },
            "which is no item of this study",
        ),
        ({"study": {"name": "s", "seed": -1}, "items": ["a", "b", "c", "d"]}, "[study] seed is -1; it must be from 0"),
        ({"study": {"name": "s"}, "items": ["a", "b", "c", "d"], "queries": {"first": -1}}, "[queries] first is -1"),
        ({"study": {"name": "s"}, "items": ["a", "b", "c", "d"], "queries": {"kind": "far"}}, '"far" is unknown'),
        ({"study": {"name": "s"}, "items": ["a", "b", "c", "d"], "budget": {"answers": 0}}, "it must be from 1"),
        (
            {
                "study": {"name": "s", "task": "labels"},
                "items": ["a", "b"],
                "features": [[0.0], [1.0]],
                "queries": {"classes": [0, 1]},
            },
            "Class 0 is no text",
        ),
        (
            {"study": {"name": "s", "task": "labels"}, "items": ["a", "b"], "queries": {"classes": ["x", "y"]}},
            "Labels are learned from features of the items",
        ),
        ({"study": {"name": "s"}, "items": ["a", "b", "c", "d"], "features": [[1.0], [2.0, 3.0]]}, "same length"),
        ({"study": {"name": "s"}, "items": ["a", "b", "c", "d"], "features": [[1.0]]}, "there are 4 items"),
    ],
)
def test_what_is_wrong_with_a_study_is_said(site, body, sentence) -> None:
    reply = site.client.post("/api/studies", json=body, headers=site.owner)
    assert reply.status_code == 422
    assert sentence in reply.json()["detail"]
    assert site.storage.studies() == []


def test_every_way_to_a_study_checks_its_name(site) -> None:
    with pytest.raises(DataError, match="name is needed"):
        put_study(site.storage, {"study": {"name": "a/b"}}, items_of([(name, None) for name in "abcd"]), [])
    site.study()
    data = site.client.get("/api/studies/s/bundle", headers=site.owner).content
    with pytest.raises(DataError, match="name is needed"):
        restored(site.storage, data, "a/b")
    assert [record.name for record in site.storage.studies()] == ["s"]


def test_a_second_study_of_the_same_name_is_a_conflict(site) -> None:
    site.study()
    body = {"study": {"name": "s"}, "items": ["a", "b", "c", "d"]}
    assert site.client.post("/api/studies", json=body, headers=site.owner).status_code == 409


def test_a_study_is_created_from_a_csv(site) -> None:
    reply = upload(site, {"items.csv": b"name,text,size\na,x,1\nb,y,2\nc,,3\nd,,4\n"})
    assert reply.status_code == 201, reply.text
    assert [item.text for item in site.storage.items("up")] == ["x", "y", None, None]
    assert site.storage.features("up").tolist() == [[1], [2], [3], [4]]


def test_a_study_is_created_from_a_zip_of_images_written_anew(site) -> None:
    hidden = png() + b"<script>alert(1)</script>"
    files = {f"birds/{name}.png": hidden for name in "abcd"}
    reply = upload(site, {"birds.zip": zipped(files)})
    assert reply.status_code == 201, reply.text
    items = site.storage.items("up")
    assert [item.name for item in items] == ["birds/a", "birds/b", "birds/c", "birds/d"]
    image = site.client.get(f"/api/p/{reply.json()['key']}/items/0/image")
    assert image.headers["content-type"] in ("image/jpeg", "image/png")
    assert b"<script>" not in image.content


def test_a_zip_may_hold_a_table_and_the_images_it_names(site) -> None:
    table = b"name,image\nred,pictures/r.png\ngreen,pictures/g.png\nblue,pictures/b.png\n"
    files = {"items.csv": table} | {f"pictures/{name}.png": png() for name in "rgb"}
    reply = upload(site, {"x.zip": zipped(files)}, queries={"candidates": 2})
    assert reply.status_code == 201, reply.text
    assert site.storage.items("up")[0].image == "pictures/r.png"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"x.zip": zipped({"../../evil.png": png()})}, "points outside"),
        ({"x.zip": zipped({"/etc/evil.png": png()})}, "points outside"),
        ({"x.zip": zipped({"a.exe": b"MZ"})}, "not of a kind that is taken"),
        ({"x.zip": zipped({"bomb.csv": b"0" * 60_000_000})}, "more than is taken"),
        ({"x.zip": b"PK no zip"}, "cannot be read as a ZIP"),
        ({"x.zip": zipped({f"{c}.png": b"no image" for c in "abcd"})}, "cannot be read as an image"),
        ({"x.svg": b"<svg onload=alert(1)>"}, "is not taken"),
        ({"items.csv": b"title\na\n"}, "needs a column `name`"),
        ({"items.csv": b"name,image\na,/etc/passwd\nb,x\nc,x\nd,x\n"}, "outside the folder"),
        ({"items.csv": b"name,image\na,../../x.png\nb,\nc,\nd,\n"}, "outside the folder"),
        ({"items.csv": b"name,image\na,gone.png\nb,\nc,\nd,\n"}, "is not among the files"),
        ({"items.csv": b"\xff\xfe\x00"}, "UTF-8"),
    ],
)
def test_bad_uploads_are_refused_in_one_sentence(site, files, sentence) -> None:
    reply = upload(site, files)
    assert reply.status_code == 422, reply.text
    assert sentence in reply.json()["detail"]
    assert "/tmp" not in reply.text
    assert site.storage.studies() == []


def test_features_come_as_npy_and_never_as_pickles(site) -> None:
    import numpy as np

    good, bad = io.BytesIO(), io.BytesIO()
    np.save(good, np.ones((4, 2)))
    np.save(bad, np.array([{"x": 1}] * 4, dtype=object), allow_pickle=True)
    files = {"items.csv": b"name\na\nb\nc\nd\n"}
    assert upload(site, files, "good", good.getvalue()).status_code == 201
    reply = upload(site, files, "bad", bad.getvalue())
    assert (reply.status_code, "cannot be read as a .npy" in reply.json()["detail"]) == (422, True)


# --- watching --------------------------------------------------------------------------------------


def test_a_worker_fits_and_the_owner_sees_it(site, monkeypatch) -> None:
    monkeypatch.setattr("infonn.live.updating.REFILL_EVERY_S", 0.0)
    monkeypatch.setattr("infonn.live.status.WORKER_SILENT_S", 3600.0)  # however slow this machine
    key = site.study(queries={"first": 4}, learner={"name": "mds"}, people={"hold_out": 0.5})
    worker, person = Worker(site.storage), site.person(key)
    for _ in range(24):
        person.answer()
        while worker.turn():
            pass
    status = site.get("/api/studies/s/status")
    assert status["up_to_date"]
    assert status["model_answers"] == status["answers"]["train"]
    assert status["answers"]["train"] + status["answers"]["hold_out"] == 24
    assert (status["warnings"], status["error"]) == ([], None)
    point = site.get("/api/studies/s/accuracy")["points"][-1]
    assert point["low"] <= point["accuracy"] <= point["high"]
    assert point["n_hold_out"] == status["answers"]["hold_out"]
    placed = site.get("/api/studies/s/embedding")
    assert [item["name"] for item in placed["items"]] == [f"item {i}" for i in range(12)]
    assert len(placed["items"][0]["plane"]) == 2
    assert site.get("/api/studies/s/people")[0]["log_loss"] > 0


def test_the_owner_sees_what_random_questions_gave_beside_chosen_ones(site, monkeypatch) -> None:
    monkeypatch.setattr("infonn.live.updating.REFILL_EVERY_S", 0.0)
    people = {"hold_out": 0.3, "at_random": 0.5}
    key = site.study(queries={"first": 4}, learner={"name": "mds"}, people=people, budget={"answers": 1000})
    worker, person = Worker(site.storage), site.person(key)
    for _ in range(80):  # too few of one sort once in a million times
        person.answer()
        while worker.turn():
            pass
    compared = site.get("/api/studies/s/accuracy")["compared"]
    assert compared[-1]["n_answers"] >= 5
    for sort in ("random", "chosen"):
        found = compared[-1][sort]
        assert found["low"] <= found["accuracy"] <= found["high"]
    assert site.get("/api/studies/s/status")["fallback_share"] < 0.2


def test_without_a_worker_the_owner_is_told(site, monkeypatch) -> None:
    monkeypatch.setattr("infonn.live.status.WORKER_SILENT_S", -1.0)
    key = site.study(queries={"first": 2})
    answer_all(site, key, 10)
    warnings = " ".join(site.get("/api/studies/s/status")["warnings"])
    assert "No worker looks after this study" in warnings
    assert "were random because the queue had run dry" in warnings
    assert site.client.get("/api/studies/s/embedding", headers=site.owner).status_code == 404


def test_a_small_study_that_has_asked_everything_needs_no_other_worker(site) -> None:
    key = site.study(items=["a", "b", "c", "d"], people={"hold_out": 0.0})
    for _ in range(2):
        answer_all(site, key, 4)
    worker = Worker(site.storage)
    while worker.turn():
        pass
    (warning,) = site.get("/api/studies/s/status")["warnings"]
    assert warning.endswith("(4 of 8) were random because the queue had run dry. Everything there is to ask was asked.")


def test_the_table_of_people_shows_who_is_careless(site) -> None:
    catch = [{"position": 0, "reference": "item 0", "candidates": ["item 1", "item 2", "item 3"], "expected": "item 1"}]
    key = site.study(people={"catch": catch, "prefetch": 0, "overlap": 2, "hold_out": 0.0})
    careful, careless = site.person(key), site.person(key, parameters={"workerId": "W1"})
    for person, seconds in ((careful, 2.0), (careless, 0.1)):
        for i in range(12):
            question = person.questions[0]
            if i == 0:
                wanted = "item 1" if person is careful else "item 3"
                choice = next(o["response"] for o in question["options"] if o["label"] == wanted)
            else:
                choice = question["options"][0]["response"]  # always the first on the screen
            person.answer(choice, response_time_s=seconds)
    table = {row["respondent"]: row for row in site.get("/api/studies/s/people")}
    assert (table[careful.name]["catch_right"], table[careless.name]["catch_right"]) == (1, 0)
    assert table[careless.name]["fast_share"] == 1.0
    assert table[careful.name]["median_response_time_s"] == 2.0
    assert table[careless.name]["position_bias"] == pytest.approx(2 / 3)
    assert table[careless.name]["agreement_of"] == 11
    assert table[careless.name]["details"]["outside_id"] == "W1"


def test_leaving_a_person_out_and_taking_them_back(site) -> None:
    person = answer_all(site, site.study(), 5)
    path = f"/api/studies/s/people/{person.name}"
    assert site.client.put(path, json={"excluded": True}, headers=site.owner).status_code == 200
    assert site.storage.answers("s", None) == []
    assert site.get("/api/studies/s/status")["answers"]["train"] == 0
    site.client.put(path, json={"excluded": False}, headers=site.owner)
    assert len(site.storage.answers("s", None)) == 5
    assert site.client.put("/api/studies/s/people/nobody", json={}, headers=site.owner).status_code == 404


def test_details_are_purged(site) -> None:
    site.person(site.study(), parameters={"PROLIFIC_PID": "5f1"})
    assert site.client.delete("/api/studies/s/details", headers=site.owner).json() == {"count": 1}
    assert site.get("/api/studies/s/people")[0]["details"] == {}


def test_the_people_table_of_a_study_can_be_changed(site) -> None:
    key = site.study()
    reply = site.client.patch("/api/studies/s", json={"people": {"title": "New", "prefetch": 0}}, headers=site.owner)
    assert reply.status_code == 200
    site.app.state.server.studies._kept.clear()
    person = site.person(key)
    assert (person.arrival["study"]["title"], len(person.questions)) == ("New", 1)
    reply = site.client.patch("/api/studies/s", json={"people": {"prefetch": 99}}, headers=site.owner)
    assert reply.status_code == 422


def test_a_full_study_goes_on_when_its_goal_is_raised(site) -> None:
    key = site.study(budget={"answers": 2}, people={"hold_out": 0.0, "prefetch": 0})
    person = answer_all(site, key, 2)
    site.app.state.server.studies._kept.clear()
    assert site.person(key).arrival["finished"]
    change = lambda goal: site.client.patch(  # noqa: E731
        "/api/studies/s", json={"budget": {"answers": goal}}, headers=site.owner
    )
    assert change(0).status_code == 422
    assert change(9).json()["spec"]["budget"]["answers"] == 9
    site.app.state.server.studies._kept.clear()
    assert not site.person(key).arrival["finished"]
    assert site.get("/api/studies/s/status")["goal"] == 9
    assert person.answer()["progress"]["done"] == 3


# --- export and import -----------------------------------------------------------------------------


@pytest.mark.parametrize("format", WRITTEN)
def test_every_format_is_offered_on_the_page_and_written(site, format) -> None:
    kind = ANSWERS[format].kinds[0]
    answer_all(site, site.study(queries={"kind": kind}), 4)
    reply = site.client.get(f"/api/studies/s/export?format={format}", headers=site.owner)
    assert reply.status_code == 200
    assert reply.content
    site.client.post("/api/login", json={"token": site.owner["authorization"].removeprefix("Bearer ")})
    assert f'"{format}":' in site.client.get("/studies/s").text


def test_a_format_that_nobody_knows_is_one_sentence(site) -> None:
    site.study()
    reply = site.client.get("/api/studies/s/export?format=csw", headers=site.owner)
    assert reply.status_code == 422
    assert 'Format "csw" is unknown' in reply.json()["detail"]


def test_a_format_that_cannot_hold_the_answers_is_not_offered(site) -> None:
    site.study()
    site.client.post("/api/login", json={"token": site.owner["authorization"].removeprefix("Bearer ")})
    assert '"things":' not in site.client.get("/studies/s").text
    answer_all(site, site.study("t"), 1)
    reply = site.client.get("/api/studies/t/export?format=things", headers=site.owner)
    assert reply.status_code == 422
    assert "THINGS knows odd ones only" in reply.json()["detail"]


@pytest.mark.parametrize("format", [n for n in READ if n in WRITTEN and "nearest" in ANSWERS[n].kinds])
def test_what_is_exported_can_be_imported_elsewhere(site, format) -> None:
    answer_all(site, site.study(people={"hold_out": 0.0}), 8)
    data = site.client.get(f"/api/studies/s/export?format={format}", headers=site.owner).content
    other = Site()
    other.study(people={"hold_out": 0.0})
    send = lambda: other.client.post(  # noqa: E731
        f"/api/studies/s/import?format={format}", files={"file": ("answers", data)}, headers=other.owner
    )
    assert send().json() == {"imported": 8, "known": 0}
    assert send().json() == {"imported": 0, "known": 8}

    def judged(storage):
        pairs = storage.answers("s")
        return {
            (
                pair.question.id,
                pair.question.query[0],
                frozenset(pair.question.query[1:]),
                pair.question.options[pair.answer.response].item,
            )
            for pair in pairs
        }

    assert judged(other.storage) == judged(site.storage)


def test_labels_go_only_where_the_classes_are_the_same(site) -> None:
    labels = {"study": {"name": "s", "task": "labels"}, "features": [[float(i)] for i in range(12)]}
    answer_all(site, site.study(**labels, queries={"classes": ["cat", "dog"]}), 3)
    data = site.client.get("/api/studies/s/export", headers=site.owner).content
    other = Site()
    other.study(**labels, queries={"classes": ["dog", "cat"]})
    reply = other.client.post("/api/studies/s/import", files={"file": ("answers", data)}, headers=other.owner)
    assert reply.status_code == 422
    assert "the classes cat, dog, and those of the study are dog, cat" in reply.json()["detail"]


def test_parquet_holds_the_same_rows(site) -> None:
    import pyarrow.parquet as parquet

    answer_all(site, site.study(), 5)
    data = site.client.get("/api/studies/s/export?format=parquet", headers=site.owner).content
    rows = parquet.read_table(io.BytesIO(data)).to_pylist()
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[0]["outcome"] == "answered"


def test_a_whole_study_moves_in_one_file(site) -> None:
    table = b"name,image\n" + b"".join(b"%c,%c.png\n" % (c, c) for c in b"abcd")
    upload(site, {"x.zip": zipped({"items.csv": table} | {f"{c}.png": png() for c in "abcd"})}, "pictures")
    person = answer_all(site, site.storage.study("pictures").key, 4)
    site.storage.exclude("pictures", person.name)
    site.storage.change_study("pictures", archived=True)
    data = site.client.get("/api/studies/pictures/bundle", headers=site.owner).content
    other = Site()
    reply = other.client.post("/api/studies/restore", files={"file": ("b.zip", data)}, headers=other.owner)
    assert reply.status_code == 201, reply.text
    assert other.storage.items("pictures") == site.storage.items("pictures")
    assert len(other.storage.answers("pictures", None, everything=True)) == 4
    assert other.storage.answers("pictures", None) == []
    assert other.storage.study("pictures").key != site.storage.study("pictures").key
    assert other.client.get(f"/api/p/{reply.json()['key']}/items/2/image").status_code == 200
    again = other.client.post("/api/studies/restore", files={"file": ("b.zip", data)}, headers=other.owner)
    assert (again.status_code, again.json()["detail"]) == (409, 'Study "pictures" exists already. Use another name.')
    moved, original = other.storage.study("pictures"), site.storage.study("pictures")
    assert (moved.archived, moved.created_at) == (True, original.created_at)
    renamed = other.client.post(
        "/api/studies/restore", files={"file": ("b.zip", data)}, data={"name": "copy"}, headers=other.owner
    )
    assert renamed.json()["name"] == "copy"
