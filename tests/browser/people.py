"""People who answer without a browser, so that there is something to look at."""

from __future__ import annotations

import secrets

import numpy as np

from infonn.contracts.storage import LiveStorage
from infonn.live.studies import LiveStudies
from infonn.records import Answer, StudyRecord


def answer_for(storage: LiveStorage, record: StudyRecord, people: int, each: int, seed: int = 0) -> None:
    """Each person answers so many questions; items with near numbers look alike."""
    rng = np.random.default_rng(seed)
    study = LiveStudies(storage).by_key(record.key)
    names = [storage.join(record.name, f"person {number}").name for number in range(people)]
    for _ in range(each):
        for name in names:
            (question,) = storage.serve(record.name, name, 1, study.serving)
            n = len(question.options)
            distances = [abs((option.item or 0) - question.query[0]) for option in question.options]
            right = question.query[0] * n // 12 if question.kind == "label" else int(np.argmin(distances))
            response = right if rng.random() < 0.9 else int(rng.integers(n))
            seconds = float(rng.lognormal(0.5, 0.4))
            given = Answer(secrets.token_hex(16), question.id, name, response, response_time_s=seconds)
            storage.exchange(record.name, given, 1, study.serving)
