"""No way from a participant's link to anything else; no way in without the token; nothing told that should not be."""

import logging
import subprocess
import sys

import pytest

from infonn.errors import StorageError
from infonn.storage.memory import MemoryStorage
from infonn.web.security import RateLimit, first_owner_token, reset_owner_token
from infonn.web.server import Limits

from .conftest import NO_LIMITS, Site


def owner_paths(site) -> list[tuple[str, str]]:
    """Every owner route of the OpenAPI document."""
    document = site.client.get("/api/openapi.json").json()
    return [
        (method, path.replace("{name}", "s").replace("{respondent}", "p"))
        for path, methods in document["paths"].items()
        for method in methods
        if not path.startswith("/api/p/") and path not in ("/api/health", "/api/login", "/api/logout")
    ]


def test_every_owner_route_needs_the_token(site) -> None:
    person = site.person(site.study())
    paths = owner_paths(site)
    assert len(paths) >= 16
    for headers in ({}, {"authorization": "Bearer wrong"}, person.headers, {"authorization": "Basic eDp5"}):
        for method, path in paths:
            reply = site.client.request(method, path, headers=headers)
            assert reply.status_code == 401, (method, path, reply.status_code)


def test_a_session_is_good_for_its_own_study_only(site) -> None:
    first, second = site.study("a"), site.study("b")
    person = site.person(first)
    assert site.client.get(f"/api/p/{second}/questions", headers=person.headers).status_code == 401
    forged = {"authorization": f"Bearer {person.name}.{'0' * 64}"}
    assert site.client.get(f"/api/p/{first}/questions", headers=forged).status_code == 401


def test_a_question_of_another_person_cannot_be_answered(site) -> None:
    key = site.study()
    anna, bert = site.person(key), site.person(key)
    body = {"id": "stolen-one", "question": anna.questions[0]["id"], "response": 0}
    assert bert.post("answers", body).status_code == 404
    assert site.storage.answers("s", None) == []


def test_the_owner_token_is_kept_as_a_hash_and_shown_once() -> None:
    storage = MemoryStorage()
    token = first_owner_token(storage)
    assert first_owner_token(storage) is None
    assert token not in str(storage._settings)
    assert len(token) >= 40


def test_a_reset_ends_the_old_token_and_its_logins(site) -> None:
    assert site.client.post("/api/login", json={"token": site.token}).status_code == 204
    assert site.client.get("/api/studies").status_code == 200
    reset_owner_token(site.storage)
    assert site.client.get("/api/studies").status_code == 401
    assert site.client.get("/api/studies", headers=site.owner).status_code == 401


def test_a_login_is_a_strict_cookie_and_of_no_use_to_other_sites(site) -> None:
    reply = site.client.post("/api/login", json={"token": site.token})
    cookie = reply.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "secure"))
    assert site.token.lower() not in cookie
    foreign = site.client.patch("/api/studies/s", json={"archived": True}, headers={"sec-fetch-site": "cross-site"})
    assert foreign.status_code == 403
    site.client.post("/api/logout")
    assert site.client.get("/api/studies").status_code == 401


def test_wrong_tokens_are_limited_and_the_right_one_is_not() -> None:
    site = Site(limits=Limits(logins_per_minute=1))
    tries = [site.client.post("/api/login", json={"token": "wrong"}).status_code for _ in range(12)]
    assert tries.count(401) == 10
    assert tries[-1] == 429
    assert site.client.get("/api/studies", headers=site.owner).status_code == 200


def test_one_participant_cannot_crowd_out_the_others() -> None:
    site = Site(limits=Limits(per_session=1e-6, per_client=0))
    key = site.study()
    loud, quiet = site.person(key), site.person(key)
    codes = [site.client.get(f"/api/p/{key}/questions", headers=loud.headers).status_code for _ in range(70)]
    assert codes.count(429) == 10
    assert site.client.get(f"/api/p/{key}/questions", headers=quiet.headers).status_code == 200


def test_a_limit_lets_bursts_pass_and_fills_again() -> None:
    now = [0.0]
    limit = RateLimit(2.0, burst=3, clock=lambda: now[0])
    assert [limit.allows("x") for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert [limit.allows("x"), limit.allows("x")] == [True, False]
    assert limit.allows("y")


def test_every_reply_has_the_security_headers(site) -> None:
    for path in ("/api/health", "/api/studies", "/nothing", "/api/p/x/questions"):
        headers = site.client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "script-src 'self';" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"


def test_large_requests_are_refused(site) -> None:
    limits = Limits(body_bytes=1000, upload_bytes=2000, per_session=0, per_client=0, logins_per_minute=0)
    site = Site(limits=limits)
    reply = site.client.post("/api/studies", content=b"x" * 1500, headers=site.owner)
    assert reply.status_code == 413
    chunks = (b"x" * 100 for _ in range(50))
    reply = site.client.post("/api/studies", content=chunks, headers={**site.owner, "content-type": "application/json"})
    assert reply.status_code == 413


def test_errors_tell_one_sentence_and_the_log_the_rest(caplog) -> None:
    class Broken(MemoryStorage):
        def study_by_key(self, key):
            raise RuntimeError("secret detail of the machine")

        def studies(self):
            raise StorageError("sqlite:////home/somebody/secret.db is full")

    site = Site(Broken(), NO_LIMITS)
    with caplog.at_level(logging.ERROR):
        crash = site.client.post("/api/p/x/session", json={})
        full = site.client.get("/api/studies", headers=site.owner)
    assert (crash.status_code, full.status_code) == (500, 503)
    assert "secret" not in crash.text + full.text
    assert "Traceback" not in crash.text
    assert full.headers["retry-after"] == "1"
    assert "secret detail" in caplog.text


def test_the_key_of_a_study_cannot_be_guessed(site) -> None:
    keys = {site.study(f"study {i}") for i in range(20)}
    assert len(keys) == 20
    assert min(map(len, keys)) >= 20


def test_importing_the_app_loads_no_heavy_library() -> None:
    heavy = ["torch", "numba", "sklearn", "umap", "pandas", "matplotlib", "scipy"]
    code = f"import sys, infonn.web.app; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


@pytest.mark.parametrize("path", ["/api/p/{key}/items/0/image/../../../../studies", "/api/p/{key}/../../studies"])
def test_paths_do_not_climb(site, path) -> None:
    key = site.study()
    assert site.client.get(path.format(key=key)).status_code in (401, 404)
