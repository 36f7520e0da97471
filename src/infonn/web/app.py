"""The application: routes, headers, limits on what comes in, and errors as one sentence."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infonn import __version__
from infonn.contracts.storage import LiveStorage
from infonn.errors import (
    AlreadyAnsweredError,
    InfonnError,
    MissingPartError,
    StorageError,
    StudyError,
    UnknownQuestionError,
)
from infonn.web import owners, pages, participants, plotly
from infonn.web.security import HEADERS
from infonn.web.server import Limits, Server

log = logging.getLogger("infonn.web")

_STATUS: dict[type[InfonnError], int] = {
    StorageError: 503,
    AlreadyAnsweredError: 409,
    StudyError: 409,
    UnknownQuestionError: 404,
    MissingPartError: 400,
}


def create_app(
    storage: LiveStorage, public_url: str = "http://127.0.0.1:8000", limits: Limits | None = None
) -> FastAPI:
    """The server of the studies in `storage`."""
    app = FastAPI(
        title="infonn",
        version=__version__,
        summary="Studies that people answer, each question chosen from what the answers so far have taught.",
        docs_url=None,  # its page would load scripts from another host
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.server = Server(storage, public_url, limits or Limits())
    app.include_router(participants.router)
    app.include_router(owners.router)
    app.include_router(pages.router)
    app.include_router(plotly.router)
    app.mount(pages.static_path(), pages.static_files())
    app.add_exception_handler(InfonnError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _problem)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(Envelope, server=app.state.server)
    return app


class Envelope:
    """Around every request: a limit on its size, security headers on its reply, and the time it took."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self.app, self.server = app, server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, seen, too_large = time.perf_counter(), 0, False
        path: str = scope["path"]
        uploads = path.endswith(("/upload", "/import", "/restore"))
        allowed = self.server.limits.upload_bytes if uploads else self.server.limits.body_bytes
        headers = dict(scope["headers"])
        announced = headers.get(b"content-length", b"0")

        async def send_with_headers(message: Message) -> None:
            if too_large:
                return  # whatever the half-read request led to; the reply below stands for it
            if message["type"] == "http.response.start":
                reply = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    reply.setdefault(name, value)
                if path.startswith("/api/"):
                    reply.setdefault("cache-control", "no-store")
            await send(message)

        async def receive_counted() -> Message:
            nonlocal seen, too_large
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > allowed:
                too_large = True
                raise _TooLargeError
            return message

        try:
            too_large = announced.isdigit() and int(announced) > allowed
            if not too_large:
                with contextlib.suppress(_TooLargeError):
                    await self.app(scope, receive_counted, send_with_headers)
            if too_large:
                too_large = False
                problem = JSONResponse({"detail": f"The request is larger than {allowed >> 10:,} KiB."}, 413)
                await problem(scope, receive, send_with_headers)
        finally:
            if scope["method"] == "POST" and path.startswith("/api/p/"):
                self.server.timings.add(path.rsplit("/", 1)[1], time.perf_counter() - started)


class _TooLargeError(Exception):
    pass


async def _refused(_: Request, error: Exception) -> JSONResponse:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 422)
    if status == 503:
        log.error("the storage failed: %s", error, exc_info=error)
        sentence = "The server cannot store anything at the moment; nothing of this was stored. Try again soon."
        return JSONResponse({"detail": sentence}, 503, headers={"retry-after": "1"})
    return JSONResponse({"detail": str(error)}, status)


async def _problem(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": str(error.detail)}, error.status_code, headers=error.headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = dict(error.errors()[0])
    place = ".".join(str(part) for part in first.get("loc", ()) if part != "body") or "The request"
    return JSONResponse({"detail": f"{place}: {first.get('msg', 'is not valid')}."}, 422)


async def _failed(_: Request, error: Exception) -> JSONResponse:
    log.error("a request failed", exc_info=error)
    return JSONResponse({"detail": "Something went wrong on our side, and was written to the log. Try again."}, 500)
