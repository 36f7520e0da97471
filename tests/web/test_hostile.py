"""What strangers sent that hurt a server: each fault by its number in the list of faults, mended."""

import io
import json
import os
import socket
import threading
import time
import zipfile
from contextlib import contextmanager, suppress

import numpy as np
import pytest
import uvicorn
from fastapi import HTTPException

from infonn.specs.build import open_live_storage
from infonn.web.connections import guarded_protocol
from infonn.web.incoming import parse_json
from infonn.web.server import Limits

from .conftest import ITEMS, Site

NON_ASCII = ("é", "\u00ff" * 43, "ключ".encode().decode("latin-1"), "p-1.é")


@contextmanager
def running(site: Site, **seconds: float):
    """The site on a port of this machine; its requests go through sockets."""
    protocol = guarded_protocol(site.limits, **seconds)
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(site.app, log_level="critical", http=protocol, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)


def raw(port: int, data: bytes, seconds: float = 10.0) -> bytes:
    """What the server replies to these bytes, until it closes the connection or is silent."""
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        reply = b""
        try:
            connection.sendall(data)
            while block := connection.recv(65536):
                reply += block
        except OSError:
            pass
        return reply


# --- 2: times of replies ---------------------------------------------------------------------------


def test_point_2_random_paths_leave_nothing_behind(site) -> None:
    key = site.study()
    for number in range(200):
        site.client.post(f"/api/p/{key}/path-{number}", json={})
        site.client.post(f"/api/p/x-{number}/session", json={})
    site.person(key)
    assert set(site.get("/api/server")["requests"]) <= {"session", "answers", "undo", "questions"}


def test_point_2_a_limit_remembers_no_more_clients_than_it_may() -> None:
    from infonn.web.security import RateLimit

    limit = RateLimit(1.0, burst=2, most_clients=100)
    for number in range(1000):
        limit.allows(f"client {number}")
    assert len(limit) <= 100


# --- 3: bodies -------------------------------------------------------------------------------------


def test_point_3_a_stranger_is_refused_before_the_body_is_read(site) -> None:
    read = []

    def body():
        for _ in range(100):
            read.append(1)
            yield b"[]," * 20_000

    for method, path in (
        ("PATCH", "/api/studies/restore"),
        ("POST", "/api/studies"),
        ("POST", "/api/studies/upload"),
        ("POST", "/api/studies/restore"),
        ("POST", "/api/p/x/answers"),
        ("POST", "/api/p/x/undo"),
    ):
        headers = {"content-type": "application/json", "authorization": "Bearer nonsense"}
        reply = site.client.request(method, path, content=body(), headers=headers)
        assert reply.status_code == 401, path
    with running(site) as port:
        head = b"PATCH /api/studies/restore HTTP/1.1\r\nHost: x\r\nContent-Length: 62914560\r\n\r\n"
        started = time.monotonic()
        assert raw(port, head + b"[]," * 1000).startswith(b"HTTP/1.1 401")  # most of the body was never sent
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("path", ["/api/login", "/api/p/KEY/session", "/api/logout"])
def test_point_3_what_everybody_may_send_is_small(site, path) -> None:
    path = path.replace("KEY", site.study())
    headers = {"content-type": "application/json"}
    assert site.client.post(path, content=b"[]," * 400_000, headers=headers).status_code in (401, 413)
    chunks = (b"[]," * 10_000 for _ in range(40))
    assert site.client.post(path, content=chunks, headers=headers).status_code in (401, 413)


def test_point_3_large_bodies_are_parsed_off_the_event_loop(site, monkeypatch) -> None:
    from infonn.web import incoming

    threads = []
    parse = incoming.parse_json
    monkeypatch.setattr(
        incoming, "parse_json", lambda body: (threads.append(threading.current_thread()), parse(body))[1]
    )
    large = {"study": {"name": "large"}, "items": [f"item {'x' * 60} {i}" for i in range(3000)]}
    assert site.client.post("/api/studies", json=large, headers=site.owner).status_code == 201
    assert "AnyIO worker" in threads[0].name


