"""What owners of a label study see and do: predictions sorted by doubt, corrections, who labels how, and files."""

from __future__ import annotations

import secrets
import time
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel, Field

from infonn.contracts.storage import Answered, LiveStorage
from infonn.live.annotators import AnnotatorsOut, annotators
from infonn.live.label_files import Predictions
from infonn.live.transfer import LabelFormat, exported_labels
from infonn.records import Answer, Option, Question, StudyRecord
from infonn.specs.settings import check_spec
from infonn.study import CORRECTION
from infonn.web.messages import Message, Problem
from infonn.web.owners import Owner, OwnerRoute, ServerOf, Shown, Stored, download

router = APIRouter(
    prefix="/api/studies/{name}/labels",
    tags=["labels"],
    route_class=OwnerRoute,
    responses={code: {"model": Problem} for code in (400, 401, 403, 404, 409, 422, 429, 503)},
)


class PredictionOut(BaseModel):
    """An item: what people said, what is predicted and how surely; `none` people said that no class fits."""

    index: int
    name: str
    image: str | None
    text: str | None
    label: str | None
    prediction: str
    confidence: float
    doubt: float = Field(description="1 where the two likeliest classes tie, 0 where one is certain.")
    none: int


class PredictionsOut(BaseModel):
    classes: list[str]
    total: int = Field(description="Items that the filter leaves.")
    n_labels: int
    up_to_date: bool
    items: list[PredictionOut]


class CorrectionIn(Message):
    """The class that an item really has; it counts for more than what others said."""

    item: int = Field(ge=0, le=10_000_000)
    label: Annotated[str, Field(min_length=1, max_length=1000)]


class CorrectionOut(BaseModel):
    item: str
    label: str
    before: str | None


@router.get("/predictions", dependencies=[Owner])
def predictions(
    record: Stored,
    server: ServerOf,
    shown: Annotated[Literal["unlabelled", "labelled", "disagreeing", "all"], Query()] = "all",
    label: Annotated[str | None, Query(max_length=1000, description="Only items of this class.")] = None,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 60,
) -> PredictionsOut:
    """What the model says of the items, the most doubtful first; 404 until the first fit."""
    study = server.studies.by_key(record.key)
    if study is None:
        raise HTTPException(404, f'There is no study "{record.name}".')
    found, current = _stored(server.storage, record)
    doubt, classes = found.doubt(), list(found.classes)
    predicted = found.probs.argmax(axis=1)
    said = np.full(len(found.names), -1)
    for item, own in found.labels.items():
        said[item] = own
    keep = {
        "all": np.ones(len(said), bool),
        "unlabelled": said < 0,
        "labelled": said >= 0,
        "disagreeing": (said >= 0) & (said != predicted),
    }[shown]
    if label is not None:
        if label not in classes:
            raise HTTPException(404, f'There is no class "{label}".')
        keep &= np.where(said >= 0, said, predicted) == classes.index(label)
    none = _none_of_these(server.storage, record.name)
    rows = np.flatnonzero(keep)
    rows = rows[np.argsort(-doubt[rows], kind="stable")]
    base = f"/api/p/{record.key}/items"
    items = [
        PredictionOut(
            index=int(row),
            name=found.names[row],
            image=f"{base}/{row}/image" if study.items[row].image else None,
            text=study.items[row].text,
            label=None if said[row] < 0 else classes[said[row]],
            prediction=classes[predicted[row]],
            confidence=round(float(found.probs[row, predicted[row]]), 4),
            doubt=round(float(doubt[row]), 4),
            none=none.get(int(row), 0),
        )
        for row in rows[offset : offset + limit]
    ]
    return PredictionsOut(classes=classes, total=len(rows), n_labels=len(found.labels), up_to_date=current, items=items)


@router.post("/corrections", dependencies=[Owner], status_code=201)
def correct(record: Stored, body: CorrectionIn, token: Shown, server: ServerOf) -> CorrectionOut:
    """Say what an item really is; what people said of it before stays on record, and counts no more."""
    queries = check_spec(record.spec)["queries"]
    items = server.storage.items(record.name)
    if queries["kind"] != "label" or body.item >= len(items):
        raise HTTPException(404, f"Item {body.item} cannot be labelled in this study.")
    if body.label not in queries["classes"]:
        raise HTTPException(422, f'There is no class "{body.label}". The classes are {", ".join(queries["classes"])}.')
    earlier = [pair for pair in server.storage.answers(record.name, None) if pair.question.query[0] == body.item]
    labelled = [pair for pair in earlier if pair.answer.response is not None]
    held_out = bool(labelled) and all(pair.question.purpose == "hold_out" for pair in labelled)
    question = Question(
        id=f"correction-{secrets.token_hex(8)}",
        study=record.name,
        query=(body.item,),
        names=(items[body.item].name,),
        options=tuple(Option(name) for name in queries["classes"]),
        shown=tuple(range(len(queries["classes"]))),
        kind="label",
        purpose="hold_out" if held_out else "train",  # what never trained goes on testing
        strategy_asked=CORRECTION,
        strategy_used=CORRECTION,
        created_at=time.time(),
    )
    answer = Answer(
        id=secrets.token_hex(12),
        question_id=question.id,
        respondent=f"owner: {token.person}",
        response=queries["classes"].index(body.label),
        received_at=time.time(),
    )
    server.storage.import_answers(record.name, [Answered(question, answer)])
    before = labelled[-1].question.options[labelled[-1].answer.response or 0].label if labelled else None
    return CorrectionOut(item=items[body.item].name, label=body.label, before=before)


@router.get("/annotators", dependencies=[Owner])
def who_labels_how(record: Stored, server: ServerOf) -> AnnotatorsOut:
    """How often each person calls an item of one class another, where several people labelled the same items."""
    spec = check_spec(record.spec)
    pairs = server.storage.answers(record.name, None)
    return annotators(pairs, spec["queries"]["classes"], spec["people"]["resolve"])


@router.get(
    "/export",
    dependencies=[Owner],
    response_class=Response,
    responses={200: {"content": {"text/csv": {}, "application/zip": {}, "application/octet-stream": {}}}},
)
def export_labels(
    record: Stored, server: ServerOf, format: Annotated[LabelFormat, Query()] = "predictions"
) -> Response:
    """Predictions of every item with probabilities, labels with who and when, the model, or the pictures by class."""
    data, content_type, ending = exported_labels(server.storage, record, format)
    return download(data, content_type, f"{record.name}{ending}")


def _stored(storage: LiveStorage, record: StudyRecord) -> tuple[Predictions, bool]:
    """The predictions of the last fit, and whether it knows all labels."""
    queries = check_spec(record.spec)["queries"]
    kept = storage.load_model(record.name)
    if queries["kind"] != "label" or kept is None:
        raise HTTPException(404, "No model has been fitted yet. The worker fits one once there are labels.")
    model: Any = kept[1]
    names = [item.name for item in storage.items(record.name)]
    current = list(storage.revision(record.name)) == list(model["revision"])
    return Predictions.of_model(names, queries["classes"], model), current


def _none_of_these(storage: LiveStorage, name: str) -> dict[int, int]:
    """How many people said of an item that none of the classes fits."""
    counts: dict[int, int] = {}
    for pair in storage.answers(name, None):
        if pair.answer.context.get("none_of_these"):
            counts[pair.question.query[0]] = counts.get(pair.question.query[0], 0) + 1
    return counts
