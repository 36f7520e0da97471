"""What a participant's link can do: arrive, be asked, answer, undo, and see the study's own items."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from infonn.errors import StudyFullError, UnknownQuestionError
from infonn.live.forms import checked_values, is_filled, screened_out
from infonn.live.studies import LiveStudy
from infonn.live.transfer import item_file
from infonn.live.uploads import MEDIA
from infonn.records import Answer, Question
from infonn.storage.leasing import is_wrong
from infonn.web.incoming import GuardedRoute
from infonn.web.messages import (
    AboutIn,
    AnswerIn,
    AnswerOut,
    FieldView,
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
from infonn.web.prose import markdown
from infonn.web.security import SIGNATURE, Session
from infonn.web.server import Server, server_of

OUTSIDE_IDS = ("PROLIFIC_PID", "workerId", "survey_code", "participant")  # link parameters that name a person
CONDITION = "condition"  # the link parameter that says which condition a person comes into
_CONTEXT_CHARACTERS = 4000
_PLACE = re.compile(r"\{(\w{1,64})\}")
Ending = Literal["done", "screened_out", "over_quota"]
_ENDINGS: dict[Ending, str] = {"done": "completion", "screened_out": "screen_out", "over_quota": "over_quota"}


class ParticipantRoute(GuardedRoute):
    """Lets in whoever has a session of the study; arriving and looking at items needs none."""

    async def admit(self, request: Request, server: Server) -> None:
        key = request.path_params["key"]
        if self.path.endswith("/session"):
            server.limit(server.client_limit, server.client_of(request))
        elif "/items/" not in self.path and "/media/" not in self.path:
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
    if study.ended:
        raise HTTPException(410, "This study has ended. Thank you for your interest.")
    return study


Live = Annotated[LiveStudy, Depends(open_study)]


async def unpaused_study(study: Live) -> LiveStudy:
    if study.record.paused:
        raise HTTPException(409, "This study pauses for now. Open the link again later; nothing is lost.")
    return study


Open = Annotated[LiveStudy, Depends(unpaused_study)]


async def session_of(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Session:
    session: Session = request.state.session  # the route has checked it before it read the body
    return session


Visitor = Annotated[Session, Depends(session_of)]


@router.post("/session")
def arrive(study: Open, body: SessionIn, server: ServerOf) -> SessionOut:
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
        conditions = _conditions(study, body.parameters.get(CONDITION))
        try:
            most = study.people["most_people"]
            person = server.storage.join(name, outside, details, conditions=conditions, most_people=most)
        except StudyFullError:
            turn = _left(study, "over_quota", 0, details)
            return SessionOut(**dict(turn), respondent="", session="", study=study_view(study))
        session = Session(person.name, 0 if signed or outside is None else before, person.condition)
        if study.people["consent"] and "consented_at" in body.parameters:
            server.storage.consent(name, person.name, study.people["consent"])
    turn = _serve(server, study, session, 1 + study.people["prefetch"])
    signed_session = server.credentials.sign_session(key, session)
    view, own = study_view(study, session.condition), study.people_in(session.condition)["instructions"]
    briefing = str(markdown(own, key)) if own != study.people["instructions"] else None
    return SessionOut(
        **dict(turn), respondent=session.respondent, session=signed_session, study=view, briefing=briefing
    )


def _conditions(study: LiveStudy, named: str | None) -> list[str]:
    """The conditions a new person may come into: the one that the link names, or whichever has its turn."""
    known = [condition["name"] for condition in study.people["conditions"]]
    if named is None or not known:
        return known
    if named not in known:
        raise HTTPException(422, f'This link leads into condition "{named}", which the study does not have.')
    return [named]


@router.get("/questions")
def questions(
    study: Live,
    session: Visitor,
    server: ServerOf,
    n: Annotated[
        int | None,
        Query(
            ge=1, le=20, description="How many to hold, up to as many as were answered; by default 1 and the prefetch."
        ),
    ] = None,
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
    serving = study.serving_in(session.condition)
    stored, following, done = server.storage.exchange(study.record.name, given, wanted, serving)
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


@router.post("/about")
def about(study: Live, session: Visitor, body: AboutIn, server: ServerOf) -> Turn:
    """What a person says about themselves, before the first question or after the last."""
    values = checked_values(study.people[body.form], body.values)
    server.storage.tell_about(study.record.name, session.respondent, values)
    return _serve(server, study, session, 1 + study.people["prefetch"])


@router.post("/withdraw", status_code=204, response_class=Response)
def withdraw(study: Annotated[LiveStudy, Depends(live_study)], session: Visitor, server: ServerOf) -> Response:
    """Take everything back: the person is deleted with all answers."""
    if not study.people["withdraw"]:
        raise HTTPException(403, "Write to the people who run this study to take your answers back.")
    pairs = server.storage.answers_of(study.record.name, session.respondent)
    if any(pair.answer.number <= session.after for pair in pairs):
        raise HTTPException(
            403,
            "Some of your answers were given in another browser. Withdraw there, or write to those who run the study.",
        )
    if server.storage.respondent(study.record.name, session.respondent) is not None:
        n_answers = server.storage.delete_person(study.record.name, session.respondent)
        server.storage.add_act("a participant", "withdrew", study.record.name, {"answers": n_answers})
    return Response(status_code=204)


@router.get(
    "/media/{name}",
    response_class=Response,
    responses={200: {"content": {"image/*": {}, "audio/*": {}, "video/*": {}}}},
)
def text_media(
    study: Annotated[LiveStudy, Depends(live_study)], name: Annotated[str, Path(max_length=200)], server: ServerOf
) -> Response:
    """A picture, sound or video that the study's texts show."""
    file = server.storage.file(study.record.name, f"{MEDIA}{name}")
    if file is None:
        raise HTTPException(404, f'The study has no file "{name}" for its texts.')
    return Response(file.data, media_type=file.content_type, headers={"cache-control": "private, max-age=86400"})


