"""plotly's script is served from the installed package, packed, to be kept by browsers."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from fastapi.testclient import TestClient

from infonn.storage.memory import MemoryStorage
from infonn.web.app import create_app
from infonn.web.plotly import script_path, style_ids


@pytest.fixture
def client() -> TestClient:
    return TestClient(create_app(MemoryStorage()))


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_the_script_is_served_to_be_kept(client: TestClient, encoding: str) -> None:
    reply = client.get(script_path(), headers={"accept-encoding": encoding})
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/javascript")
    assert "immutable" in reply.headers["cache-control"]
    assert reply.headers.get("content-encoding", "identity") == encoding
    assert "window.Plotly" in reply.text


def test_another_version_is_not_there(client: TestClient) -> None:
    assert client.get(script_path().replace(version("plotly"), "0.0")).status_code == 404


def test_style_sheets_of_its_own_are_known() -> None:
    assert all(len(found) == 64 for found in style_ids())
