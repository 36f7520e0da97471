"""What the owner's token can do: create studies, watch them, leave people out, export and import."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, File, Form, HTTPException, Path, Query, Request, Response, UploadFile
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer

from infonn import __version__
from infonn.contracts.storage import changed_spec
from infonn.datasets.items import ItemSet
from infonn.errors import DataError, InfonnError, StudyError
from infonn.findings import Findings
from infonn.formats import bundle
from infonn.formats.named import READ, WRITTEN
from infonn.live.outlook import AccuracyPoint, ForecastOut, outlook, study_paces
from infonn.live.people import PersonOut, people_table
from infonn.live.results import chance_of, exclusions
from infonn.live.status import StatusOut, study_status
from infonn.live.studies import servings_for
from infonn.live.tokens import make_token
from infonn.live.transfer import (
    Name,
    bundle_of,
    check_from_outside,
    check_name,
    copied,
    exported,
    imported,
    put_study,
    restored,
)
from infonn.live.uploads import items_from_uploads, text_media
from infonn.records import ItemFile, StudyRecord, Token
from infonn.specs.build import items_of
from infonn.specs.settings import check_spec
from infonn.web.incoming import GuardedRoute, parse_json
from infonn.web.messages import (
    AccuracyOut,
    ActOut,
    ChangeIn,
    ComparedPoint,
    CopyIn,
    CountOut,
    EmbeddedItem,
    EmbeddingOut,
    Estimate,
    ExcludeIn,
    ImportOut,
    LinksIn,
    LinksOut,
    LoginIn,
    NewTokenOut,
    Problem,
    ServerOut,
    StudyIn,
    StudyOut,
    TokenIn,
    TokenOut,
)
from infonn.web.participants import CONDITION
from infonn.web.security import COOKIE, LOGIN_S
from infonn.web.server import Server, server_of

WrittenFormat = Annotated[str, Query(json_schema_extra={"enum": WRITTEN})]
ReadFormat = Annotated[str, Query(json_schema_extra={"enum": READ})]

log = logging.getLogger("infonn.web")
MOST_ON_MAP = 5000  # items; of more, every second or third is shown


class OwnerRoute(GuardedRoute):
    """Lets in whoever's token or login is good for it; health and logging in need none. Acts go into the audit log."""

    async def admit(self, request: Request, server: Server) -> None:
        if self.path == "/api/login":
            server.limit(server.login_limit, server.client_of(request))
        elif self.path != "/api/health":
            request.state.token = await run_in_threadpool(_token_of, request, server)
            _check_role(request.state.token, request.method, self.path, request.path_params.get("name"))

    async def done(self, request: Request, server: Server) -> None:
        looked = request.method in ("GET", "HEAD") and not self.path.endswith(("/export", "/bundle"))
        if not looked and self.path not in ("/api/login", "/api/tokens"):  # these say more themselves
            token: Token = request.state.token
            what, study = self.name.replace("_", " "), getattr(request.state, "made", request.path_params.get("name"))
            given = {key: value for key, value in request.path_params.items() if key != "name"}
            given |= getattr(request.state, "noted", {})
            await run_in_threadpool(_note_act, server, token, what, study, given)


def _note_act(server: Server, token: Token, what: str, study: str | None, details: dict[str, Any]) -> None:
    try:
        server.storage.add_act(token.person, what, study, {"token": token.id, **details})
    except InfonnError as error:  # it is done, and the reply has to say so
        log.error('"%s" of %s could not be noted in the audit log: %s', what, token.person, error)


