"""The ML backend for Label Studio, called as the server calls it."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from infonn.adapters.label_studio import Labelling, Server, create_app
from infonn.datasets.items import ItemSet
from infonn.formats.label_studio import write_config
from infonn.records import Item

CONFIG = write_config(["left", "right"], "Text", "text")
FEATURES = np.concatenate([np.full((15, 2), -2.0), np.full((15, 2), 2.0)])
FEATURES += np.random.default_rng(0).standard_normal(FEATURES.shape)
TRUTH = ["left"] * 15 + ["right"] * 15


def labelling(file: Path) -> Labelling:
    return Labelling(ItemSet(tuple(Item(f"item {i}") for i in range(30)), FEATURES), file, "margin")


def tasks() -> list[dict[str, Any]]:
    return [{"id": i, "data": {"item": f"item {i}"}} for i in range(30)]


def annotated(item: int, label: str, action: str = "ANNOTATION_CREATED") -> dict[str, Any]:
    result = [{"type": "choices", "value": {"choices": [label]}}]
    return {"action": action, "task": {"data": {"item": f"item {item}"}}, "annotation": {"result": result}}


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    found = TestClient(create_app(labelling(tmp_path / "labels.csv")))
    assert found.get("/health").json()["status"] == "UP"
    assert found.post("/setup", json={"schema": CONFIG}).json() == {"model_version": "infonn-0"}
    return found


def test_without_labels_every_task_has_a_place_and_no_class(client: TestClient) -> None:
    results = client.post("/predict", json={"tasks": tasks()}).json()["results"]
    assert sorted(result["score"] for result in results) == pytest.approx(np.arange(30) / 30)
    assert all(result["result"] == [] for result in results)


def test_labels_change_version_order_and_predictions(client: TestClient, tmp_path: Path) -> None:
    for item in (0, 1, 2, 20, 21, 22):
        client.post("/webhook", json=annotated(item, TRUTH[item]))
    body = client.post("/predict", json={"tasks": tasks()}).json()
    assert body["model_version"] == "infonn-6"
    results = body["results"]
    assert [results[item]["score"] for item in (0, 1, 2, 20, 21, 22)] == [1.0] * 6
    said = [result["result"][0]["value"]["choices"][0] for result in results]
    assert np.mean([a == b for a, b in zip(said, TRUTH)]) > 0.9
    first = int(np.argmin([result["score"] for result in results]))
    assert abs(FEATURES[first].sum()) < 3  # between the two classes
    assert (tmp_path / "labels.csv").read_text().splitlines()[1] == "item 0,left"


def test_a_label_that_is_changed_or_cancelled_counts_no_more(client: TestClient, tmp_path: Path) -> None:
    client.post("/webhook", json=annotated(3, "left"))
    client.post("/webhook", json=annotated(3, "right", "ANNOTATION_UPDATED"))
    assert "item 3,right" in (tmp_path / "labels.csv").read_text()
    cancelled = annotated(3, "right", "ANNOTATION_UPDATED")
    cancelled["annotation"]["was_cancelled"] = True
    client.post("/webhook", json=cancelled)
    assert "item 3" not in (tmp_path / "labels.csv").read_text()


def test_training_reads_all_annotations_at_once(client: TestClient) -> None:
    sent = [
        {"data": {"item": f"item {i}"}, "annotations": [annotated(i, TRUTH[i])["annotation"]]} for i in (0, 1, 20, 21)
    ]
    assert client.post("/train", json={"annotations": sent, "label_config": CONFIG}).json()["job"] == "infonn-1"
    assert client.post("/predict", json={"tasks": tasks()}).json()["results"][5]["result"]


def test_labels_of_an_earlier_run_are_there_again(client: TestClient, tmp_path: Path) -> None:
    client.post("/webhook", json=annotated(4, "left"))
    again = labelling(tmp_path / "labels.csv")
    again.set_up(CONFIG)
    assert again.labels == {4: "left"}


def test_a_task_that_shows_no_item_comes_last(client: TestClient) -> None:
    body = client.post("/predict", json={"tasks": [{"id": 1, "data": {"item": "unknown"}}]}).json()
    assert body["results"][0]["score"] == 1.0


def test_what_is_wrong_is_one_sentence(tmp_path: Path) -> None:
    client = TestClient(create_app(labelling(tmp_path / "labels.csv")))
    assert "labelling config" in client.post("/predict", json={"tasks": tasks()}).json()["error"]
    assert client.post("/setup", json={"schema": "<View/>"}).status_code == 400


def test_the_server_is_told_to_look_again_after_enough_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    done = threading.Event()

    def refresh(self: Server, project: int, own: Labelling) -> None:
        told.append(project)
        done.set()

    monkeypatch.setattr(Server, "refresh", refresh)
    client = TestClient(create_app(labelling(tmp_path / "labels.csv"), Server("http://studio", "token", every=3)))
    client.post("/setup", json={"schema": CONFIG})
    for item in range(4):
        client.post("/webhook", json={**annotated(item, "left"), "project": {"id": 7}})
    assert done.wait(10)
    assert told == [7]