@router.get(
    "/items/{index}/{kind}", response_class=Response, responses={200: {"content": {"image/*": {}, "audio/*": {}}}}
)
def media(
    study: Annotated[LiveStudy, Depends(live_study)],
    index: Annotated[int, Path(ge=0, le=10_000_000)],
    kind: Annotated[str, Path(pattern="^(image|audio)$")],
    request: Request,
    server: ServerOf,
) -> Response:
    """An item's image or sound."""
    path = None
    if index < len(study.items):
        path = study.items[index].image if kind == "image" else study.items[index].audio
    file = item_file(server.storage, study.record, study.spec, path) if path else None
    if file is None:
        raise HTTPException(404, f"Item {index} has no {kind}.")
    headers = {"cache-control": "private, max-age=86400"}
    return server.outgoing.reply(server.client_of(request), file.data, file.content_type, headers)


# --- inside ----------------------------------------------------------------------------------------


def study_view(study: LiveStudy, condition: str = "") -> StudyView:
    """What a participant's page needs to know about the study."""
    people = study.people_in(condition)
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
        pause_text=people["pause_text"],
        min_time_s=people["min_time_s"],
        block=people["block"],
        pause_s=people["pause_s"],
        withdraw=people["withdraw"],
        before=[_field_view(field) for field in people["before"]],
        after=[_field_view(field) for field in people["after"]],
    )


def _field_view(field: Mapping[str, Any]) -> FieldView:
    return FieldView(**{key: field[key] for key in FieldView.model_fields})


def _serve(server: Server, study: LiveStudy, session: Session, n: int) -> Turn:
    name, person = study.record.name, session.respondent
    serving, done = study.serving_in(session.condition), server.storage.n_done(name, person)
    if study.people["before"] and not done:
        said = _said(server, study, session)
        if screened_out(study.people["before"], said):
            return _left(study, "screened_out", done, _details(server, study, session))
        if not is_filled(study.people["before"], said) and not study.full:
            return Turn(questions=[], progress=_progress(study, done), finished=False, form="before")
    if not done:
        serving = server.newcomers.serving(name, person, serving)
    return _turn(server, study, session, server.storage.serve(name, person, n, serving), done)


def _turn(server: Server, study: LiveStudy, session: Session, held: list[Question], done: int) -> Turn:
    people, progress = study.people, _progress(study, done)
    known = {} if held else _details(server, study, session)
    if held:
        questions = [question_view(study, question) for question in held]
        return Turn(questions=questions, progress=progress, finished=False)
    if study.record.paused:
        return Turn(questions=[], progress=progress, finished=False, paused=True)
    pairs = server.storage.answers_of(study.record.name, session.respondent)
    in_force = [pair for pair in pairs if not pair.answer.undone and pair.question.purpose != "practice"]
    if people["most_wrong"] and sum(is_wrong(p.question, p.answer) for p in in_force) >= people["most_wrong"]:
        return _left(study, "screened_out", done, known)
    if not in_force:
        return _left(study, "over_quota", done, known)
    if people["after"] and not is_filled(people["after"], _said(server, study, session)):
        return Turn(questions=[], progress=progress, finished=False, form="after")
    of_session = [pair.answer.outcome for pair in in_force if pair.answer.number > session.after]
    return _left(study, "done", done, known, did_work(of_session))


def did_work(outcomes: Sequence[str]) -> bool:
    """Whether somebody who gave these answers has earned a completion code: at least half are no skips."""
    n_skipped = sum(outcome == "skipped" for outcome in outcomes)
    return bool(outcomes) and 2 * n_skipped <= len(outcomes)


def _left(study: LiveStudy, how: Ending, done: int, known: Mapping[str, Any], earned: bool = True) -> Turn:
    """The last turn, with what takes people back to where they came from; {places} of the address are filled with the
    parameters of their link."""
    people, progress = study.people, _progress(study, done)
    code, url = (people[f"{_ENDINGS[how]}_{what}"] if earned else "" for what in ("code", "url"))
    url = _PLACE.sub(lambda place: quote(str(known.get(place[1], "")), safe=""), url)
    turn = Turn(questions=[], progress=progress, finished=True, ended=how)
    return turn.model_copy(update={"completion_code": code or None, "completion_url": url or None})


def _details(server: Server, study: LiveStudy, session: Session) -> Mapping[str, Any]:
    """The parameters of this person's link, where an address asks for them."""
    if not any("{" in study.people[f"{name}_url"] for name in _ENDINGS.values()):
        return {}
    return server.storage.details(study.record.name).get(session.respondent, {})


def _progress(study: LiveStudy, done: int) -> Progress:
    return Progress(done=done, of=study.people["per_person"] or None)


def _said(server: Server, study: LiveStudy, session: Session) -> Mapping[str, Any]:
    person = server.storage.respondent(study.record.name, session.respondent)
    return {} if person is None else person.about


def _answers_of(server: Server, study: LiveStudy, session: Session) -> list[Answer]:
    """What was answered in this session or one it has proof of, practice included."""
    pairs = server.storage.answers_of(study.record.name, session.respondent)
    return [pair.answer for pair in pairs if pair.answer.number > session.after]