def _token_of(request: Request, server: Server) -> Token:
    """The token that was shown, or that of a login from our own pages."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    cookie = request.cookies.get(COOKIE, "")
    if not scheme and cookie and (token := server.credentials.token_of_login(cookie)):
        if request.method not in ("GET", "HEAD") and request.headers.get("sec-fetch-site", "same-origin") not in (
            "same-origin",
            "none",
        ):
            raise HTTPException(403, "This request came from another site.")
        return token
    if scheme.lower() == "bearer" and (token := server.credentials.token(text.strip())):
        return token
    server.limit(server.login_limit, server.client_of(request))
    raise HTTPException(401, "This needs an owner's token: Authorization: Bearer ...", {"www-authenticate": "Bearer"})


_OF_THE_SERVER = (
    "/api/studies/upload",
    "/api/studies/{name}/copy",
    "/api/studies/restore",
    "/api/tokens",
    "/api/tokens/{token}",
    "/api/server",
)


def _check_role(token: Token, method: str, path: str, study: str | None) -> None:
    """Refuse what is beyond a token: changes by a reader, and what is not about the one study of an owner or reader."""
    if path in ("/api/logout", "/api/me"):
        return
    if token.role != "owner" and (method not in ("GET", "HEAD") or path == "/api/tokens"):
        raise HTTPException(403, "This token may look, and not change anything.")
    of_server = path in (*_OF_THE_SERVER, "/metrics") or (path == "/api/studies" and method == "POST")
    if token.study is not None and (of_server or study not in (None, token.study)):
        raise HTTPException(403, f'This token is good for study "{token.study}" alone.')


router = APIRouter(
    prefix="/api",
    tags=["owners"],
    route_class=OwnerRoute,
    responses={code: {"model": Problem} for code in (400, 401, 403, 404, 408, 409, 413, 422, 429, 503)},
)
Owner = Depends(
    HTTPBearer(auto_error=False, description="The owner token that `infonn serve` made at its first start.")
)
ServerOf = Annotated[Server, Depends(server_of)]


def shown_token(request: Request) -> Token:
    token: Token = request.state.token  # the route has checked it before it read the body
    return token


Shown = Annotated[Token, Depends(shown_token)]


def stored_study(name: Annotated[str, Path(max_length=200)], server: ServerOf) -> StudyRecord:
    try:
        return server.storage.study(name)
    except StudyError as error:
        raise HTTPException(404, str(error)) from error


Stored = Annotated[StudyRecord, Depends(stored_study)]


# --- the server ------------------------------------------------------------------------------------


@router.get("/health", tags=["server"])
async def health(server: ServerOf) -> dict[str, str]:
    """Whether the server and its storage answer."""
    if not await server.storage_answers():
        raise HTTPException(503, "The storage does not answer.", {"retry-after": "1"})
    return {"status": "ok", "version": __version__}


@router.get("/server", dependencies=[Owner])
def server_times(server: ServerOf) -> ServerOut:
    """How long replies took, measured in the server."""
    return ServerOut(version=__version__, started_at=server.started_at, requests=server.timings.summary())


@router.post("/login", status_code=204, response_class=Response)
def log_in(body: LoginIn, request: Request, server: ServerOf) -> Response:
    """Exchange a token for a cookie, for the owner's pages."""
    token = server.credentials.token(body.token)
    if token is None:
        raise HTTPException(401, "This token is not known. `infonn token reset` makes a new one.")
    _note_act(server, token, "log in", token.study, {})
    reply = Response(status_code=204)
    secure, value = server.url(request).startswith("https://"), server.credentials.login(token)
    reply.set_cookie(COOKIE, value, max_age=LOGIN_S, httponly=True, samesite="strict", secure=secure, path="/")
    return reply


@router.post("/logout", status_code=204, response_class=Response, dependencies=[Owner])
def log_out(token: Shown, server: ServerOf) -> Response:
    """End the logins made with this token, in this browser and in all others."""
    server.credentials.log_out(token)
    reply = Response(status_code=204)
    reply.delete_cookie(COOKIE, path="/")
    return reply


# --- tokens and the audit log ----------------------------------------------------------------------


@router.get("/me", dependencies=[Owner])
def whose_token(token: Shown) -> TokenOut:
    """Whose token this is, and what it is good for."""
    return TokenOut(**token.to_json())


