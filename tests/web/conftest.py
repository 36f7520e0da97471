"""A server over memory, and people who use it."""

import itertools

import pytest
from fastapi.testclient import TestClient

from infonn.storage.memory import MemoryStorage
from infonn.web.app import create_app
from infonn.web.security import first_owner_token
from infonn.web.server import Limits

ITEMS = [f"item {i}" for i in range(12)]
NO_LIMITS = Limits(per_session=0, per_client=0, logins_per_minute=0)
_numbers = itertools.count()


class Site:
    """A server with an owner."""

    def __init__(self, storage=None, limits=NO_LIMITS) -> None:
        self.storage, self.limits = storage or MemoryStorage(), limits
        self.token = first_owner_token(self.storage)
        self.app = create_app(self.storage, "https://study.example", limits)
        self.client = TestClient(self.app, "https://study.example", raise_server_exceptions=False)
        self.owner = {"authorization": f"Bearer {self.token}"}

    def study(self, name="s", items=ITEMS, **tables) -> str:
        """Create a study; its key."""
        body = {"study": {"name": name}, "items": items, **tables}
        reply = self.client.post("/api/studies", json=body, headers=self.owner)
        assert reply.status_code == 201, reply.text
        return reply.json()["key"]

    def get(self, path: str, **parameters):
        reply = self.client.get(path, headers=self.owner, params=parameters)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def person(self, key: str, **body) -> "Person":
        return Person(self, key, body)


class Person:
    """Somebody at the participants' page."""

    def __init__(self, site: Site, key: str, body: dict) -> None:
        self.site, self.key = site, key
        reply = site.client.post(f"/api/p/{key}/session", json=body)
        assert reply.status_code == 200, reply.text
        self.arrival = reply.json()
        self.name, self.session = self.arrival["respondent"], self.arrival["session"]
        self.headers = {"authorization": f"Bearer {self.session}"}
        self.questions = self.arrival["questions"]

    def post(self, path: str, body: dict, **parameters):
        return self.site.client.post(f"/api/p/{self.key}/{path}", json=body, headers=self.headers, params=parameters)

    def answer(self, response=0, question=None, **changes) -> dict:
        question = question or self.questions[0]["id"]
        body = {"id": f"answer-{next(_numbers):06}", "question": question, "response": response, **changes}
        reply = self.post("answers", body)
        assert reply.status_code == 200, reply.text
        self.questions = reply.json()["questions"]
        return reply.json()


@pytest.fixture
def site() -> Site:
    return Site()
