"""Salmon's responses CSV, of both generations: out as version 1 writes it, in as either."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from infonn.contracts.storage import Answered
from infonn.errors import DataError
from infonn.formats.tables import number, rows_of, table, whole
from infonn.formats.triplets import Triplet, answered_from, triplets_of

COLUMNS = (
    *("head", "left", "right", "winner", "loser", "sampler", "score", "puid", "response_time", "network_latency"),
    *("time_received", "time_received_since_start", "datetime_received", "start_time", "puid_num_responses"),
    *("num_responses", "head_html", "left_html", "right_html", "winner_html", "loser_html"),
    *("head_filename", "left_filename", "right_filename", "winner_filename", "loser_filename"),
    "question_id",  # ours: rows of one answer to more than two candidates are not independent
)
_NO_SCORE = -9999.0  # what Salmon writes for it


def write(answered: Iterable[Answered], item_names: Sequence[str], started_at: float = 0.0) -> str:
    """One row per triplet, as `salmon` writes it, with the question's id at the end."""
    rows, of_person = [], dict[str, int]()
    for count, triplet in enumerate(triplets_of(answered), start=1):
        left, right = (triplet.near, triplet.far) if triplet.near_first else (triplet.far, triplet.near)
        places = {"head": triplet.reference, "left": left, "right": right}
        places |= {"winner": triplet.near, "loser": triplet.far}
        of_person[triplet.respondent] = of_person.get(triplet.respondent, 0) + 1
        received = datetime.fromtimestamp(triplet.received_at, UTC)
        rows.append(
            {
                **places,
                **{f"{place}_html": item_names[item] for place, item in places.items()},
                "sampler": triplet.strategy,
                "score": repr(_NO_SCORE if triplet.score is None else triplet.score),
                "puid": triplet.respondent,
                "response_time": triplet.response_time_s,
                "time_received": repr(triplet.received_at),
                "time_received_since_start": repr(triplet.received_at - started_at),
                "datetime_received": received.isoformat(),
                "start_time": repr(started_at),
                "puid_num_responses": of_person[triplet.respondent],
                "num_responses": count,
                "question_id": triplet.question_id,
            }
        )
    return table(COLUMNS, rows)


def read(text: str, study: str, item_names: Sequence[str]) -> list[Answered]:
    """Answers of a responses CSV; `alg_ident` and `*_object` of the older generation are known too."""
    rows = rows_of(text, ("head", "left", "right", "winner"), "Salmon")
    triplets = []
    for line, row in rows:
        head, left, right, winner = (whole(row, name, line) for name in ("head", "left", "right", "winner"))
        if winner not in (left, right):
            raise DataError(f"Line {line}: the winner {winner} is neither the left item {left} nor the right {right}.")
        score = number(row, "score", line)
        triplets.append(
            Triplet(
                head,
                winner,
                right if winner == left else left,
                row.get("question_id", ""),
                row.get("puid", ""),
                number(row, "response_time", line),
                number(row, "time_received", line) or 0.0,
                row.get("sampler") or row.get("alg_ident") or "",
                None if score == _NO_SCORE else score,
                winner == left,
            )
        )
    return answered_from(triplets, study, item_names, "salmon")