SLOW_TO_READ = {
    "digits": b"[" + b",".join([b"1" * 299] * 28_000) + b"]",
    "backslashes": b'["' + b"\\\\" * (4 << 20) + b'"]',
    "half a NUL": b'["' + b"\\u000" * (8 << 17) + b'"]',
    "powers": b"[" + b",".join([b"1e10"] * (8 << 17)) + b"]",
}


@pytest.mark.parametrize("kind", SLOW_TO_READ)
def test_point_3_a_body_is_parsed_in_time_that_grows_with_its_length(kind) -> None:
    """8 MiB of 299-digit numbers took ten seconds, in which nobody else was served."""
    started = time.process_time()
    with suppress(HTTPException):
        parse_json(SLOW_TO_READ[kind])
    assert time.process_time() - started < 4  # it takes a tenth of that


def test_point_3_unfinished_requests_end_in_time() -> None:
    site = Site()
    with running(site, head_s=0.5) as port:
        many = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        for number, connection in enumerate(many):
            connection.sendall(b"POST /api/login HTTP/1.1\r\nHost: x\r\nX-Slow: "[: 5 + number % 40])
        time.sleep(1.0)
        assert sum(is_closed(connection) for connection in many) == 100
        for connection in many:
            connection.close()


def test_point_3_headers_without_end_are_cut_off(site) -> None:
    with running(site) as port:
        flood = b"GET /api/health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * (4 << 20)
        started = time.monotonic()
        assert not raw(port, flood).startswith(b"HTTP/1.1 200")
        assert time.monotonic() - started < 5
        for _ in range(3):  # many requests on one connection are many heads, each short
            long = b"GET /api/health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 30_000 + b"\r\n\r\n"
            last = b"GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            assert raw(port, long + long + long + last).count(b"HTTP/1.1 200") == 4


def test_point_3_a_slow_body_ends_in_time() -> None:
    site = Site(limits=Limits(per_session=0, per_client=0, logins_per_minute=0, body_s=0.5))
    with running(site) as port:
        head = b"POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        started = time.monotonic()
        assert raw(port, head).startswith(b"HTTP/1.1 408")
        assert time.monotonic() - started < 5


def test_point_3_one_address_holds_so_many_connections_and_no_more() -> None:
    site = Site(limits=Limits(connections_per_client=20))
    with running(site) as port:
        many = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        time.sleep(0.3)
        assert sum(is_closed(connection) for connection in many) == 20
        for connection in many:
            connection.close()
        time.sleep(0.2)
        assert raw(port, b"GET /api/health HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200")


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.05)
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def test_point_3_an_unfinished_upload_leaves_no_file() -> None:
    site = Site(limits=Limits(per_session=0, per_client=0, logins_per_minute=0, upload_idle_s=0.5))
    head = (
        f"POST /api/studies/restore HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {site.token}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 90000000\r\n\r\n"
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\n'
    ).encode()
    with running(site) as port:
        before = deleted_files()
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(head + b"x" * (8 << 20))
        time.sleep(0.4)
        assert deleted_files() > before
        time.sleep(1.0)  # silent for too long
        assert deleted_files() == before
        second = socket.create_connection(("127.0.0.1", port))
        second.sendall(head + b"x" * (8 << 20))
        time.sleep(0.2)
        second.close()  # gone in the middle
        time.sleep(0.5)
        assert deleted_files() == before
        connection.close()


def deleted_files() -> int:
    """Files this process holds open that have no name: an upload's bytes on disk."""
    found = 0
    for number in os.listdir("/proc/self/fd"):
        try:
            found += "(deleted)" in os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
    return found


# --- 5: letters that are no ASCII ------------------------------------------------------------------


@pytest.mark.parametrize("text", NON_ASCII)
def test_point_5_non_ascii_credentials_are_401(site, text) -> None:
    key = site.study()
    sent = text.encode("latin-1", errors="ignore")
    with running(site) as port:
        for line in (b"Authorization: Bearer " + sent, b"Cookie: infonn_owner=" + sent, b"Authorization: " + sent):
            for path in (f"/api/p/{key}/questions", "/api/studies"):
                reply = raw(port, f"GET {path} HTTP/1.0\r\n".encode() + line + b"\r\n\r\n")
                assert reply.startswith(b"HTTP/1.1 401"), reply[:60]
        page = raw(port, b"GET /studies HTTP/1.0\r\nCookie: infonn_owner=" + sent + b"\r\n\r\n")
        assert page.startswith(b"HTTP/1.1 303")
    assert site.client.post(f"/api/p/{key}/session", json={"session": text}).status_code == 200  # as a new person
    assert site.client.post("/api/login", json={"token": text}).status_code == 401


