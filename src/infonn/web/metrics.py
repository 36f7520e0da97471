"""`/metrics` in Prometheus' text form: how the server and its open studies fare."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from infonn.live.status import StatusOut, study_status
from infonn.web.owners import OwnerRoute
from infonn.web.server import Server, server_of

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_QUANTILES = {"p50_s": "0.5", "p95_s": "0.95", "p99_s": "0.99"}

router = APIRouter(include_in_schema=False, route_class=OwnerRoute)


@router.get("/metrics")
def metrics(server: Annotated[Server, Depends(server_of)]) -> Response:
    """What a monitoring system asks for every few seconds; it needs a token of the server."""
    statuses = [study_status(server.storage, record) for record in server.storage.studies() if not record.archived]
    families = [*_of_server(server), *_of_studies(statuses)]
    return Response("".join(families), headers={"content-type": _TYPE})


Samples = list[tuple[Mapping[str, str], float]]


def family(name: str, kind: str, text: str, samples: Samples) -> str:
    """One metric with its samples, as Prometheus reads it; nothing where there are none."""
    if not samples:
        return ""
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(given)}"' for label, given in labels.items())
        lines.append(f"{name}{{{inside}}} {value:.10g}" if inside else f"{name} {value:.10g}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _of_server(server: Server) -> Iterator[str]:
    replies: Samples = [({"status": str(status)}, n) for status, n in sorted(server.timings.n_replies.items())]
    yield family("infonn_replies_total", "counter", "Replies since the server started.", replies)
    times: Samples = [
        ({"kind": kind, "quantile": quantile}, summary[key])
        for kind, summary in server.timings.summary().items()
        for key, quantile in _QUANTILES.items()
    ]
    yield family("infonn_reply_seconds", "gauge", "From a request's arrival to its reply, of the last 20,000.", times)
    yield family("infonn_started_at_seconds", "gauge", "When the server started.", [({}, server.started_at)])
    if (memory := resident_bytes()) is not None:
        yield family("infonn_resident_memory_bytes", "gauge", "Memory the server's process takes.", [({}, memory)])


def _of_studies(statuses: list[StatusOut]) -> Iterator[str]:
    def samples(key: str) -> Samples:
        values = [({"study": status.name}, getattr(status, key)) for status in statuses]
        return [(labels, float(value)) for labels, value in values if value is not None]

    for name, key, text in (
        ("queue_questions", "queue", "Chosen questions that nobody holds."),
        ("leased_questions", "leased", "Questions that people hold."),
        ("fallback_share", "fallback_share", "Share of questions that were random because the queue had run dry."),
        ("people_at_work", "people_at_work", "People who answered a moment ago."),
        ("model_answers", "model_answers", "Answers the reported model knows."),
        ("model_at_seconds", "model_at", "When the reported model was fitted."),
        ("fit_seconds", "fit_seconds", "How long the last cold fit took."),
        ("worker_seen_at_seconds", "worker_seen_at", "When a worker was last heard of."),
    ):
        yield family(f"infonn_study_{name}", "gauge", text, samples(key))
    answers: Samples = [
        ({"study": status.name, "purpose": purpose}, n) for status in statuses for purpose, n in status.answers.items()
    ]
    yield family("infonn_study_answers", "gauge", "Answered questions in force.", answers)
    unseen: Samples = [
        ({"study": status.name, "quantile": quantile}, value)
        for status in statuses
        for quantile, value in (("0.5", status.unseen_median), ("0.95", status.unseen_p95))
    ]
    text = "Train answers the model had not seen when a question was handed out."
    yield family("infonn_study_unseen_answers", "gauge", text, unseen)


def resident_bytes() -> int | None:
    """Memory this process takes; None on systems that do not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
