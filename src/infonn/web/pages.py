"""The pages: where people answer, and where owners create studies and watch them."""

from __future__ import annotations

import hashlib
import json
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from infonn.errors import StudyError
from infonn.formats.named import ANSWERS, WRITTEN
from infonn.live.studies import LiveStudy
from infonn.live.uploads import MAX_IMAGES
from infonn.records import StudyRecord
from infonn.web import plotly
from infonn.web.messages import question_view
from infonn.web.participants import OUTSIDE_IDS, study_view
from infonn.web.prose import markdown
from infonn.web.security import COOKIE, framed_policy
from infonn.web.server import Server, server_of

HERE = Path(__file__).parent
PREVIEWED = 5  # questions of a preview

router = APIRouter(include_in_schema=False)
ServerOf = Annotated[Server, Depends(server_of)]


# --- participants ----------------------------------------------------------------------------------


@router.get("/s/{key}")
def participant(key: str, request: Request, server: ServerOf) -> HTMLResponse:
    """The study behind a participants' link."""
    study = server.studies.by_key(key)
    if study is None:
        return _message("en", "not_found", 404)
    language = chosen_language(study.people["language"], request.headers.get("accept-language", ""))
    if study.ended or study.record.paused:
        return _message(language, "ended" if study.ended else "paused", 410 if study.ended else 503)
    return _participant_page(study, language)


def _participant_page(study: LiveStudy, language: str, preview: list[dict[str, Any]] | None = None) -> HTMLResponse:
    texts, view, origins = texts_of(language), study_view(study), study.people["embed_origins"]
    page = {"key": study.record.key, "texts": texts, "preview": preview, "study": view.model_dump(), "embed": origins}
    page["who"] = OUTSIDE_IDS
    reply = _page(
        "participant.html",
        language=language,
        key=study.record.key,
        study=view,
        texts=texts,
        page=page,
        preview=preview is not None,
        modules=_modules("participant"),
    )
    if origins:
        reply.headers["content-security-policy"] = framed_policy(origins)
    return reply


def _message(language: str, name: str, status: int) -> HTMLResponse:
    texts = texts_of(language)
    page = _page("message.html", language=language, heading=texts[f"{name}_heading"], text=texts[f"{name}_text"])
    page.status_code = status
    return page


# --- owners ----------------------------------------------------------------------------------------


def _stranger(request: Request, server: Server, study: str | None = None) -> Response | None:
    """The way to the login for whoever has not logged in; a message for whoever's token is for another study."""
    token = server.credentials.token_of_login(request.cookies.get(COOKIE, ""))
    if token is None:
        return RedirectResponse(f"/login?next={quote(request.url.path)}", 303)
    return _message("en", "not_found", 404) if study is not None and token.study not in (None, study) else None


@router.get("/")
def home() -> Response:
    return RedirectResponse("/studies", 303)


@router.get("/login")
def login() -> HTMLResponse:
    """Asks for the owner's token; `#token=...` in the link fills it in and never reaches a log."""
    return _page("login.html")


@router.get("/studies")
def studies(request: Request, server: ServerOf) -> Response:
    """All studies."""
    return _stranger(request, server) or _page("studies.html")


@router.get("/tokens")
def tokens(request: Request, server: ServerOf) -> Response:
    """Who has access, and what they did."""
    return _stranger(request, server) or _page("tokens.html")


@router.get("/new")
def new_study(request: Request, server: ServerOf) -> Response:
    """Create a study from files."""
    limits = {"files": MAX_IMAGES, "bytes": server.limits.upload_bytes}
    return _stranger(request, server) or _page("new.html", languages=languages(), making=True, limits=limits)


@router.get("/studies/{name}")
def dashboard(name: str, request: Request, server: ServerOf) -> Response:
    """One study, live."""
    return _stranger(request, server, name) or _dashboard(name, server)


def owner_study(name: str, request: Request, server: Server) -> StudyRecord | Response:
    """The study, for whoever may look at it; a page to show instead for everybody else."""
    if (stranger := _stranger(request, server, name)) is not None:
        return stranger
    try:
        return server.storage.study(name)
    except StudyError:
        return _message("en", "not_found", 404)


