"""A real Label Studio server with our ML backend behind a project: tasks come sorted, labels come back.

INFONN_LABEL_STUDIO names the `label-studio` command of an environment of its own; `make test-ecosystem` sets it.
"""

import csv
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infonn.formats.label_studio import read_labels, write_config

COMMAND = os.environ.get("INFONN_LABEL_STUDIO", "")
if not COMMAND:
    pytest.skip("INFONN_LABEL_STUDIO names no label-studio; make test-ecosystem does", allow_module_level=True)
httpx = pytest.importorskip("httpx")

TOKEN = "0123456789abcdef0123456789abcdef01234567"
CLASSES = ["low", "high"]
FEATURES = np.linspace(-3, 3, 24)[:, None] * np.ones((1, 2))
TRUTH = [CLASSES[int(row[0] > 0)] for row in FEATURES]

pytestmark = pytest.mark.timeout(900)  # the first start of the server makes its database


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"The process for {url} ended: {log.read_text()[-2000:]}")
        try:
            if httpx.get(url, timeout=5, trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    pytest.fail(f"{url} does not answer: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def backend(server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("backend")
    with (folder / "items.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["name", "x", "y"], *[[f"item {i}", *row] for i, row in enumerate(FEATURES.tolist())]]
        )
    port, log = free_port(), folder / "log"
    command = [sys.executable, "-m", "infonn", "label-studio", "--items", "items.csv", "--strategy", "margin"]
    back = ["--server", str(server.base_url), "--token", TOKEN, "--every", "5", "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen([*command, *back], cwd=folder, stdout=out, stderr=out)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, log, 120)
        yield f"http://127.0.0.1:{port}", folder / "labelling" / "labels.csv"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder, port = tmp_path_factory.mktemp("label-studio"), free_port()
    log = folder / "log"
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"),
        "DJANGO_DB": "sqlite",
        "SECRET_KEY": "for this test alone",
        "LATEST_VERSION_CHECK": "false",
        "COLLECT_ANALYTICS": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "USE_DEFAULT_BANNED_SUBNETS": "false",  # our backend is on this machine
        "ML_TIMEOUT_SETUP": "30",
        "ML_TIMEOUT_HEALTH": "30",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    command = [COMMAND, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    person = ["--username", "owner@example.org", "--password", "not-a-secret-1", "--user-token", TOKEN]
    with log.open("wb") as out:
        process = subprocess.Popen([*command, *person], env={**os.environ, **settings}, stdout=out, stderr=out)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, log, 600)
        headers = {"Authorization": f"Token {TOKEN}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=120, trust_env=False) as client:
            yield client
    finally:
        process.terminate()
        process.wait(30)


def told(response: Any) -> Any:
    assert response.status_code < 300, f"{response.request.url}: {response.status_code} {response.text[:500]}"
    return response.json()


def retrieve_predictions(server: Any, project: int) -> None:
    told(
        server.post(
            "/api/dm/actions",
            params={"id": "retrieve_tasks_predictions", "project": project},
            json={"selectedItems": {"all": True, "excluded": []}, "project": project},
        )
    )


def sorted_tasks(server: Any, project: int) -> list[dict[str, Any]]:
    view = told(
        server.post(
            "/api/dm/views/",
            json={"project": project, "data": {"title": "first", "ordering": ["tasks:predictions_score"]}},
        )
    )
    found = told(server.get("/api/tasks", params={"view": view["id"], "fields": "all", "page_size": 100}))
    return list(found["tasks"])


def label(server: Any, task: dict[str, Any]) -> None:
    item = int(task["data"]["item"].split()[1])
    region = {"from_name": "class", "to_name": "item", "type": "choices", "value": {"choices": [TRUTH[item]]}}
    told(server.post(f"/api/tasks/{task['id']}/annotations/", json={"result": [region]}))


def test_a_project_is_sorted_by_our_scores_and_learns_as_people_label(server: Any, backend: tuple[str, Path]) -> None:
    url, labels = backend
    project = told(
        server.post("/api/projects/", json={"title": "heights", "label_config": write_config(CLASSES, "Text", "text")})
    )["id"]
    tasks = [{"data": {"item": f"item {i}", "text": f"Item {i}"}} for i in range(len(FEATURES))]
    told(server.post(f"/api/projects/{project}/import", json=tasks))
    told(server.post("/api/ml", json={"project": project, "url": url, "title": "infonn"}))

    retrieve_predictions(server, project)
    told(server.patch(f"/api/projects/{project}/", json={"model_version": "infonn-0"}))  # sort by these
    first = sorted_tasks(server, project)
    assert [task["predictions_score"] for task in first] == pytest.approx(np.arange(24) / 24)

    for task in sorted(first, key=lambda task: int(task["data"]["item"].split()[1]))[::5]:  # low and high ones
        label(server, task)
    deadline = time.monotonic() + 120
    while told(server.get(f"/api/projects/{project}/"))["model_version"] != "infonn-5":  # it looks again by itself
        assert time.monotonic() < deadline, "the server was not told that the model has learned"
        time.sleep(0.5)
    after = [task for task in sorted_tasks(server, project) if not task["total_annotations"]]
    place = {int(task["data"]["item"].split()[1]): rank for rank, task in enumerate(after)}
    assert {11, 12} & set(list(place)[:3]), "the items between the classes come first"

    export = server.get(f"/api/projects/{project}/export", params={"exportType": "JSON"})
    names = [f"item {i}" for i in range(len(FEATURES))]
    assert read_labels(export.text, names, CLASSES) == {i: CLASSES.index(TRUTH[i]) for i in range(0, 24, 5)}
    assert {row["label"] for row in csv.DictReader(labels.open())} == set(CLASSES)