# --- 9: what a database cannot hold ----------------------------------------------------------------

BAD_JSON = {
    "NaN": '{"id": "answer-0001", "question": "q", "response": 0, "context": {"a": NaN}}',
    "1e999": '{"id": "answer-0001", "question": "q", "response": 0, "context": {"a": 1e999}}',
    "-1e999": '{"id": "answer-0001", "question": "q", "response": 0, "response_time_s": -1e999}',
    "many digits": '{"id": "answer-0001", "question": "q", "context": {"a": ' + "9" * 400 + ".0}}",
    "Infinity": '{"id": "answer-0001", "question": "q", "response_time_s": Infinity}',
    "NUL": '{"id": "answer-0001", "question": "q", "context": {"a": "\\u0000"}}',
    "NUL in a key": '{"id": "answer-0001", "question": "q", "context": {"\\u0000": 1}}',
    "lone surrogate": '{"id": "answer-0001", "question": "q", "context": {"a": "\\ud800"}}',
    "deep": '{"id": "answer-0001", "question": "q", "context": ' + '{"a":' * 5000 + "1" + "}" * 5001,
    "deep enough": '{"id": "answer-0001", "question": "q", "context": ' + '{"a":' * 150 + "1" + "}" * 151,
    "no UTF-8": b'{"id": "answer-0001", "question": "\xff\xfe"}',
}


@pytest.fixture
def database_site(database_url):
    storage = open_live_storage(database_url)
    yield Site(storage)
    storage.close()


def test_point_9_what_no_database_holds_is_one_plain_4xx_on_both(database_site) -> None:
    site = database_site
    key = site.study()
    person = site.person(key)
    for name, body in BAD_JSON.items():
        for path in ("answers", "undo", "session"):
            headers = {**person.headers, "content-type": "application/json"}
            reply = site.client.post(f"/api/p/{key}/{path}", content=body, headers=headers)
            assert reply.status_code in (400, 404, 422), (name, path, reply.text)
            assert isinstance(reply.json()["detail"], str)
    for path in ("/s/%00", "/s/a%00b", "/api/p/%00/questions", "/api/studies/%00/status", "/studies/%00"):
        reply = site.client.get(path, headers=person.headers if "/p/" in path else site.owner)
        assert reply.status_code in (401, 404, 303), (path, reply.status_code)
    assert site.client.post("/api/p/%00/session", json={}).status_code == 404
    assert site.get("/api/acts", study="\0") == []
    for parameters in ({"a": "\0"}, {"PROLIFIC_PID": "x\0"}, {"\0": "x"}):
        assert site.client.post(f"/api/p/{key}/session", json={"parameters": parameters}).status_code == 422
    for change in ({"people": {"title": "\0"}}, {"budget": {"answers": 2**70}}):
        assert site.client.patch("/api/studies/s", json=change, headers=site.owner).status_code == 422
    assert site.client.put("/api/studies/s/people/%00", json={}, headers=site.owner).status_code == 404
    assert site.client.get("/api/studies/s/export?format=%00", headers=site.owner).status_code == 422
    settings = '{"study": {"name": "x"}, "people": {"title": "\\u0000"}}'
    form = {"data": {"settings": settings}, "files": {"files": ("items.csv", b"name\na\nb\nc\nd\n")}}
    assert site.client.post("/api/studies/upload", headers=site.owner, **form).status_code == 422
    assert site.storage.answers("s", None) == []
    json.loads(site.client.get("/api/studies/s/export?format=jsonl", headers=site.owner).text or "null")


# --- 13: settings that would take all memory -------------------------------------------------------

