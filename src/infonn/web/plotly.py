"""plotly's own script, which draws the dashboard's figures: served from the installed package, packed once."""

from __future__ import annotations

import gzip
import re
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, Response

_FILE = "plotly/package_data/plotly.min.js"

router = APIRouter(include_in_schema=False)


def script_path() -> str:
    """Where the script is served: its version is in the name, so browsers may keep it for good."""
    return f"/plotly/{version('plotly')}/plotly.min.js"


@router.get("/plotly/{number}/plotly.min.js")
def script(number: str, request: Request) -> Response:
    if number != version("plotly"):
        raise HTTPException(404, f"This server has plotly {version('plotly')}.")
    headers = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(_path(), media_type="text/javascript", headers=headers)
    return Response(_packed(), media_type="text/javascript", headers={**headers, "content-encoding": "gzip"})


@cache
def style_ids() -> list[str]:
    """Ids under which the script would put style sheets of its own into the page, were the ids not taken.

    Our security policy refuses them; the few rules we need are in static/owner/plotly.css.
    """
    return sorted({found.decode() for found in re.findall(rb'getElementById\("([0-9a-f]{64})"\)', _source())})


@cache
def _packed() -> bytes:
    return gzip.compress(_source(), 6)


def _source() -> bytes:
    return _path().read_bytes()


@cache
def _path() -> Path:
    """Found without importing plotly, which the server needs for nothing else."""
    return Path(str(distribution("plotly").locate_file(_FILE)))
