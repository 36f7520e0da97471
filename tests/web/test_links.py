"""Links for participants: right behind a proxy that is trusted, and with a word of warning where they are a guess."""

import pytest
from fastapi.testclient import TestClient

from infonn.live.addresses import HERE_ONLY
from infonn.storage.memory import MemoryStorage
from infonn.web.app import create_app
from infonn.web.security import first_owner_token


def link(headers=None, **how) -> tuple[str, str | None]:
    storage = MemoryStorage()
    owner = {"authorization": f"Bearer {first_owner_token(storage)}"}
    client = TestClient(create_app(storage, "http://127.0.0.1:8000", **how), "https://inner.example")
    body = {"study": {"name": "s"}, "items": ["a", "b", "c", "d", "e"]}
    made = client.post("/api/studies", json=body, headers={**owner, **(headers or {})}).json()
    return made["link"].removesuffix(made["key"]), made["link_warning"]


def test_a_stranger_cannot_change_links_by_a_header() -> None:
    assert link({"x-forwarded-host": "evil.example"})[0] == "http://127.0.0.1:8000/s/"


def test_a_link_that_works_here_alone_comes_with_a_warning() -> None:
    assert link(link_warning=HERE_ONLY) == ("http://127.0.0.1:8000/s/", HERE_ONLY)


@pytest.mark.parametrize(
    "headers, begins",
    [
        ({}, "https://inner.example/s/"),
        ({"x-forwarded-host": "study.example"}, "https://study.example/s/"),
        ({"x-forwarded-host": "study.example:8443, inner"}, "https://study.example:8443/s/"),
        ({"x-forwarded-host": 'x"><script>'}, "http://127.0.0.1:8000/s/"),
    ],
)
def test_a_trusted_proxy_says_how_people_come(headers, begins) -> None:
    assert link(headers, ask_proxy=True)[0] == begins
