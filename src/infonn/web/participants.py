"""What a participant's link can do: arrive, be asked, answer, undo, and see the study's own items."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from infonn.errors import UnknownQuestionError
from infonn.live.studies import LiveStudy
from infonn.live.transfer import item_file
from infonn.records import Answer, Question
from infonn.web.incoming import GuardedRoute
from infonn.web.messages import (
    AnswerIn,
    AnswerOut,
    Problem,
    Progress,
    SessionIn,
    SessionOut,
    StudyView,
    Turn,
    UndoIn,
    answer_view,
    question_view,
)
from infonn.web.security import Session
from infonn.web.server import Server, server_of

OUTSIDE_IDS = ("PROLIFIC_PID", "workerId", "participant")  # link parameters that name a person
SIGNATURE = "signature"  # the link parameter that proves it: see `POST /api/studies/{name}/links`
_CONTEXT_CHARACTERS = 4000


class ParticipantRoute(GuardedRoute):
    """Lets in whoever has a session of the study; arriving and looking at items needs none."""

    async def admit(self, request: Request, server: Server) -> None:
        key = request.path_params["key"]
        if self.path.endswith("/session"):
            server.limit(server.client_limit, server.client_of(request))
        elif "/items/" not in self.path:
            session = server.credentials.session(key, _bearer_token(request))
            if session is None:
                raise HTTPException(401, "Your session is not known here. Open the study's link again.")
            server.limit(server.session_limit, f"{key}/{session.respondent}")
            request.state.session = session


def _bearer_token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


router = APIRouter(
    prefix="/api/p/{key}",
    tags=["participants"],
    route_class=ParticipantRoute,
    responses={code: {"model": Problem} for code in (400, 401, 404, 408, 409, 410, 413, 422, 429, 503)},
)
_bearer = HTTPBearer(auto_error=False, description="The `session` that POST /session gave.")

Key = Annotated[str, Path(max_length=100, description="The end of the participants' link.")]
ServerOf = Annotated[Server, Depends(server_of)]


async def live_study(key: Key, server: ServerOf) -> LiveStudy:
    study = server.studies.at_hand(key) or await run_in_threadpool(server.studies.by_key, key)
    if study is None:
        raise HTTPException(404, "There is no study behind this link. Check that the whole link was copied.")
    return study


async def open_study(study: Annotated[LiveStudy, Depends(live_study)]) -> LiveStudy:
    if study.record.archived:
        raise HTTPException(410, "This study has ended. Thank you for your interest.")
    return study


Live = Annotated[LiveStudy, Depends(open_study)]


async def session_of(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Session:
    session: Session = request.state.session  # the route has checked it before it read the body
    return session


Visitor = Annotated[Session, Depends(session_of)]


@router.post("/session")
def arrive(study: Live, body: SessionIn, server: ServerOf) -> SessionOut:
    """Arrive at a study: a new person, or the same one again with `session` or a signed link.

    The platform's own id alone lets a person go on where somebody of that id was, and see or undo nothing of it."""
    key, name = study.record.key, study.record.name
    session = server.credentials.session(key, body.session or "")
    if session is None:
        outside = next((body.parameters[given] for given in OUTSIDE_IDS if body.parameters.get(given)), None)
        details = {given: value for given, value in body.parameters.items() if given != SIGNATURE}
        before = server.storage.revision(name)[0]
        signed = outside is not None and server.credentials.is_signed_link(
            key, outside, body.parameters.get(SIGNATURE, "")
        )
        person = server.storage.join(name, outside, details).name
        session = Session(person, 0 if signed or outside is None else before)
        if study.people["consent"] and "consented_at" in body.parameters:
            server.storage.consent(name, person, study.people["consent"])
    turn = _serve(server, study, session, 1 + study.people["prefetch"])
    signed_session = server.credentials.sign_session(key, session)
    return SessionOut(**dict(turn), respondent=session.respondent, session=signed_session, study=study_view(study))


@router.get("/questions")
def questions(
    study: Live,
    session: Visitor,
    server: ServerOf,
    n: Annotated[int | None, Query(ge=1, le=20, description="How many to hold; by default 1 and the prefetch.")] = None,
) -> Turn:
    """The questions this person holds, and new ones up to `n`. Asking again gives the same."""
    return _serve(server, study, session, n or 1 + study.people["prefetch"])


