"""What the owner's token can do: create studies, watch them, leave people out, export and import."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from math import factorial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, File, Form, HTTPException, Path, Query, Request, Response, UploadFile
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from infonn import __version__
from infonn.datasets.items import ItemSet
from infonn.errors import DataError, StudyError
from infonn.formats import bundle
from infonn.live.outlook import AccuracyPoint, ForecastOut, outlook, study_paces
from infonn.live.people import PersonOut, people_table
from infonn.live.status import StatusOut, study_status
from infonn.live.studies import serving_for
from infonn.live.transfer import ExportFormat, Name, bundle_of, check_name, exported, imported, put_study, restored
from infonn.live.uploads import items_from_uploads
from infonn.records import ItemFile, StudyRecord
from infonn.specs.build import items_of
from infonn.specs.settings import check_spec
from infonn.web.messages import (
    AccuracyOut,
    ChangeIn,
    ComparedPoint,
    CountOut,
    EmbeddedItem,
    EmbeddingOut,
    Estimate,
    ExcludeIn,
    ImportOut,
    LoginIn,
    Problem,
    ServerOut,
    StudyIn,
    StudyOut,
)
from infonn.web.security import COOKIE, LOGIN_S
from infonn.web.server import Server, server_of

router = APIRouter(
    prefix="/api",
    tags=["owners"],
    responses={code: {"model": Problem} for code in (400, 401, 403, 404, 409, 413, 422, 429, 503)},
)
_bearer = HTTPBearer(auto_error=False, description="The owner token that `infonn serve` showed at its first start.")
ServerOf = Annotated[Server, Depends(server_of)]


def owner(
    request: Request,
    server: ServerOf,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> None:
    """Let the owner in, by token or by the cookie of a login from our own pages."""
    cookie = request.cookies.get(COOKIE, "")
    if credentials is None and cookie and server.gate.is_login(cookie, time.time()):
        if request.method not in ("GET", "HEAD") and request.headers.get("sec-fetch-site", "same-origin") not in (
            "same-origin",
            "none",
        ):
            raise HTTPException(403, "This request came from another site.")
        return
    if credentials is not None and server.gate.is_owner(credentials.credentials):
        return
    server.limit(server.login_limit, server.client_of(request))
    raise HTTPException(401, "This needs the owner token: Authorization: Bearer ...", {"www-authenticate": "Bearer"})


Owner = Depends(owner)


def stored_study(name: Annotated[str, Path(max_length=200)], server: ServerOf) -> StudyRecord:
    try:
        return server.storage.study(name)
    except StudyError as error:
        raise HTTPException(404, str(error)) from error


Stored = Annotated[StudyRecord, Depends(stored_study)]


# --- the server ------------------------------------------------------------------------------------


@router.get("/health", tags=["server"])
def health(server: ServerOf) -> dict[str, str]:
    """Whether the server and its storage answer."""
    server.storage.setting("health")
    return {"status": "ok", "version": __version__}


@router.get("/server", dependencies=[Owner])
def server_times(server: ServerOf) -> ServerOut:
    """How long replies took, measured in the server."""
    return ServerOut(version=__version__, started_at=server.started_at, requests=server.timings.summary())


@router.post("/login", status_code=204, response_class=Response)
def login(body: LoginIn, request: Request, server: ServerOf) -> Response:
    """Exchange the owner token for a cookie, for the owner's pages."""
    server.limit(server.login_limit, server.client_of(request))
    if not server.gate.is_owner(body.token):
        raise HTTPException(401, "This is not the owner token. `infonn token reset` makes a new one.")
    reply = Response(status_code=204)
    secure = server.public_url.startswith("https://")
    value = server.gate.login(time.time())
    reply.set_cookie(COOKIE, value, max_age=int(LOGIN_S), httponly=True, samesite="strict", secure=secure, path="/")
    return reply


@router.post("/logout", status_code=204, response_class=Response)
def logout() -> Response:
    """Forget the login of this browser."""
    reply = Response(status_code=204)
    reply.delete_cookie(COOKIE, path="/")
    return reply


# --- studies ---------------------------------------------------------------------------------------


@router.get("/studies", dependencies=[Owner])
def list_studies(server: ServerOf) -> list[StudyOut]:
    """All studies, in the order of creation."""
    return [_study_out(server, record) for record in server.storage.studies()]


@router.post("/studies", status_code=201, dependencies=[Owner])
def create_study(body: StudyIn, server: ServerOf) -> StudyOut:
    """A new study of the items given: the tables of `study.toml` as JSON."""
    texts = [(item, None) if isinstance(item, str) else (item.name, item.text) for item in body.items]
    items = items_of(texts, body.features)
    spec = body.model_dump(include={"study", "queries", "learner", "strategy", "budget", "people"})
    return _create(server, spec, items, [])