@router.get("/tokens", dependencies=[Owner])
def list_tokens(server: ServerOf) -> list[TokenOut]:
    """All tokens, also those that have ended; their texts are not kept."""
    return [TokenOut(**token.to_json()) for token in server.storage.tokens()]


@router.post("/tokens", status_code=201, dependencies=[Owner])
def new_token(body: TokenIn, token: Shown, server: ServerOf) -> NewTokenOut:
    """A token for a person: for the whole server or one study, to change things (owner) or to look (reader)."""
    if body.study is not None:
        stored_study(body.study, server)
    text, made = make_token(server.storage, body.person, body.role, body.study)
    details = {"person": body.person, "role": body.role, "made": made.id}
    _note_act(server, token, "make token", body.study, details)
    return NewTokenOut(**made.to_json(), text=text)


@router.delete("/tokens/{token}", dependencies=[Owner])
def revoke_token(token: Annotated[str, Path(max_length=100)], server: ServerOf) -> TokenOut:
    """End a token, and every login made with it, at once."""
    if token not in {known.id for known in server.storage.tokens()}:
        raise HTTPException(404, f'There is no token "{token}".')
    return TokenOut(**server.storage.revoke_token(token).to_json())


@router.get("/acts", dependencies=[Owner])
def audit_log(
    token: Shown,
    server: ServerOf,
    study: Annotated[str | None, Query(max_length=200)] = None,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> list[ActOut]:
    """What owners did, in order: up to 1,000 lines after line number `after`."""
    acts = server.storage.acts(token.study or study, after)
    return [ActOut(**act.to_json()) for act in acts]


# --- studies ---------------------------------------------------------------------------------------


@router.get("/studies", dependencies=[Owner])
def list_studies(token: Shown, request: Request, server: ServerOf) -> list[StudyOut]:
    """All studies that this token is good for, in the order of creation."""
    records = server.storage.studies()
    return [_study_out(request, server, record) for record in records if token.study in (None, record.name)]


@router.post("/studies", status_code=201, dependencies=[Owner])
def create_study(body: StudyIn, request: Request, server: ServerOf) -> StudyOut:
    """A new study of the items given: the tables of `study.toml` as JSON."""
    texts = [(item, None) if isinstance(item, str) else (item.name, item.text) for item in body.items]
    items = items_of(texts, body.features)
    spec = body.model_dump(include={"study", "queries", "learner", "strategy", "budget", "people"})
    return _create(request, server, spec, items, [])


@router.post("/studies/upload", status_code=201, dependencies=[Owner])
async def create_study_from_files(
    request: Request,
    server: ServerOf,
    settings: Annotated[str, Form(max_length=1_000_000, description="The tables of `study.toml` as one JSON object.")],
    files: Annotated[list[UploadFile], File(description="One CSV, one ZIP, or images.")],
    features: Annotated[UploadFile | None, File(description="A .npy file, one row per item.")] = None,
    media: Annotated[list[UploadFile] | None, File(description="Pictures, sounds, videos that texts show.")] = None,
) -> StudyOut:
    """A new study from an uploaded CSV of items, a ZIP (images, or a CSV with what it names), or images."""
    spec = parse_json(settings.encode(errors="replace"))
    if not isinstance(spec, dict):
        raise DataError('`settings` must be a JSON object of tables, such as {"study": {"name": "dishes"}}.')
    uploads = [(file.filename or "", await file.read()) for file in files]
    rows = None if features is None else await features.read()
    shown = [(file.filename or "", await file.read()) for file in media or []]
    items, attached = await run_in_threadpool(items_from_uploads, uploads, rows)
    attached += await run_in_threadpool(text_media, shown)
    return await run_in_threadpool(_create, request, server, spec, items, attached)


@router.post("/studies/restore", status_code=201, dependencies=[Owner])
async def restore_study(
    request: Request,
    server: ServerOf,
    file: Annotated[UploadFile, File(description="What GET /api/studies/{name}/bundle gave.")],
    name: Annotated[Name | None, Form()] = None,
) -> StudyOut:
    """A study from a file that holds all of one, here under its own name or another."""
    data = await file.read()
    return await run_in_threadpool(_restore, request, server, data, name)


@router.get("/studies/{name}", dependencies=[Owner])
def get_study(record: Stored, request: Request, server: ServerOf) -> StudyOut:
    """A study's settings and its participants' link."""
    return _study_out(request, server, record)


@router.patch("/studies/{name}", dependencies=[Owner])
def change_study(record: Stored, body: ChangeIn, request: Request, server: ServerOf) -> StudyOut:
    """End a study, let it pause or go on; change its retention time, and what its [people] and [budget] tables say."""
    tables = body.model_dump(include={"people", "budget"}, exclude_none=True)

    def change(spec: Mapping[str, Any]) -> Mapping[str, Any]:
        changed = changed_spec(spec, tables)
        servings_for(server.storage, StudyRecord(record.name, changed, record.seed))  # refuses what cannot be served
        return changed

    changed = server.storage.change_study(
        record.name,
        change if tables else None,
        archived=body.archived,
        paused=body.paused,
        retention_days=body.retention_days,
    )
    server.studies.forget(record.key)
    return _study_out(request, server, changed)


@router.post("/studies/{name}/copy", status_code=201, dependencies=[Owner])
def copy_study(record: Stored, body: CopyIn, request: Request, token: Shown, server: ServerOf) -> StudyOut:
    """A new study of the same items and settings, without people and answers."""
    made = copied(server.storage, record, body.name)
    request.state.made = made.name
    return _study_out(request, server, made)


@router.delete("/studies/{name}", status_code=204, response_class=Response, dependencies=[Owner])
def delete_study(record: Stored, server: ServerOf) -> Response:
    """Delete a study with its items, people and answers, for good."""
    server.storage.delete_study(record.name)
    server.studies.forget(record.key)
    return Response(status_code=204)


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
        if "hold_out_accuracy" in measured:
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
    return AccuracyOut(chance=chance_of(check_spec(record.spec)["queries"]), points=points, compared=compared)


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
        for index, item in list(enumerate(items))[:: -(-len(items) // MOST_ON_MAP)]
    ]
    current = list(server.storage.revision(record.name)) == list(model["revision"])
    findings = Findings.from_json(model["findings"]).sentences if "findings" in model else []
    n_answers = int(model["n_answers"])
    return EmbeddingOut(version=version, n_answers=n_answers, up_to_date=current, findings=findings, items=points)


# --- people ----------------------------------------------------------------------------------------


@router.get("/studies/{name}/people", dependencies=[Owner])
def people(record: Stored, token: Shown, server: ServerOf) -> list[PersonOut]:
    """How each person answers; who they are is for owners alone."""
    kept = server.storage.load_model(record.name)
    losses = {} if kept is None else kept[1].get("people", {})
    storage = server.storage
    everything = storage.answers(record.name, None, everything=True)
    details = storage.details(record.name) if token.role == "owner" else {}
    respondents, why = storage.respondents(record.name), {}
    if any(person.excluded for person in respondents):
        acts = exclusions(storage, record.name)
        why = {person: str(act.details.get("why", "")) for person, act in acts.items()}
    return people_table(respondents, everything, details, losses, why)


@router.put("/studies/{name}/people/{respondent}", dependencies=[Owner])
def exclude(
    record: Stored,
    respondent: Annotated[str, Path(max_length=200)],
    body: ExcludeIn,
    request: Request,
    server: ServerOf,
) -> ExcludeIn:
    """Leave a person out of the model, or take them back; the worker fits again. `why` is kept in the audit log."""
    if respondent not in {person.name for person in server.storage.respondents(record.name)}:
        raise HTTPException(404, f'"{respondent}" has not taken part in study "{record.name}".')
    server.storage.exclude(record.name, respondent, body.excluded)
    request.state.noted = {"excluded": body.excluded, "why": body.why}
    return body


@router.delete("/studies/{name}/people/{respondent}", dependencies=[Owner])
def delete_person(record: Stored, respondent: Annotated[str, Path(max_length=200)], server: ServerOf) -> CountOut:
    """Delete a person with all answers, for good; the number of answers. Exports say that answers were deleted."""
    if respondent not in {person.name for person in server.storage.respondents(record.name)}:
        raise HTTPException(404, f'"{respondent}" has not taken part in study "{record.name}".')
    return CountOut(count=server.storage.delete_person(record.name, respondent))


@router.post("/studies/{name}/links", dependencies=[Owner])
def signed_links(record: Stored, body: LinksIn, request: Request, server: ServerOf) -> LinksOut:
    """Links for people you know, each signed: from any device it leads back to that person's own answers."""
    link, own_link = server.link(record.key, request), server.credentials.own_link
    return LinksOut(links={person: own_link(link, record.key, person) for person in body.participants})


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
def export(record: Stored, server: ServerOf, format: WrittenFormat = "csv") -> Response:
    """All answers: our own table with everything on record, or the answers in force as another tool reads them."""
    data, content_type, ending = exported(server.storage, record, format)
    reply = download(data, content_type, f"{record.name}-answers{ending}")
    deleted = sum(deletion.answers for deletion in server.storage.deletions(record.name))
    reply.headers["x-infonn-deleted-answers"] = str(deleted)
    return reply


@router.get(
    "/studies/{name}/bundle",
    dependencies=[Owner],
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}}},
)
def whole_study(record: Stored, server: ServerOf) -> Response:
    """Everything of a study in one file, which POST /api/studies/restore or `infonn study import` restores."""
    return download(bundle.write(bundle_of(server.storage, record)), "application/zip", f"{record.name}.zip")