GREEDY = [
    {"learner": {"dims": 1_000_000}},
    {"learner": {"name": "mds", "dims": 10**30}},
    {"learner": {"name": "posterior", "n_chains": 10**9}},
    {"strategy": {"name": "info_nn", "n_draws": 10**9}},
    {"people": {"lease_s": 1e300}},
    {"learner": {"name": "network", "hidden": [64, 10**6]}},
    {"queries": {"pool_size": 10**18}},
    {"queries": {"first": 10**9}},
    {"people": {"practice": [{"reference": "item 0", "candidates": ["item 1"], "expected": "item 1"}] * 201}},
]


@pytest.mark.parametrize("tables", GREEDY, ids=lambda tables: str(tables)[:60])
def test_point_13_settings_beyond_what_a_worker_can_bear_are_refused_when_a_study_is_made(site, tables) -> None:
    body = {"study": {"name": "greedy"}, "items": ITEMS, **tables}
    reply = site.client.post("/api/studies", json=body, headers=site.owner)
    assert reply.status_code == 422, reply.text
    reply = upload(site, settings=json.dumps({"study": {"name": "greedy"}, **tables}))
    assert reply.status_code == 422, reply.text
    assert site.storage.studies() == []


@pytest.mark.parametrize("language", ["x" * 10_000, "../../app", "xx", "\u202e", "a b"])
def test_point_13_a_language_that_is_not_there_is_english(site, language) -> None:
    page = site.client.get(f"/s/{site.study(people={'language': language})}")
    assert page.status_code == 200


# --- low -------------------------------------------------------------------------------------------


def npy(array: np.ndarray, **options) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def odd_arrays() -> dict[str, bytes]:
    plain = npy(np.zeros((4, 1)))
    return {
        "complex": npy(np.zeros((4, 1), complex)),
        "objects": npy(np.array([[None]] * 4), allow_pickle=True),
        "structured": npy(np.zeros(4, [("a", float)])),
        "text": npy(np.array([["a"]] * 4)),
        "dates": npy(np.zeros((4, 1), "datetime64[s]")),
        "scalar": npy(np.array(1.0)),
        "empty": b"",
        "larger than the file": plain.replace(b"(4, 1)", b"(4, 9)"),
        "larger than memory": plain.replace(b"(4, 1), }          ", b"(4, 99999999999), }"),
        "negative": plain.replace(b"(4, 1)", b"(4,-1)"),
        "cut": plain[:-8],
        "zip": zipped({"a.npy": plain}),
        "header": b"\x93NUMPY\x01\x00\xff\xff" + b"{" * 70000,
        "deep header": b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10000,
    }


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def upload(site, table: bytes = b"name\na\nb\nc\nd\n", features: bytes | None = None, settings=None, name="items.csv"):
    files = [("files", (name, table))]
    if features is not None:
        files.append(("features", ("f.npy", features)))
    spec = json.dumps({"study": {"name": "u"}}) if settings is None else settings
    return site.client.post("/api/studies/upload", data={"settings": spec}, files=files, headers=site.owner)


@pytest.mark.parametrize("kind", sorted(odd_arrays()))
def test_low_odd_arrays_are_refused_in_a_sentence(site, kind) -> None:
    reply = upload(site, features=odd_arrays()[kind])
    assert reply.status_code == 422, reply.text
    assert isinstance(reply.json()["detail"], str)


ODD_TABLES = [
    *(b"name\na\0\nb\nc\nd\n", b"\0", b"name,text\na,\0\nb,x\nc,x\nd,x\n"),
    *(b"name\n\xed\xa0\x80\nb\nc\nd\n", b"\xff\xfe", b""),
]


@pytest.mark.parametrize("table", ODD_TABLES)
def test_low_odd_tables_are_refused_in_a_sentence(site, table) -> None:
    reply = upload(site, table)
    assert reply.status_code == 422, reply.text
    for format in ("csv", "jsonl", "salmon", "next", "cblearn", "parquet"):
        site.storage.studies() or site.study()
        files = {"file": ("a", table)}
        reply = site.client.post(f"/api/studies/s/import?format={format}", files=files, headers=site.owner)
        assert reply.status_code in (200, 422), (format, reply.text)


