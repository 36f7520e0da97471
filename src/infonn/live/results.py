"""What came of a study that people answered: its people as a table, and how far it can be trusted."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import factorial
from typing import Any

from infonn.analysis.reliability import Finding, Halves, Reliability, judged_of, reliability_of, told_split_half
from infonn.contracts.storage import Answered, LiveStorage
from infonn.formats.csv import csv_text, reference_and_candidates
from infonn.live.people import PersonOut, people_table
from infonn.maths.reliability import pairs_of
from infonn.records import Act, Respondent, Round, StudyRecord

EXCLUDE = "exclude"  # what the audit log calls it when somebody is left out, or taken back
SPLIT_HALF = "split_half"  # measures of a round: what the worker found when it halved the answers
WITHHELD = ("outside_id", "details", "excluded_by")  # columns that tell who people and owners are

# --- people ----------------------------------------------------------------------------------------------------


def people_export(storage: LiveStorage, record: StudyRecord, identities: bool = True) -> list[dict[str, Any]]:
    """One row for each person, who they are included where `identities`; times are UTC, as text."""
    name = record.name
    everything = storage.answers(name, None, everything=True)
    kept = storage.load_model(name)
    losses = {} if kept is None else kept[1].get("people", {})
    details, texts = storage.details(name), storage.consent_texts(name)
    respondents = storage.respondents(name)
    why = exclusions(storage, name)
    of_person: dict[str, list[Answered]] = defaultdict(list)
    for pair in everything:
        of_person[pair.answer.respondent].append(pair)
    rows = []
    for person, told in zip(respondents, people_table(respondents, everything, details, losses)):
        row = _row(person, told, of_person[person.name], texts, why.get(person.name))
        rows.append({key: value for key, value in row.items() if identities or key not in WITHHELD})
    return rows


def people_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The rows as a table; lists and objects are JSON in their cells."""
    columns = list(rows[0]) if rows else ["respondent"]
    cells = ([_cell(row[column]) for column in columns] for row in rows)
    return csv_text(columns, cells).encode(errors="replace")


def exclusions(storage: LiveStorage, study: str) -> dict[str, Act]:
    """The last act that left a person out or took them back, by person; `details` say why."""
    found, after = {}, 0
    while acts := storage.acts(study, after):
        for act in acts:
            if act.what == EXCLUDE and "respondent" in act.details:
                found[str(act.details["respondent"])] = act
        after = acts[-1].number
    return found


def _row(
    person: Respondent, told: PersonOut, pairs: Sequence[Answered], texts: Mapping[int, str], act: Act | None
) -> dict[str, Any]:
    in_force = [pair for pair in pairs if not pair.answer.undone]
    answered = [pair for pair in in_force if pair.question.purpose != "practice"]
    times = [pair.answer.response_time_s for pair in answered if pair.answer.response_time_s is not None]
    again, of_again = _with_oneself(answered)
    excluded = act if person.excluded else None
    outside = told.details.get("outside_id")
    extra = {key: value for key, value in told.details.items() if key != "outside_id"}
    return {
        "respondent": person.name,
        "outside_id": outside,
        "joined_at": date(person.joined_at),
        "seen_at": date(person.seen_at),
        "consented_at": date(person.consented_at),
        "consent_version": person.consent_version,
        "consent_text": None if person.consent_version is None else texts.get(person.consent_version),
        "condition": person.condition or _most_often(pairs, "condition"),
        "device": _most_often(pairs, "device"),
        "answered": told.answered,
        "skipped": told.skipped,
        "cannot_tell": told.cannot_tell,
        "late": told.late,
        "undone": len(pairs) - len(in_force),
        "first_answer_at": date(min((pair.answer.received_at for pair in in_force), default=None)),
        "last_answer_at": date(max((pair.answer.received_at for pair in in_force), default=None)),
        "median_response_time_s": told.median_response_time_s,
        "total_response_time_s": sum(times) if times else None,
        "fast_share": told.fast_share,
        "catch_asked": told.catch_asked,
        "catch_right": told.catch_right,
        "catch_results": [_catch(pair) for pair in answered if pair.question.purpose == "catch"],
        "agreement_with_others": told.agreement,
        "agreement_with_others_of": told.agreement_of,
        "agreement_with_oneself": again,
        "agreement_with_oneself_of": of_again,
        "position_bias": told.position_bias,
        "log_loss": told.log_loss,
        "about": dict(person.about),
        "excluded": person.excluded,
        "excluded_at": None if excluded is None else date(excluded.at),
        "excluded_by": None if excluded is None else excluded.who,
        "excluded_why": None if excluded is None else excluded.details.get("why") or None,
        "details": extra,
    }


def _catch(pair: Answered) -> dict[str, Any]:
    question, answer = pair.question, pair.answer
    reference, candidates = reference_and_candidates(question)
    label = None if answer.response is None else question.options[answer.response].label
    return {
        "reference": reference,
        "candidates": candidates,
        "chosen": label,
        "expected": None if question.expected is None else question.options[question.expected].label,
        "right": answer.response == question.expected,
        "response_time_s": answer.response_time_s,
    }


def _most_often(pairs: Iterable[Answered], key: str) -> str | None:
    """What a person's answers mostly say under a key of their context."""
    said = Counter(str(pair.answer.context[key]) for pair in pairs if key in pair.answer.context)
    return said.most_common(1)[0][0] if said else None


def _with_oneself(pairs: Sequence[Answered]) -> tuple[float | None, int]:
    """How often one person's answers to the same question are the same, and of how many pairs."""
    found = pairs_of(judged_of(pairs)[0])
    return (float(found.same.mean()), len(found)) if len(found) else (None, 0)


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def date(at: float | None) -> str | None:
    """Seconds since 1970 as people and programs read them: 2026-01-31T12:00:00Z."""
    return None if not at else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def chance_of(queries: Mapping[str, Any]) -> float:
    """Accuracy of a guess, by the [queries] table."""
    candidates = queries["candidates"]
    n = {"label": len(queries["classes"]), "ranking": factorial(candidates), "odd_one_out": candidates + 1}
    return 1 / max(1, n.get(queries["kind"], candidates))


# --- reliability -----------------------------------------------------------------------------------------------


def live_reliability(storage: LiveStorage, record: StudyRecord) -> Reliability:
    """How far a study can be trusted, by its answers and what the worker found when it last halved them."""
    answered = storage.answers(record.name, None)
    return reliability_of(answered, _last_split_half(storage.rounds(record.name)), record.seed)


def _last_split_half(rounds: Sequence[Round]) -> Finding:
    last = next((round.measures for round in reversed(rounds) if SPLIT_HALF in round.measures), None)
    if last is None:
        return Finding(
            "Split-half reliability of the map", "Not known yet: the worker halves the answers once there are enough."
        )
    low, high = last[f"{SPLIT_HALF}_low"], last[f"{SPLIT_HALF}_high"]
    by = "people" if last[f"{SPLIT_HALF}_by_people"] else "questions"
    return told_split_half(Halves(last[SPLIT_HALF], low, high, int(last[f"{SPLIT_HALF}_splits"]), by))


def split_half_measures(halves: Halves) -> dict[str, float]:
    """What is kept of it with a round."""
    return {
        SPLIT_HALF: halves.middle,
        f"{SPLIT_HALF}_low": halves.least,
        f"{SPLIT_HALF}_high": halves.most,
        f"{SPLIT_HALF}_splits": float(halves.n_splits),
        f"{SPLIT_HALF}_by_people": float(halves.by == "people"),
    }