@router.get("/studies/{name}/edit")
def edit(name: str, request: Request, server: ServerOf) -> Response:
    """Change what people see, how much they are asked, and when it ends."""
    record = owner_study(name, request, server)
    if isinstance(record, Response):
        return record
    return _page("edit.html", name=record.name, page={"name": record.name}, languages=languages(), making=False)


@router.get("/studies/{name}/gallery")
def gallery(name: str, request: Request, server: ServerOf) -> Response:
    """The predictions of a label study, the most doubtful first, to be looked through and corrected."""
    if (stranger := _stranger(request, server, name)) is not None:
        return stranger
    try:
        record = server.storage.study(name)
    except StudyError:
        return _message("en", "not_found", 404)
    return _page("gallery.html", name=record.name, page={"name": record.name})


@router.get("/studies/{name}/preview")
def preview(name: str, request: Request, server: ServerOf) -> Response:
    """The participants' page with a few random questions, of which nothing is stored."""
    if (stranger := _stranger(request, server, name)) is not None:
        return stranger
    try:
        study = server.studies.by_key(server.storage.study(name).key)
    except StudyError:
        study = None
    if study is None:
        return _message("en", "not_found", 404)
    drawn = study.serving.draw("train") if study.serving.draw else ()
    questions = [*study.serving.practice, *islice(drawn, PREVIEWED)]
    shown = [question_view(study, question).model_dump() for question in questions]
    return _participant_page(study, chosen_language(study.people["language"], ""), shown)


def _dashboard(name: str, server: Server) -> Response:
    try:
        record = server.storage.study(name)
    except StudyError:
        return RedirectResponse("/new", 303) if name == "new" else _message("en", "not_found", 404)
    kind = record.spec.get("queries", {}).get("kind", "nearest")
    exports = {name: ANSWERS[name].title for name in WRITTEN if kind in ANSWERS[name].kinds}
    page = {"name": record.name, "plotly": plotly.script_path(), "exports": exports, "labels": kind == "label"}
    return _page("dashboard.html", name=record.name, page=page, style_ids=plotly.style_ids())


# --- templates, texts and static files -------------------------------------------------------------

RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")
AUTOMATIC = "auto"  # the language of the person's browser, where there are texts in it


@cache
def languages() -> dict[str, str]:
    """What there are texts in, by code: the language's own name."""
    files = sorted((HERE / "texts").glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8"))["language"] for file in files}


def direction(language: str) -> str:
    return "rtl" if language in RIGHT_TO_LEFT else "ltr"


def chosen_language(wanted: str, accepted: str) -> str:
    """The language of a page: as the study says, or the first one that the browser asks for and we have."""
    if wanted != AUTOMATIC:
        return wanted
    for part in accepted.split(","):
        code = part.partition(";")[0].strip().partition("-")[0].lower()
        if code in languages():
            return code
    return "en"


@lru_cache(maxsize=16)
def texts_of(language: str) -> dict[str, str]:
    """What the participants' page says, in a language; English where there is none or a text is missing."""
    texts: dict[str, str] = json.loads((HERE / "texts" / "en.json").read_text(encoding="utf-8"))
    if language in languages():
        texts |= json.loads((HERE / "texts" / f"{language}.json").read_text(encoding="utf-8"))
    return texts


@cache
def static_path() -> str:
    """Where the static files are served: the name changes with their contents, so browsers may keep them for good."""
    digest = hashlib.sha256()
    for file in sorted((HERE / "static").rglob("*.*")):
        digest.update(file.name.encode() + file.read_bytes())
    return f"/static/{digest.hexdigest()[:12]}"


class UnchangingFiles(StaticFiles):
    """Static files that never change under their name."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        reply = await super().get_response(path, scope)
        if reply.status_code == 200:
            reply.headers["cache-control"] = "public, max-age=31536000, immutable"
        return reply


def static_files() -> UnchangingFiles:
    return UnchangingFiles(directory=HERE / "static")


@cache
def _modules(folder: str) -> list[str]:
    return sorted(file.name for file in (HERE / "static" / folder).glob("*.js"))


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["markdown"] = markdown
    return templates


def _page(template: str, **values: Any) -> HTMLResponse:
    values = {"language": "en", **values}
    values["direction"] = direction(values["language"])
    html = _templates().get_template(template).render(static=static_path(), **values)
    return HTMLResponse(html, headers={"cache-control": "no-store"})