@router.post("/studies/{name}/import", dependencies=[Owner])
async def import_answers(
    record: Stored,
    server: ServerOf,
    file: Annotated[UploadFile, File()],
    format: ReadFormat = "csv",
) -> ImportOut:
    """Earlier answers from a file; what was imported before stays one answer."""
    data = await file.read()
    n_read, n_new = await run_in_threadpool(imported, server.storage, record, data, format)
    return ImportOut(imported=n_new, known=n_read - n_new)


# --- inside ----------------------------------------------------------------------------------------


def _create(request: Request, server: Server, spec: dict[str, Any], items: ItemSet, files: list[ItemFile]) -> StudyOut:
    table = spec.get("study")
    check_name(table.get("name") if isinstance(table, dict) else None)
    check_from_outside(spec)
    record = put_study(server.storage, spec, items, files)
    request.state.made = record.name
    return _study_out(request, server, record)


def _restore(request: Request, server: Server, data: bytes, name: str | None) -> StudyOut:
    record = restored(server.storage, data, name)
    request.state.made = record.name
    return _study_out(request, server, record)


def _study_out(request: Request, server: Server, record: StudyRecord) -> StudyOut:
    link = server.link(record.key, request)
    conditions = check_spec(record.spec)["people"]["conditions"]
    return StudyOut(
        name=record.name,
        link=link,
        link_warning=server.link_warning,
        condition_links={table["name"]: f"{link}?{CONDITION}={quote(table['name'])}" for table in conditions},
        key=record.key,
        archived=record.archived,
        paused=record.paused,
        created_at=record.created_at,
        n_items=len(server.storage.items(record.name)),
        retention_days=record.retention_days,
        spec=dict(record.spec),
    )


def download(data: bytes, content_type: str, filename: str) -> Response:
    """A reply that a browser saves as a file."""
    disposition = f"attachment; filename*=UTF-8''{quote(filename)}"
    return Response(data, media_type=content_type, headers={"content-disposition": disposition})
