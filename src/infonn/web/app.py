"""The application: routes, headers, limits on what comes in, and errors as one sentence."""

from __future__ import annotations

import logging
import time
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import ClientDisconnect
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
from infonn.web import labels, metrics, owners, pages, participants, plotly, results
from infonn.web.security import HEADERS, client_key
from infonn.web.server import Limits, Server

log = logging.getLogger("infonn.web")
access_log = logging.getLogger("infonn.access")  # silent unless `infonn serve --access-log` gives it a file
access_log.propagate = False
access_log.setLevel(logging.CRITICAL + 1)
_LOGGED = 300  # characters of a path

_STATUS: dict[type[InfonnError], int] = {
    StorageError: 503,
    AlreadyAnsweredError: 409,
    StudyError: 409,
    UnknownQuestionError: 404,
    MissingPartError: 400,
}


def create_app(
    storage: LiveStorage,
    public_url: str = "http://127.0.0.1:8000",
    limits: Limits | None = None,
    secret: bytes | None = None,
    link_warning: str | None = None,
    ask_proxy: bool = False,
) -> FastAPI:
    """The server of the studies in `storage`. Sessions are signed with `secret`; without, they end with the process.

    `link_warning` is told to owners beside links that may not work elsewhere; with `ask_proxy`, links begin as the
    proxy in front says that people reach it."""
    app = FastAPI(
        title="infonn",
        version=__version__,
        summary="Studies that people answer, each question chosen from what the answers so far have taught.",
        docs_url=None,  # its page would load scripts from another host
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,  # it would lead to whatever host the request names
    )
    app.state.server = Server(storage, public_url, limits or Limits(), secret, link_warning, ask_proxy)
    app.include_router(participants.router)
    app.include_router(owners.router)
    app.include_router(labels.router)
    app.include_router(results.router)
    app.include_router(results.pages)
    app.include_router(metrics.router)
    app.include_router(pages.router)
    app.include_router(plotly.router)
    app.mount(pages.static_path(), pages.static_files())
    app.add_exception_handler(InfonnError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(StarletteHTTPException, _problem)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(AroundRequests, server=app.state.server)
    return app


class AroundRequests:
    """Around every request: its turn among those from its address, no NUL in its path; security headers on its reply,
    its time and its line in the log."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self.app, self.server = app, server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, path, status = time.perf_counter(), str(scope["path"]), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                reply = MutableHeaders(scope=message)
                framed = "content-security-policy" in reply  # by a page that other sites may show in a frame
                for name, value in HEADERS.items():
                    if not (framed and name == "x-frame-options"):
                        reply.setdefault(name, value)
                if path.startswith("/api/"):
                    reply.setdefault("cache-control", "no-store")
            await send(message)

        try:
            async with self.server.turns.turn(client_key((scope.get("client") or ("",))[0])) as turn:
                app = self.app if "\0" not in path else _nothing_here
                scope["path"] = path.rstrip("/") or "/"  # a link copied with a slash too many leads there as well
                await app(scope, turn.receiving(receive), turn.sending(send_with_headers))
        except ClientDisconnect:
            pass  # nobody is left to tell
        finally:
            seconds = time.perf_counter() - started
            self.server.timings.count(status)
            if path.startswith("/api/p/") and status == 200:
                self.server.timings.add(path.rsplit("/", 1)[1], seconds)
            if access_log.isEnabledFor(logging.INFO):
                client = (scope.get("client") or ("-",))[0]
                line = (client, scope["method"], quote(path[:_LOGGED]), status, 1000 * seconds)
                access_log.info("%s %s %s %d %.1f ms", *line)


_nothing_here = JSONResponse({"detail": "There is nothing at this address."}, 404)


async def _refused(_: Request, error: Exception) -> JSONResponse:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 422)
    if status == 503:
        log.error("the storage failed: %s", error, exc_info=error)
        sentence = "The server cannot store anything at the moment; nothing of this was stored. Try again soon."
        return JSONResponse({"detail": sentence}, 503, headers={"retry-after": "1"})
    return JSONResponse({"detail": str(error)}, status)


async def _problem(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StarletteHTTPException)
    return JSONResponse({"detail": str(error.detail)}, error.status_code, headers=error.headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = dict(error.errors()[0])
    place = ".".join(str(part) for part in first.get("loc", ()) if part != "body") or "The request"
    sentence = f"{place}: {first.get('msg', 'is not valid')}."
    return JSONResponse({"detail": sentence.encode(errors="replace").decode()}, 422)


async def _failed(_: Request, error: Exception) -> JSONResponse:
    log.error("a request failed", exc_info=error)
    return JSONResponse({"detail": "Something went wrong on our side, and was written to the log. Try again."}, 500)
