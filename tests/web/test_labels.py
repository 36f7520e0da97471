"""Owners of label studies: predictions sorted by doubt, corrections, who labels how, and files."""

import csv
import io
import zipfile

import numpy as np
import pytest

from infonn.live.cold_fits import fit_cold
from infonn.specs.build import load_study

CLASSES = ["low", "high"]
FEATURES = [[i - 5.5, (i % 3) / 10] for i in range(12)]


@pytest.fixture
def labelled(site):
    """A study in which three people labelled the same items, one of them carelessly."""
    site.study(
        "line",
        features=FEATURES,
        queries={"classes": CLASSES},
        people={"hold_out": 0.0, "overlap": 3},
        **{"study": {"name": "line", "task": "labels"}},
    )
    return site


def label(site, n_people=3, n=6):
    key = site.get("/api/studies/line")["key"]
    for person in range(n_people):
        visitor = site.person(key)
        for _ in range(n):
            question = visitor.questions[0]
            right = int(question["reference"]["index"] > 5)
            visitor.answer(1 - right if person == 2 else right)
    fit(site)


def fit(site):
    fit_cold(site.storage, load_study(site.storage, "line"), 0)


def rows_of(site, format):
    reply = site.client.get(f"/api/studies/line/labels/export?format={format}", headers=site.owner)
    assert reply.status_code == 200, reply.text
    return list(csv.DictReader(io.StringIO(reply.text)))


def test_predictions_come_the_most_doubtful_first_and_the_majority_decides(labelled) -> None:
    assert labelled.client.get("/api/studies/line/labels/predictions", headers=labelled.owner).status_code == 404
    label(labelled)
    found = labelled.get("/api/studies/line/labels/predictions")
    assert found["total"] == 12
    assert found["up_to_date"]
    doubts = [item["doubt"] for item in found["items"]]
    assert doubts == sorted(doubts, reverse=True)
    told = {item["index"]: item for item in found["items"]}
    assert all(item["label"] == CLASSES[index > 5] for index, item in told.items() if item["label"])
    assert told[0]["prediction"] == "low"
    assert told[11]["prediction"] == "high"
    few = labelled.get("/api/studies/line/labels/predictions", shown="unlabelled", label="low", limit=2)
    assert len(few["items"]) <= 2
    assert all(item["label"] is None and item["prediction"] == "low" for item in few["items"])


def test_an_owners_word_counts_for_more_than_what_others_said(labelled) -> None:
    label(labelled)
    said = next(item for item in labelled.get("/api/studies/line/labels/predictions")["items"] if item["label"])
    other = CLASSES[said["label"] == "low"]
    post = lambda body: labelled.client.post(  # noqa: E731
        "/api/studies/line/labels/corrections", json=body, headers=labelled.owner
    )
    reply = post({"item": said["index"], "label": other})
    assert reply.status_code == 201, reply.text
    assert reply.json()["before"] in CLASSES
    fit(labelled)
    items = {item["index"]: item for item in labelled.get("/api/studies/line/labels/predictions")["items"]}
    assert items[said["index"]]["label"] == other
    assert post({"item": 0, "label": "middle"}).json()["detail"] == (
        'There is no class "middle". The classes are low, high.'
    )
    assert post({"item": 99, "label": "low"}).status_code == 404
    rows = [row for row in rows_of(labelled, "labels") if row["item"] == said["name"]]
    assert [row["counts"] for row in rows if row["who"].startswith("owner")] == ["true"]
    assert len(rows) >= 2  # what others said stays on record


def test_who_confuses_what_is_told(labelled) -> None:
    assert labelled.get("/api/studies/line/labels/annotators")["people"] == []
    label(labelled)
    found = labelled.get("/api/studies/line/labels/annotators")
    assert found["shared"] >= 1
    assert found["disagreeing"] >= 1
    careful, _, careless = sorted(found["people"], key=lambda person: -person["agreeing"] / max(1, person["shared"]))
    assert careful["agreeing"] == careful["shared"]
    assert careless["agreeing"] == 0
    confused, right = (np.array(person["confusion"]) for person in (careless, careful))
    assert max(confused[0, 1], confused[1, 0]) > 0.5  # calls low ones high, and high ones low
    assert right[0, 0] > right[0, 1]
    assert right[1, 1] > right[1, 0]