@router.post("/studies/upload", status_code=201, dependencies=[Owner])
async def create_study_from_files(
    server: ServerOf,
    settings: Annotated[str, Form(max_length=1_000_000, description="The tables of `study.toml` as one JSON object.")],
    files: Annotated[list[UploadFile], File(description="One CSV, one ZIP, or images.")],
    features: Annotated[UploadFile | None, File(description="A .npy file, one row per item.")] = None,
) -> StudyOut:
    """A new study from an uploaded CSV of items, a ZIP (images, or a CSV with what it names), or images."""
    try:
        spec = json.loads(settings)
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"`settings` is not JSON: {error}.") from error
    if not isinstance(spec, dict):
        raise DataError('`settings` must be a JSON object of tables, such as {"study": {"name": "dishes"}}.')
    uploads = [(file.filename or "", await file.read()) for file in files]
    rows = None if features is None else await features.read()
    items, attached = await _in_thread(items_from_uploads, uploads, rows)
    return await _in_thread(_create, server, spec, items, attached)


@router.post("/studies/restore", status_code=201, dependencies=[Owner])
async def restore_study(
    server: ServerOf,
    file: Annotated[UploadFile, File(description="What GET /api/studies/{name}/bundle gave.")],
    name: Annotated[Name | None, Form()] = None,
) -> StudyOut:
    """A study from a file that holds all of one, here under its own name or another."""
    data = await file.read()
    return await _in_thread(_restore, server, data, name)


@router.get("/studies/{name}", dependencies=[Owner])
def get_study(record: Stored, server: ServerOf) -> StudyOut:
    """A study's settings and its participants' link."""
    return _study_out(server, record)


@router.patch("/studies/{name}", dependencies=[Owner])
def change_study(record: Stored, body: ChangeIn, server: ServerOf) -> StudyOut:
    """End a study or open it again; change what its [people] and [budget] tables say."""
    spec, changes = None, body.model_dump(include={"people", "budget"}, exclude_none=True)
    if changes:
        spec = {**record.spec, **{table: {**record.spec.get(table, {}), **keys} for table, keys in changes.items()}}
        serving_for(server.storage, StudyRecord(record.name, spec, record.seed))  # refuses what cannot be served
    return _study_out(server, server.storage.change_study(record.name, archived=body.archived, spec=spec))


@router.get("/studies/{name}/status", dependencies=[Owner])
def status(record: Stored, server: ServerOf) -> StatusOut:
    """Where the study stands."""
    return study_status(server.storage, record)


@router.get("/studies/{name}/accuracy", dependencies=[Owner])
def accuracy(record: Stored, server: ServerOf) -> AccuracyOut:
    """Accuracy on the hold-out answers, which never train, against the number of train answers."""
    points, compared = [], []
    for round in server.storage.rounds(record.name):
        measured = round.measures
        if measured.get("n_hold_out"):
            points.append(
                AccuracyPoint(
                    n_answers=round.n_answers,
                    n_hold_out=int(measured["n_hold_out"]),
                    accuracy=measured["hold_out_accuracy"],
                    low=measured["hold_out_low"],
                    high=measured["hold_out_high"],
                    log_loss=measured.get("hold_out_log_loss"),
                    at=measured.get("at", 0.0),
                )
            )
        if "chosen_hold_out_accuracy" in measured:
            compared.append(
                ComparedPoint(
                    n_answers=int(measured["n_compared"]),
                    n_hold_out=int(measured["n_hold_out"]),
                    random=_estimate(measured, "random"),
                    chosen=_estimate(measured, "chosen"),
                )
            )
    return AccuracyOut(chance=_chance(check_spec(record.spec)["queries"]), points=points, compared=compared)


def _estimate(measured: Mapping[str, float], sort: str) -> Estimate:
    accuracy, low, high = (measured[f"{sort}_hold_out_{what}"] for what in ("accuracy", "low", "high"))
    return Estimate(accuracy=accuracy, low=low, high=high)


@router.get("/studies/{name}/forecast", dependencies=[Owner])
def forecast(record: Stored, server: ServerOf) -> ForecastOut:
    """How many more answers? Where the accuracy curve is going, and whether it pays to ask on."""
    measured, spec = accuracy(record, server), check_spec(record.spec)
    goal, candidates = record.spec.get("budget", {}).get("answers", 0), spec["queries"]["candidates"]
    return outlook(measured.points, measured.chance, goal, study_paces(server.storage, record.name), candidates)


