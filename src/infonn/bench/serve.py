"""`infonn bench serve`: how many people one server bears while questions are chosen actively."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from infonn.bench.entries import Target, told
from infonn.bench.load import Crowd, Visit, visit
from infonn.bench.servers import free_port, server, wait_until_up
from infonn.live.status import study_status
from infonn.live.transfer import put_study
from infonn.specs.build import items_of, open_live_storage
from infonn.web.security import reset_owner_token

TARGETS = (Target("server_p95_s", 0.1), Target("fallback_share", 0.0), Target("unseen_median", 100))


def bench_serve(
    storage: str | None = None,
    people: int = 100,
    seconds: float = 60.0,
    think_s: float = 0.75,
    n_items: int = 100,
    learner: str = "posterior",
) -> dict[str, Any]:
    """Measure one load on a server with one worker; times are measured in the server."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = storage or f"sqlite:///{folder}/bench.db"
        kept = open_live_storage(url)
        study = f"bench {time.time_ns()}"
        spec = {"study": {"name": study}, "budget": {"answers": 10**9}, "learner": {"name": learner}}
        record = put_study(kept, spec, items_of([(f"item {i}", None) for i in range(n_items)]), [])
        token, port = reset_owner_token(kept), free_port()
        with server(url, port, folder, workers=1):
            wait_until_up(port)
            wait_for_worker(kept, study)
            planned = Visit("127.0.0.1", port, record.key, people, seconds, think_s)
            crowd = asyncio.run(visit(planned, Crowd()))
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/server", headers={"authorization": f"Bearer {token}"}
            )
            with urllib.request.urlopen(request, timeout=10) as reply:
                times = json.load(reply)["requests"]["answers"]
            status = study_status(kept, kept.study(study))
        kept_answers = len(kept.answers(study, None))
        kept.change_study(study, archived=True)
    figures = {
        "storage": url.split("://")[0],
        "learner": learner,
        "people": people,
        "seconds": seconds,
        "think_s": think_s,
        "items": n_items,
        "answers": len(crowd.acknowledged),
        "answers_per_second": len(crowd.acknowledged) / seconds,
        "all_acknowledged_stored": kept_answers == len(crowd.acknowledged),
        "errors": crowd.failed + len(crowd.refused),
        "server_p50_s": times["p50_s"],
        "server_p95_s": times["p95_s"],
        "server_p99_s": times["p99_s"],
        "client_p95_s": float(np.percentile(crowd.seconds, 95)),
        "fallback_share": status.fallback_share,
        "unseen_median": status.unseen_median,
        "unseen_p95": status.unseen_p95,
        "hold_out_share": status.answers["hold_out"] / max(1, sum(status.answers.values())),
    }
    return {**figures, "targets": told(TARGETS, figures)}


def wait_for_worker(kept: Any, study: str) -> None:
    """Until a worker has taken the study up and its kernels are compiled, as on a server that has run for a while."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        reported = kept.notes(study).get("reported")
        if reported is not None:
            return
        time.sleep(0.1)
