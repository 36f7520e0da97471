"""NEXT's CSV of triplet answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from infonn.contracts.storage import Answered
from infonn.errors import DataError
from infonn.formats.tables import number, rows_of, table, whole
from infonn.formats.triplets import Triplet, answered_from, triplets_of

COLUMNS = (
    "",  # the unnamed index column
    *("exp_uid", "participant_uid", "alg_id", "alg_label", "query_uid", "timestamp_query_generated"),
    *("timestamp_answer_received", "response_time", "network_delay", "target_winner", "winner_id"),
    *("target_center", "target_left", "target_right", "center_id", "left_id", "right_id"),
)
_TIME = "%Y-%m-%d %H:%M:%S.%f"


def write(answered: Iterable[Answered], item_names: Sequence[str], study: str) -> str:
    """One row per triplet; rows of one question share `query_uid`."""
    pairs = list(answered)
    asked = {pair.question.id: pair.question.asked_at or pair.question.created_at for pair in pairs}
    rows = []
    for index, triplet in enumerate(triplets_of(pairs)):
        left, right = (triplet.near, triplet.far) if triplet.near_first else (triplet.far, triplet.near)
        rows.append(
            {
                "": index,
                "exp_uid": study,
                "participant_uid": triplet.respondent,
                "alg_id": triplet.strategy,
                "alg_label": triplet.strategy,
                "query_uid": triplet.question_id,
                "timestamp_query_generated": _written(asked[triplet.question_id]),
                "timestamp_answer_received": _written(triplet.received_at),
                "response_time": triplet.response_time_s,
                "target_winner": item_names[triplet.near],
                "winner_id": triplet.near,
                "target_center": item_names[triplet.reference],
                "target_left": item_names[left],
                "target_right": item_names[right],
                "center_id": triplet.reference,
                "left_id": left,
                "right_id": right,
            }
        )
    return table(COLUMNS, rows)


def read(text: str, study: str, item_names: Sequence[str]) -> list[Answered]:
    """Answers of a NEXT CSV; the winner goes by its id, or by its name where there is no `winner_id`."""
    triplets = []
    for line, row in rows_of(text, ("center_id", "left_id", "right_id"), "NEXT"):
        center, left, right = (whole(row, name, line) for name in ("center_id", "left_id", "right_id"))
        if row.get("winner_id"):
            winner = whole(row, "winner_id", line)
        else:
            winner = {row.get("target_left"): left, row.get("target_right"): right}.get(row.get("target_winner"), -1)
        if winner not in (left, right):
            raise DataError(f"Line {line}: the winner is neither the left item {left} nor the right item {right}.")
        triplets.append(
            Triplet(
                center,
                winner,
                right if winner == left else left,
                row.get("query_uid", ""),
                row.get("participant_uid", ""),
                number(row, "response_time", line),
                _read_time(row.get("timestamp_answer_received", ""), line),
                row.get("alg_label") or row.get("alg_id") or "",
                None,
                winner == left,
            )
        )
    return answered_from(triplets, study, item_names, "next")


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(_TIME)


def _read_time(text: str, line: int) -> float:
    if not text:
        return 0.0
    for form in (_TIME, "%Y-%m-%d %H:%M:%S"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except (ValueError, OverflowError):
            continue
    raise DataError(f'Line {line}: "{text}" is no time like 2015-05-31 14:02:03.123456.')
