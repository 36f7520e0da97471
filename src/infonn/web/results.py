"""What came of a study, for its owner: people as a table, reliability, and a report to print."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from infonn.live.report import study_report
from infonn.live.results import live_reliability, people_csv, people_export
from infonn.plots.study_report import report_html
from infonn.web.messages import Problem
from infonn.web.owners import Owner, OwnerRoute, ServerOf, Shown, Stored, download
from infonn.web.pages import owner_study, static_path

router = APIRouter(
    prefix="/api",
    tags=["owners"],
    route_class=OwnerRoute,
    responses={code: {"model": Problem} for code in (401, 403, 404, 422, 429, 503)},
)
pages = APIRouter(include_in_schema=False)


class FindingOut(BaseModel):
    """A measure with its 95 % interval (from `value` to `upto` where it is a range), and a sentence on what it means.

    `value` is null where there is too little data; the sentence says what is missing."""

    title: str
    sentence: str
    value: float | None
    upto: float | None
    low: float | None
    high: float | None
    n: int


@router.get("/studies/{name}/reliability", dependencies=[Owner])
def reliability(record: Stored, server: ServerOf) -> dict[str, FindingOut]:
    """How far the study can be trusted: agreement, noise ceiling, Krippendorff's alpha, split halves of the map."""
    return {name: FindingOut(**told) for name, told in live_reliability(server.storage, record).to_json().items()}


@router.get(
    "/studies/{name}/people/export",
    dependencies=[Owner],
    response_class=Response,
    responses={200: {"content": {"text/csv": {}, "application/json": {}}}},
)
def export_people(
    record: Stored, token: Shown, server: ServerOf, format: Annotated[Literal["csv", "json"], Query()] = "csv"
) -> Response:
    """A row for each person: consent, device, times, catch results, agreement, exclusions and why; who, for owners."""
    rows = people_export(server.storage, record, identities=token.role == "owner")
    if format == "json":
        return download(json.dumps(rows).encode(), "application/json", f"{record.name}-people.json")
    return download(people_csv(rows), "text/csv; charset=utf-8", f"{record.name}-people.csv")


@pages.get("/studies/{name}/report")
def report(name: str, request: Request, server: ServerOf) -> Response:
    """The study's report as a page to print, from what the worker left."""
    record = owner_study(name, request, server)
    if isinstance(record, Response):
        return record
    style = f'<link rel="stylesheet" href="{static_path()}/owner/report.css">'
    page = report_html(study_report(server.storage, record), style)
    return HTMLResponse(page, headers={"cache-control": "no-store"})
