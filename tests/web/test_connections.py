"""What one client can keep a server busy with through its connections: little, whatever it sends and never reads."""

import asyncio
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from fastapi import HTTPException

from infonn.web import plotly
from infonn.web.outgoing import Outgoing
from infonn.web.server import Limits
from infonn.web.turns import Turns
from threads import in_thread

from .conftest import Site
from .test_hostile import raw, running


def test_point_3_who_never_reads_the_reply_is_cut_off() -> None:
    """A reply that waits in memory for a reader who reads nothing: 100 of them took 460 MB, for ever."""
    asks = f"GET {plotly.script_path()} HTTP/1.0\r\nHost: x\r\n\r\n".encode()
    with running(Site(), read_s=0.3) as port:
        n_bytes = len(raw(port, asks))
        lazy = socket.socket()
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.connect(("127.0.0.1", port))
        lazy.sendall(asks)
        time.sleep(1.5)
        assert len(received(lazy)) < n_bytes  # no more than was on its way
        assert len(raw(port, asks)) == n_bytes  # who reads gets all of it


def received(connection: socket.socket) -> bytes:
    """All that comes until the other side hangs up."""
    connection.settimeout(10)
    reply = b""
    with connection, suppress(ConnectionResetError):
        while block := connection.recv(65536):
            reply += block
    return reply


def test_point_3_requests_sent_ahead_of_their_replies_are_few() -> None:
    """12,000 of them in one packet took 25 MB and a second each."""
    with running(Site()) as port:
        few = b"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        assert raw(port, few * 10 + last).count(b"HTTP/1.1 200") == 11
        assert raw(port, few * 5000).count(b"HTTP/1.1 200") < 50


def test_point_3_so_many_headers_and_no_more() -> None:
    with running(Site()) as port:
        for n, status in ((90, b"200"), (5000, b"400")):
            head = b"GET /api/health HTTP/1.0\r\n" + b"a: b\r\n" * n + b"\r\n"
            assert raw(port, head).startswith(b"HTTP/1.1 " + status)


def test_point_3_a_flood_from_one_address_is_waited_for_by_nobody_else() -> None:
    """64 connections that asked as fast as they could brought the median from 4 ms to 250 ms."""

    async def crowd() -> None:
        turns, at_work, most, done = Turns(2), Counter(), Counter(), []

        async def request(client: str, number: int) -> None:
            async with turns.turn(client):
                at_work[client] += 1
                most[client] = max(most[client], at_work[client])
                await asyncio.sleep(0.001)
                at_work[client] -= 1
                done.append((client, number))

        flood = [asyncio.create_task(request("flood", number)) for number in range(50)]
        await asyncio.sleep(0)
        await request("somebody else", 0)
        assert done.index(("somebody else", 0)) <= 4
        flood[40].cancel()  # gone before its turn came
        await asyncio.gather(*flood, return_exceptions=True)
        assert most == {"flood": 2, "somebody else": 1}
        assert [number for client, number in done if client == "flood"] == [n for n in range(50) if n != 40]
        assert not turns._busy
        assert not turns._waiting

    in_thread(asyncio.run, crowd())


def test_point_3_who_is_slow_to_send_or_read_keeps_no_turn() -> None:
    async def crowd() -> None:
        turns, slow = Turns(1), asyncio.Event()

        async def receive():
            await slow.wait()
            return {"type": "http.request", "body": b"here"}

        async def request() -> bytes:
            async with turns.turn("school") as turn:
                return (await turn.receiving(receive)())["body"]

        first = [asyncio.create_task(request()) for _ in range(3)]
        await asyncio.sleep(0)
        async with asyncio.timeout(5), turns.turn("school") as turn:
            await turn.sending(noted)({"type": "http.response.body", "more_body": True})
        first[0].cancel()
        await asyncio.sleep(0)
        slow.set()
        assert await asyncio.gather(*first[1:]) == [b"here", b"here"]
        assert not turns._busy

    async def noted(message) -> None:
        await asyncio.sleep(0)

    in_thread(asyncio.run, crowd())


def test_point_3_a_flood_over_sockets_is_all_answered() -> None:
    site = Site(limits=Limits(at_once_per_client=1))
    with running(site) as port, ThreadPoolExecutor(20) as threads:
        replies = list(threads.map(lambda _: raw(port, b"GET /s/nothing HTTP/1.0\r\n\r\n"), range(60)))
    assert all(reply.startswith(b"HTTP/1.1 404") for reply in replies)


def test_point_3_one_client_keeps_only_so_many_bytes_in_memory_by_reading_slowly() -> None:
    outgoing = Outgoing(most_bytes=100)

    async def slow_reader() -> list[int]:
        sent, reading = [], asyncio.Event()

        async def send(message) -> None:
            sent.append(len(message.get("body", b"")))
            await reading.wait()

        reply = outgoing.reply("slow", b"x" * 90, "image/png", {})
        task = asyncio.create_task(reply({"type": "http"}, None, send))
        await asyncio.sleep(0)
        with pytest.raises(HTTPException, match="429"):
            outgoing.reply("slow", b"x" * 90, "image/png", {})
        assert outgoing.reply("another", b"x" * 900, "image/png", {}).body == b"x" * 900
        reading.set()
        await task
        outgoing.reply("slow", b"x" * 90, "image/png", {})  # it was read
        return sent

    assert in_thread(asyncio.run, slow_reader()) == [0, 90]
