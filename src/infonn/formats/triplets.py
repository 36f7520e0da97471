"""Answers as triplets and back, for tools that know nothing else. One question's triplets belong together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from infonn.contracts.storage import Answered
from infonn.errors import DataError
from infonn.queries import Answers, split_into_triplets
from infonn.records import Answer, Option, Question


@dataclass(frozen=True)
class Triplet:
    """`reference` is nearer to `near` than to `far`; rows of one question share `question_id`."""

    reference: int
    near: int
    far: int
    question_id: str = ""
    respondent: str = ""
    response_time_s: float | None = None
    received_at: float = 0.0
    strategy: str = ""
    score: float | None = None
    near_first: bool = True  # whether the near item stood before the far one on the screen


def triplets_of(answered: Iterable[Answered]) -> list[Triplet]:
    """All triplets of similarity answers; skipped questions and labels have none."""
    result = []
    for pair in answered:
        question, answer = pair.question, pair.answer
        if answer.response is None or question.kind == "label":
            continue
        one = Answers(np.array([question.query], np.int32), np.array([answer.response], np.int32), question.kind)
        place = {question.options[option].item: i for i, option in enumerate(question.shown)}
        for reference, near, far in split_into_triplets(one).tolist():
            result.append(
                Triplet(
                    reference,
                    near,
                    far,
                    question.id,
                    answer.respondent,
                    answer.response_time_s,
                    answer.received_at,
                    question.strategy_used,
                    question.score,
                    place.get(near, 0) <= place.get(far, 1),
                )
            )
    return result


def answered_from(triplets: Sequence[Triplet], study: str, item_names: Sequence[str], source: str) -> list[Answered]:
    """Answers that the triplets stand for: rows of one question with the same near item are one NN answer."""
    groups: dict[tuple[str, str, int, int], list[Triplet]] = {}
    for number, triplet in enumerate(triplets):
        _check(triplet, len(item_names), number)
        own = triplet.question_id or f"row {number}"
        groups.setdefault((own, triplet.respondent, triplet.reference, triplet.near), []).append(triplet)
    nears: dict[str, int] = {}
    for own, *_ in groups:
        nears[own] = nears.get(own, 0) + 1
    result = []
    for (own, respondent, reference, near), rows in groups.items():
        fars = dict.fromkeys(row.far for row in rows)
        digest = hashlib.sha256(f"{source}/{own}/{respondent}/{reference}/{near}/{sorted(fars)}".encode()).hexdigest()
        whole = rows[0].question_id and nears[own] == 1
        question_id = own if whole else f"{source}-{digest[:16]}"
        candidates = sorted({near, *fars})
        query = (reference, *candidates)
        question = Question(
            id=question_id,
            study=study,
            query=query,
            names=tuple(item_names[item] for item in query),
            options=tuple(Option(item_names[item], item) for item in candidates),
            shown=_screen_order(candidates, near, rows),
            strategy_asked=rows[0].strategy,
            strategy_used=rows[0].strategy,
            score=rows[0].score,
            respondent=respondent,
            created_at=rows[0].received_at,
        )
        answer = Answer(
            id=f"{source}-{digest[:24]}",
            question_id=question_id,
            respondent=respondent,
            response=candidates.index(near),
            response_time_s=rows[0].response_time_s,
            received_at=rows[0].received_at,
        )
        result.append(Answered(question, answer))
    return result


def _screen_order(candidates: Sequence[int], near: int, rows: Sequence[Triplet]) -> tuple[int, ...]:
    """An order in which the near item stands before and after the same items as it did."""
    after = [row.far for row in rows if row.near_first]
    before = [candidate for candidate in candidates if candidate != near and candidate not in after]
    return tuple(candidates.index(item) for item in [*before, near, *sorted(set(after))])


def _check(triplet: Triplet, n_items: int, number: int) -> None:
    items = (triplet.reference, triplet.near, triplet.far)
    if any(not 0 <= item < n_items for item in items):
        raise DataError(f"Row {number + 1} names items {list(items)}; the study's items are 0 to {n_items - 1}.")
    if len(set(items)) < 3:
        raise DataError(f"Row {number + 1} names items {list(items)}; the three must differ.")
