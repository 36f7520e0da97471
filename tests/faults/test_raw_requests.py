"""Bytes that nobody should send, on a real socket: no server error, and nothing that hangs."""

import random
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from infonn.specs.build import open_live_storage
from infonn.web.server import Limits
from web.conftest import Site
from web.test_hostile import running

NO_LIMITS = Limits(
    at_once_per_client=0,
    per_session=0,
    per_client=0,
    logins_per_minute=0,
    connections_per_client=0,
    uploads_at_once=0,
    body_s=0.3,  # unfinished requests end soon
    upload_idle_s=0.3,
)
ODD = [
    *(b"\0", b"\r\n", b"\xff\xfe", b"%00", b"%", b"..", b"/", b"{", b"[" * 300, b"NaN", b"1e999"),
    *(b"\\ud800", b"\\u0000", b"\xc3\xa9", b"null", b"-1", b"9" * 400, b"chunked"),
    *(b"Content-Length: 5\r\n", b"A" * 3000, b"=", b"'", b"__proto__"),
]
AT_ONCE = 32  # many of them are unfinished, and wait for the server to end them


def seeds(site: Site, key: str, session: str) -> list[bytes]:
    """Requests that make sense, of every kind."""
    person, owner = f"Authorization: Bearer {session}", f"Authorization: Bearer {site.token}"
    form = (
        '--b\r\nContent-Disposition: form-data; name="settings"\r\n\r\n{"study": {"name": "x"}}\r\n--b\r\n'
        'Content-Disposition: form-data; name="files"; filename="i.csv"\r\n\r\nname\na\nb\n\r\n--b--\r\n'
    )
    answer = '{"id": "answer-0001", "question": "q", "response": 0, "context": {"a": [1, 2.5, "x"]}}'
    requests = [
        ("GET", f"/s/{key}", "", ""),
        ("GET", "/studies/s?x=1", "Cookie: infonn_owner=abc.def.ghi", ""),
        ("POST", f"/api/p/{key}/session", "", '{"parameters": {"PROLIFIC_PID": "5f1"}, "session": "x"}'),
        ("POST", f"/api/p/{key}/answers?n=3", person, answer),
        ("POST", f"/api/p/{key}/undo", person, '{"answer": "answer-0001"}'),
        ("GET", f"/api/p/{key}/questions?n=2", person, ""),
        ("GET", f"/api/p/{key}/items/0/image", "", ""),
        ("POST", "/api/login", "", '{"token": "x"}'),
        ("PATCH", "/api/studies/s", owner, '{"people": {"title": "x"}, "budget": {"answers": 10}}'),
        ("POST", "/api/studies", owner, '{"study": {"name": "s"}, "items": ["a", {"name": "b", "text": "c"}]}'),
        ("GET", "/api/studies/s/export?format=jsonl", owner, ""),
        ("GET", "/metrics", owner, ""),
        ("POST", "/api/studies/upload", f"{owner}\r\nContent-Type: multipart/form-data; boundary=b", form),
    ]
    made = []
    for method, path, headers, body in requests:
        lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close"]
        if "multipart" not in headers:
            lines.append("Content-Type: application/json")
        lines += [line for line in (headers, f"Content-Length: {len(body)}" if body else "") if line]
        made.append(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
    return made


def mutated(request: bytes, rng: random.Random) -> bytes:
    data = bytearray(request)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at:at] = rng.choice(ODD)
            case 1:
                del data[at : at + rng.randint(1, 20)]
            case 2:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 3:
                data[at:at] = data[at : at + rng.randint(1, 60)]
            case 4:
                data = data[:at] or data
            case _:
                data[at : at + len(chosen)] = (chosen := rng.choice(ODD))
    return bytes(data)


def reply_to(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        try:
            connection.sendall(request)
            return connection.recv(65536)
        except TimeoutError:
            raise AssertionError(f"no end of {request!r}") from None
        except (ConnectionResetError, BrokenPipeError):
            return b""


def send_many(site: Site, n: int, seed: int) -> None:
    key = site.study()
    person = site.person(key)
    rng, whole = random.Random(seed), seeds(site, key, person.session)
    with running(site, head_s=0.3) as port, ThreadPoolExecutor(AT_ONCE) as threads:
        for request in whole:
            assert int(reply_to(port, request).split()[1]) < 500, request
        sent = [mutated(rng.choice(whole), rng) for _ in range(n)]
        for request, reply in zip(sent, threads.map(lambda each: reply_to(port, each), sent)):  # a hang is a timeout
            assert not reply.startswith(b"HTTP/1.1 5"), (request, reply)
        assert reply_to(port, whole[0]).startswith(b"HTTP/1.1 200")


def test_two_thousand_mutated_requests_are_no_server_error(tmp_path) -> None:
    storage = open_live_storage(f"sqlite:///{tmp_path}/study.db")
    send_many(Site(storage, NO_LIMITS), 2000, 1)
    storage.close()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_fifty_thousand_mutated_requests_are_no_server_error(database_url) -> None:
    storage = open_live_storage(database_url)
    send_many(Site(storage, NO_LIMITS), 25_000, 2)  # on each of two databases
    storage.close()
