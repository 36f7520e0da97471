"""What a participant's link can do: arrive, be asked, answer, undo, and see the study's own items."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from infonn.errors import UnknownQuestionError
from infonn.live.studies import LiveStudy
from infonn.records import Answer, Question
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
from infonn.web.server import Server, server_of

OUTSIDE_IDS = ("PROLIFIC_PID", "workerId", "participant")  # link parameters that name a person
_CONTEXT_CHARACTERS = 4000

router = APIRouter(
    prefix="/api/p/{key}",
    tags=["participants"],
    responses={code: {"model": Problem} for code in (400, 401, 404, 409, 410, 413, 422, 429, 503)},
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


async def respondent(
    study: Annotated[LiveStudy, Depends(live_study)],
    server: ServerOf,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> str:
    found = server.gate.respondent_of(study.record.key, credentials.credentials if credentials else "")
    if found is None:
        raise HTTPException(401, "Your session is not known here. Open the study's link again.")
    server.limit(server.session_limit, found)
    return found


Person = Annotated[str, Depends(respondent)]


@router.post("/session")
def arrive(study: Live, body: SessionIn, request: Request, server: ServerOf) -> SessionOut:
    """Arrive at a study: a new person, or the same one again with `session` or the platform's own id."""
    server.limit(server.client_limit, server.client_of(request))
    name = server.gate.respondent_of(study.record.key, body.session or "")
    if name is None:
        outside = next((body.parameters[key] for key in OUTSIDE_IDS if body.parameters.get(key)), None)
        name = server.storage.join(study.record.name, outside, body.parameters).name
    turn = _serve(server, study, name, 1 + study.people["prefetch"])
    session = server.gate.session(study.record.key, name)
    return SessionOut(**dict(turn), respondent=name, session=session, study=study_view(study))


@router.get("/questions")
def questions(
    study: Live,
    person: Person,
    server: ServerOf,
    n: Annotated[int | None, Query(ge=1, le=20, description="How many to hold; by default 1 and the prefetch.")] = None,
) -> Turn:
    """The questions this person holds, and new ones up to `n`. Asking again gives the same."""
    return _serve(server, study, person, n or 1 + study.people["prefetch"])


@router.post("/answers", response_model=AnswerOut)
def answer(
    study: Annotated[LiveStudy, Depends(live_study)],
    person: Person,
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
        respondent=person,
        response=body.response,
        outcome=body.outcome,
        response_time_s=body.response_time_s,
        context=body.context,
    )
    wanted = n or 1 + study.people["prefetch"]
    stored, following, done = server.storage.exchange(study.record.name, given, wanted, study.serving)
    reply = AnswerOut(**dict(_turn(study, following, done)), answer=answer_view(stored))
    return Response(reply.model_dump_json(), media_type="application/json")  # it is what it is: no need to check it


@router.post("/undo")
def undo(study: Live, person: Person, body: UndoIn, server: ServerOf) -> AnswerOut:
    """Take one's own answer back; its question comes first again."""
    own = {pair.answer.id: pair.answer for pair in server.storage.answers_of(study.record.name, person)}
    if body.answer not in own:
        raise UnknownQuestionError(f'Answer "{body.answer}" is not one of yours.')
    undone = server.storage.undo(study.record.name, body.answer, study.serving.lease_s)
    turn = _serve(server, study, person, 1 + study.people["prefetch"])
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
    file = server.storage.file(study.record.name, path) if path else None
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


def _serve(server: Server, study: LiveStudy, person: str, n: int) -> Turn:
    held = server.storage.serve(study.record.name, person, n, study.serving)
    return _turn(study, held, server.storage.n_done(study.record.name, person))


def _turn(study: LiveStudy, held: list[Question], done: int) -> Turn:
    finished, people = not held, study.people
    return Turn(
        questions=[question_view(study, question) for question in held],
        progress=Progress(done=done, of=people["per_person"] or None),
        finished=finished,
        completion_code=people["completion_code"] or None if finished else None,
        completion_url=people["completion_url"] or None if finished else None,
    )