@router.get("/studies/{name}/embedding", dependencies=[Owner])
def embedding(record: Stored, server: ServerOf) -> EmbeddingOut:
    """Where the answers place the items; 404 until the first fit."""
    kept = server.storage.load_model(record.name)
    if kept is None:
        raise HTTPException(404, "No model has been fitted yet. The worker fits one once there are answers.")
    version, model = kept
    items = server.storage.items(record.name)
    spread = model.get("spread")
    base = f"/api/p/{record.key}/items"
    points = [
        EmbeddedItem(
            index=index,
            name=item.name,
            image=f"{base}/{index}/image" if item.image else None,
            coordinates=[float(value) for value in model["embedding"][index]],
            plane=[float(value) for value in model["plane"][index]],
            spread=None if spread is None else float(spread[index]),
        )
        for index, item in enumerate(items)
    ]
    current = list(server.storage.revision(record.name)) == list(model["revision"])
    return EmbeddingOut(version=version, n_answers=int(model["n_answers"]), up_to_date=current, items=points)


# --- people ----------------------------------------------------------------------------------------


@router.get("/studies/{name}/people", dependencies=[Owner])
def people(record: Stored, server: ServerOf) -> list[PersonOut]:
    """How each person answers."""
    kept = server.storage.load_model(record.name)
    losses = {} if kept is None else kept[1].get("people", {})
    storage = server.storage
    everything = storage.answers(record.name, None, everything=True)
    return people_table(storage.respondents(record.name), everything, storage.details(record.name), losses)


@router.put("/studies/{name}/people/{respondent}", dependencies=[Owner])
def exclude(
    record: Stored, respondent: Annotated[str, Path(max_length=200)], body: ExcludeIn, server: ServerOf
) -> ExcludeIn:
    """Leave a person out of the model, or take them back; the worker fits again."""
    if respondent not in {person.name for person in server.storage.respondents(record.name)}:
        raise HTTPException(404, f'"{respondent}" has not taken part in study "{record.name}".')
    server.storage.exclude(record.name, respondent, body.excluded)
    return body


@router.delete("/studies/{name}/details", dependencies=[Owner])
def purge_details(record: Stored, server: ServerOf) -> CountOut:
    """Forget who the people are (platform ids and link parameters); their answers stay."""
    return CountOut(count=server.storage.purge_details(record.name))


# --- export and import -----------------------------------------------------------------------------


@router.get(
    "/studies/{name}/export",
    dependencies=[Owner],
    response_class=Response,
    responses={200: {"content": {"text/csv": {}, "application/x-ndjson": {}, "application/octet-stream": {}}}},
)
def export(record: Stored, server: ServerOf, format: Annotated[ExportFormat, Query()] = "csv") -> Response:
    """All answers: our own table with everything on record, or the answers in force as another tool reads them."""
    data, content_type, ending = exported(server.storage, record, format)
    return _download(data, content_type, f"{record.name}-answers{ending}")


@router.get(
    "/studies/{name}/bundle",
    dependencies=[Owner],
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}}},
)
def whole_study(record: Stored, server: ServerOf) -> Response:
    """Everything of a study in one file, which POST /api/studies/restore or `infonn study import` restores."""
    return _download(bundle.write(bundle_of(server.storage, record)), "application/zip", f"{record.name}.zip")


@router.post("/studies/{name}/import", dependencies=[Owner])
async def import_answers(
    record: Stored,
    server: ServerOf,
    file: Annotated[UploadFile, File()],
    format: Annotated[ExportFormat, Query()] = "csv",
) -> ImportOut:
    """Earlier answers from a file; what was imported before stays one answer."""
    data = await file.read()
    n_read, n_new = await _in_thread(imported, server.storage, record, data, format)
    return ImportOut(imported=n_new, known=n_read - n_new)


# --- inside ----------------------------------------------------------------------------------------


def _create(server: Server, spec: dict[str, Any], items: ItemSet, files: list[ItemFile]) -> StudyOut:
    table = spec.get("study")
    check_name(table.get("name") if isinstance(table, dict) else None)
    return _study_out(server, put_study(server.storage, spec, items, files))


def _chance(queries: Mapping[str, Any]) -> float:
    """Accuracy of a guess."""
    n = {"label": len(queries["classes"]), "ranking": factorial(queries["candidates"])}
    return 1 / max(1, n.get(queries["kind"], queries["candidates"]))


def _restore(server: Server, data: bytes, name: str | None) -> StudyOut:
    return _study_out(server, restored(server.storage, data, name))


def _study_out(server: Server, record: StudyRecord) -> StudyOut:
    return StudyOut(
        name=record.name,
        link=server.link(record.key),
        key=record.key,
        archived=record.archived,
        created_at=record.created_at,
        n_items=len(server.storage.items(record.name)),
        spec=dict(record.spec),
    )


def _download(data: bytes, content_type: str, filename: str) -> Response:
    disposition = f"attachment; filename*=UTF-8''{quote(filename)}"
    return Response(data, media_type=content_type, headers={"content-disposition": disposition})


async def _in_thread(function: Any, *arguments: Any) -> Any:
    from starlette.concurrency import run_in_threadpool

    return await run_in_threadpool(function, *arguments)