@router.post("/answers", response_model=AnswerOut)
def answer(
    study: Annotated[LiveStudy, Depends(live_study)],
    session: Visitor,
    body: AnswerIn,
    server: ServerOf,
    n: Annotated[int | None, Query(ge=1, le=20, description="How many questions to hold after this answer.")] = None,
) -> Response:
    """Answer, skip, or say that one cannot tell; the reply carries the next questions. Stored when it returns 200."""
    if len(json.dumps(body.context)) > _CONTEXT_CHARACTERS:
        raise HTTPException(413, f"`context` is longer than {_CONTEXT_CHARACTERS:,} characters.")
    given = Answer(
        id=body.id,
        question_id=body.question,
        respondent=session.respondent,
        response=body.response,
        outcome=body.outcome,
        response_time_s=body.response_time_s,
        context=body.context,
    )
    wanted = n or 1 + study.people["prefetch"]
    stored, following, done = server.storage.exchange(study.record.name, given, wanted, study.serving)
    if stored.number and stored.number <= session.after:
        raise UnknownQuestionError(f'Answer "{body.id}" was given in another session.')
    server.newcomers.answered(study.record.name, session.respondent)
    reply = AnswerOut(**dict(_turn(server, study, session, following, done)), answer=answer_view(stored))
    return Response(reply.model_dump_json(), media_type="application/json")  # it is what it is: no need to check it


@router.post("/undo")
def undo(study: Live, session: Visitor, body: UndoIn, server: ServerOf) -> AnswerOut:
    """Take one's own answer back; its question comes first again."""
    if body.answer not in {answer.id for answer in _answers_of(server, study, session)}:
        raise UnknownQuestionError(f'Answer "{body.answer}" is not one of yours.')
    undone = server.storage.undo(study.record.name, body.answer, study.serving.lease_s)
    turn = _serve(server, study, session, 1 + study.people["prefetch"])
    return AnswerOut(**dict(turn), answer=answer_view(undone))


@router.get(
    "/items/{index}/{kind}", response_class=Response, responses={200: {"content": {"image/*": {}, "audio/*": {}}}}
)
def media(
    study: Annotated[LiveStudy, Depends(live_study)],
    index: Annotated[int, Path(ge=0, le=10_000_000)],
    kind: Annotated[str, Path(pattern="^(image|audio)$")],
    server: ServerOf,
) -> Response:
    """An item's image or sound."""
    path = None
    if index < len(study.items):
        path = study.items[index].image if kind == "image" else study.items[index].audio
    file = item_file(server.storage, study.record, study.spec, path) if path else None
    if file is None:
        raise HTTPException(404, f"Item {index} has no {kind}.")
    return Response(file.data, media_type=file.content_type, headers={"cache-control": "private, max-age=86400"})


# --- inside ----------------------------------------------------------------------------------------


def study_view(study: LiveStudy) -> StudyView:
    """What a participant's page needs to know about the study."""
    people = study.people
    return StudyView(
        title=people["title"] or study.record.name,
        question=people["question"],
        instructions=people["instructions"],
        consent=people["consent"],
        thanks=people["thanks"],
        language=people["language"],
        kind=study.spec["queries"]["kind"],
        prefetch=people["prefetch"],
        practice=len(study.serving.practice),
    )


def _serve(server: Server, study: LiveStudy, session: Session, n: int) -> Turn:
    name, person = study.record.name, session.respondent
    serving, done = study.serving, server.storage.n_done(name, person)
    if not done:
        n, serving = min(n, 1 + study.people["prefetch"]), server.newcomers.serving(name, person, serving)
    return _turn(server, study, session, server.storage.serve(name, person, n, serving), done)


def _turn(server: Server, study: LiveStudy, session: Session, held: list[Question], done: int) -> Turn:
    finished, people = not held, study.people
    earned = finished and _took_part(server, study, session)
    return Turn(
        questions=[question_view(study, question) for question in held],
        progress=Progress(done=done, of=people["per_person"] or None),
        finished=finished,
        completion_code=people["completion_code"] or None if earned else None,
        completion_url=people["completion_url"] or None if earned else None,
    )


def _took_part(server: Server, study: LiveStudy, session: Session) -> bool:
    """Whether this session has an answer in force that is no skip, practice aside."""
    pairs = server.storage.answers_of(study.record.name, session.respondent)
    return any(
        pair.answer.number > session.after
        and pair.answer.outcome != "skipped"
        and not pair.answer.undone
        and pair.question.purpose != "practice"
        for pair in pairs
    )


def _answers_of(server: Server, study: LiveStudy, session: Session) -> list[Answer]:
    """What was answered in this session or one it has proof of, practice included."""
    pairs = server.storage.answers_of(study.record.name, session.respondent)
    return [pair.answer for pair in pairs if pair.answer.number > session.after]