def test_what_comes_out_of_a_served_study(labelled) -> None:
    label(labelled)
    predictions = rows_of(labelled, "predictions")
    assert list(predictions[0]) == ["item", "label", "prediction", "confidence", "p(low)", "p(high)"]
    assert len(predictions) == 12
    labels = rows_of(labelled, "labels")
    assert len(labels) == 18
    assert all(row["who"].startswith("p-") and row["when"] for row in labels)
    get = lambda format: labelled.client.get(  # noqa: E731
        f"/api/studies/line/labels/export?format={format}", headers=labelled.owner
    )
    import skops.io
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(get("predictions_parquet").content)).to_pydict()
    assert table["prediction"] == [row["prediction"] for row in predictions]
    model = skops.io.loads(get("model").content, trusted=[])
    probs = model.predict_proba(np.array(FEATURES))
    np.testing.assert_allclose(probs[:, 1], [float(row["p(high)"]) for row in predictions], atol=2e-3)
    assert get("folders").json()["detail"] == "These items have no pictures to sort into folders."
    assert get("nothing").status_code == 422


def test_studies_of_similarity_have_no_labels(site) -> None:
    site.study("s")
    reply = site.client.get("/api/studies/s/labels/export", headers=site.owner)
    assert "asks no labels" in reply.json()["detail"]


def test_the_servers_files_and_code_are_named_from_its_shell_alone(site) -> None:
    tables = {"study": {"name": "s", "task": "labels"}, "queries": {"classes": CLASSES}}
    table = {**tables, "items": {"pictures": "/etc", "mapped": "/etc/passwd"}}
    import json

    files = [("files", ("items.csv", b"name,x\na,1\nb,2\nc,3\n", "text/csv"))]
    reply = site.client.post(
        "/api/studies/upload", data={"settings": json.dumps(table)}, files=files, headers=site.owner
    )
    assert "names files of the server" in reply.json()["detail"]
    own = {**tables, "learner": {"name": "own_model", "model": "os:system"}}
    reply = site.client.post("/api/studies/upload", data={"settings": json.dumps(own)}, files=files, headers=site.owner)
    assert "only the server's shell can name" in reply.json()["detail"]


def test_pictures_of_a_folder_are_sorted_into_folders_by_class(site, tmp_path, monkeypatch) -> None:
    from PIL import Image

    from infonn.live.transfer import put_study
    from infonn.live.uploads import items_in_place

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(12):
        Image.new("RGB", (20, 20), (20 * number, 0, 0)).save(folder / f"{number:02}.png")
    np.save(tmp_path / "features.npy", np.array(FEATURES, np.float32))
    spec = {
        "study": {"name": "line", "task": "labels"},
        "queries": {"classes": CLASSES},
        "people": {"hold_out": 0.0, "overlap": 3},
        "items": {"pictures": str(folder), "mapped": str(tmp_path / "features.npy")},
    }
    record = put_study(site.storage, spec, items_in_place(folder, None, tmp_path / "features.npy"), [])
    label(site, n_people=1, n=8)
    reply = site.client.get(f"/api/p/{record.key}/items/3/image")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "image/png"
    (folder / "03.png").unlink()
    (folder / "03.png").symlink_to("/etc/passwd")
    assert site.client.get(f"/api/p/{record.key}/items/3/image").status_code == 404
    data = site.client.get("/api/studies/line/labels/export?format=folders", headers=site.owner).content
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert len(names) == 11  # all but the link
    assert {name.split("/")[0] for name in names} == set(CLASSES)
    bundle = site.client.get("/api/studies/line/bundle", headers=site.owner).content
    reply = site.client.post(
        "/api/studies/restore", files={"file": ("s.zip", bundle)}, data={"name": "again"}, headers=site.owner
    )
    assert reply.status_code == 201, reply.text
    assert not reply.json()["spec"]["items"]["pictures"]
