"""Where a study stands, and what its owner should know; for the owner's interface and the command line."""

from __future__ import annotations

import time

from pydantic import BaseModel, Field

from infonn.contracts.storage import LiveStorage
from infonn.findings import Findings, percent
from infonn.records import StudyRecord

FALLBACK_WARNING = 0.01  # share of fallback questions above which the owner is told
WORKER_SILENT_S = 30.0


class StatusOut(BaseModel):
    """Where a study stands. `warnings` and `error` are sentences for its owner."""

    name: str
    archived: bool
    created_at: float = 0.0
    answers: dict[str, int] = Field(description="Answered questions in force, by purpose.")
    goal: int
    skipped: int
    cannot_tell: int
    late: int
    undone: int
    deleted: int = Field(description="Answers that were deleted with the people who gave them.")
    people: int
    people_at_work: int
    answers_last_minute: int
    queue: int
    leased: int
    asked: int
    fallback: int
    fallback_share: float
    unseen_median: float = Field(description="Train answers the model had not seen when a question was handed out.")
    unseen_p95: float
    model_answers: int | None = Field(description="Answers the reported model knows.")
    model_at: float | None
    fit_seconds: float | None
    up_to_date: bool
    worker_seen_at: float | None
    findings: list[str] = Field(description="What the reported model says about itself, in sentences.")
    warnings: list[str]
    error: str | None


def study_status(storage: LiveStorage, record: StudyRecord) -> StatusOut:
    counts, notes = storage.counts(record.name), storage.notes(record.name)
    kept = storage.load_model(record.name)
    model = None if kept is None else kept[1]
    worker = notes.get("worker", {})
    share = counts.fallback / counts.asked if counts.asked else 0.0
    warnings = []
    if share > FALLBACK_WARNING:
        asked_all = notes.get("reported", {}).get("queue") == 0
        remedy = "Start another worker, or ask fewer people at once."
        warnings.append(
            f"{percent(share, 1)} of the questions ({counts.fallback} of {counts.asked}) were random because the queue "
            f"had run dry. {'Everything there is to ask was asked.' if asked_all else remedy}"
        )
    found = None if model is None or "findings" not in model else Findings.from_json(model["findings"])
    warnings += [] if found is None else found.warnings
    silent = time.time() - max(worker.get("at", 0.0), record.created_at) > WORKER_SILENT_S
    if not record.archived and silent:
        warnings.append("No worker looks after this study: questions are random. Run `infonn work`, or `infonn serve`.")
    values = counts.to_json()
    return StatusOut(
        name=record.name,
        archived=record.archived,
        created_at=record.created_at,
        answers=values.pop("answered"),
        goal=record.spec.get("budget", {}).get("answers", 0),
        **values,
        deleted=sum(deletion.answers for deletion in storage.deletions(record.name)),
        fallback_share=share,
        model_answers=None if model is None else int(model["n_answers"]),
        model_at=None if model is None else float(model["at"]),
        fit_seconds=None if model is None else float(model["seconds"]),
        up_to_date=model is not None and list(model["revision"]) == list(storage.revision(record.name)),
        worker_seen_at=worker.get("at"),
        findings=[] if found is None else [text for text in found.sentences if text not in found.warnings],
        warnings=warnings,
        error=notes.get("error"),
    )