def test_low_deep_settings_and_surrogates_are_refused_in_a_sentence(site) -> None:
    for settings in (
        "[" * 100_000,
        '{"study": {"name": "\\ud800"}}',
        '{"study": %s}' % ('{"a":' * 900 + "1" + "}" * 900),
    ):
        assert upload(site, settings=settings).status_code == 422
    deep: dict = {}
    for _ in range(150):
        deep = {"a": deep}
    body = {"study": {"name": "s"}, "items": ITEMS, "learner": deep}
    assert site.client.post("/api/studies", json=body, headers=site.owner).status_code == 422
    surrogate = b'{"study": {"name": "s"}, "items": ["a", "b", "c", "\\udfff"]}'
    headers = {**site.owner, "content-type": "application/json"}
    assert site.client.post("/api/studies", content=surrogate, headers=headers).status_code == 422


def test_low_no_completion_code_for_nothing_or_for_skips_alone(site) -> None:
    people = {"per_person": 2, "completion_code": "C0DE", "hold_out": 0.0}
    key = site.study(people=people, budget={"answers": 3})
    skipper = site.person(key)
    for _ in range(2):
        reply = skipper.answer(None, outcome="skipped")
    assert (reply["finished"], reply["completion_code"]) == (True, None)
    for _ in range(2):
        worker = site.person(key)
        for _ in range(2):
            reply = worker.answer()
        assert (reply["finished"], reply["completion_code"]) == (True, "C0DE")
    site.app.state.server.studies.forget(key)
    late = site.person(key)  # the study wants no more: this person did nothing
    assert (late.arrival["finished"], late.arrival["completion_code"]) == (True, None)
    back = site.person(key, session=worker.session)
    assert back.arrival["completion_code"] == "C0DE"


def test_low_logging_out_ends_a_copied_cookie(site) -> None:
    site.client.post("/api/login", json={"token": site.token})
    copied = dict(site.client.cookies)
    assert site.client.get("/api/studies").status_code == 200
    assert site.client.post("/api/logout").status_code == 204
    assert site.client.get("/api/studies", cookies=copied).status_code == 401
    assert site.client.get("/studies", cookies=copied, follow_redirects=False).status_code == 303


def test_low_health_does_not_wait_for_a_locked_database(tmp_path) -> None:
    storage = open_live_storage(f"sqlite:///{tmp_path}/study.db")
    site = Site(storage)
    assert site.client.get("/api/health").status_code == 200
    real = storage.setting
    locked = threading.Event()
    storage.setting = lambda *words: (locked.wait(5), real(*words))[1]
    try:
        for _ in range(3):
            started = time.monotonic()
            reply = site.client.get("/api/health")
            assert (reply.status_code, time.monotonic() - started < 3) == (503, True)
    finally:
        locked.set()
        storage.setting = real
    time.sleep(0.2)
    assert site.client.get("/api/health").status_code == 200
    storage.close()


def test_low_a_study_called_new_has_a_dashboard(site) -> None:
    site.client.post("/api/login", json={"token": site.token})
    site.storage.studies()
    reply = site.client.get("/studies/new", follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (303, "/new")  # an old bookmark
    site.study("new")
    page = site.client.get("/studies/new", follow_redirects=False)
    assert page.status_code == 200
    assert '"name": "new"' in page.text
    assert site.client.get("/new").status_code == 200


@pytest.mark.parametrize("path", ["/studies/", "/s/KEY/", "/api/studies/", "/s/KEY//", "/login/", "//other.example/"])
def test_low_no_reply_leads_to_the_host_that_a_request_names(site, path) -> None:
    key = site.study()
    headers = {**site.owner, "host": "other.example"}
    reply = site.client.get(path.replace("KEY", key), headers=headers, follow_redirects=False)
    assert "other.example" not in reply.headers.get("location", "") + reply.text
    if path.startswith("/s/"):
        assert reply.status_code == 200  # a link copied with a slash too many


def test_low_the_way_to_the_login_is_quoted(site) -> None:
    reply = site.client.get("/studies/a%22%3E%09%0D%0Ab?next=x", follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (303, "/login?next=/studies/a%22%3Eb")
