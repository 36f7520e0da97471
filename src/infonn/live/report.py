"""A study's report from what is stored of it: numbers, sentences and the text of a methods section."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from infonn.analysis.groups import GroupMaps
from infonn.analysis.reliability import Reliability
from infonn.arrays import FloatArray
from infonn.contracts.storage import LiveStorage
from infonn.live.results import chance_of, live_reliability, people_export
from infonn.live.status import study_status
from infonn.plots.study_report import CurvePoint, MapOf, StudyReport
from infonn.records import Round, StudyRecord
from infonn.specs.settings import check_spec

PAPER = (
    "Nadagouda, N., Xu, A., and Davenport, M. A. (2023). Active metric learning and classification using similarity "
    "queries. Proceedings of the Thirty-Ninth Conference on Uncertainty in Artificial Intelligence."
)
_USED = ("numpy", "scipy", "numba")
_FEWEST_HELD_OUT = 10  # answers from which on a point is drawn


def study_report(
    storage: LiveStorage,
    record: StudyRecord,
    *,
    embedding_plane: tuple[FloatArray, FloatArray | None] | None = None,
    reliability: Reliability | None = None,
    maps: GroupMaps | None = None,
    identities: bool = False,
) -> StudyReport:
    """Everything the page says. Without a plane and a reliability given, those that the worker left are taken."""
    spec, status = check_spec(record.spec), study_status(storage, record)
    kept = storage.load_model(record.name)
    if embedding_plane is None and kept is not None:
        embedding_plane = np.asarray(kept[1]["plane"], float), kept[1].get("spread")
    rows = people_export(storage, record, identities)
    points = _curve(storage.rounds(record.name))
    found = reliability or live_reliability(storage, record)
    title = spec["people"]["title"] or record.name
    names = [item.name for item in storage.items(record.name)]
    excluded = [row for row in rows if row["excluded"]]
    return StudyReport(
        title=title,
        made=f'Study "{record.name}", report of {time.strftime("%Y-%m-%d %H:%M", time.gmtime())} UTC by infonn '
        f"{_version('infonn')}.",
        summary=[
            ("Items", f"{len(names):,}"),
            ("People", f"{len(rows) - len(excluded):,}"),
            ("Answers that trained", f"{status.answers['train']:,}"),
            ("Hold-out answers", f"{status.answers['hold_out']:,}"),
            ("Skipped or cannot tell", f"{status.skipped + status.cannot_tell:,}"),
            ("Accuracy", f"{100 * points[-1].accuracy:.0f} %" if points else "–"),
            ("First answer", _day(rows, "first_answer_at", min)),
            ("Last answer", _day(rows, "last_answer_at", max)),
        ],
        item_names=names,
        map=None if embedding_plane is None else MapOf("Map of the items", *embedding_plane),
        map_text=_map_text(embedding_plane),
        group_maps=[] if maps is None else _group_maps(maps),
        group_text="" if maps is None else maps.sentence,
        curve=points,
        curve_text=_curve_text(points),
        chance=chance_of(spec["queries"]),
        findings=[(finding.title, finding.sentence) for finding in found.findings.values()],
        people=_people(rows),
        people_text=_people_text(rows, excluded),
        methods=_methods(spec, len(names), rows, status.answers),
        cite=(f"infonn {_version('infonn')} (software).", PAPER),
    )


# --- numbers ---------------------------------------------------------------------------------------------------


def _curve(rounds: Sequence[Round]) -> list[CurvePoint]:
    """One point for each number of answers: the last one measured."""
    points = {}
    for round in rounds:
        told = round.measures
        if told.get("n_hold_out", 0) >= _FEWEST_HELD_OUT:
            shares = (told[f"hold_out_{what}"] for what in ("accuracy", "low", "high"))
            points[round.n_answers] = CurvePoint(round.n_answers, *shares)
    return [points[n] for n in sorted(points)]


def _group_maps(maps: GroupMaps) -> list[MapOf]:
    return [
        MapOf(f"{group.name}: {group.n_answers:,} answers of {group.n_people:,} people", group.points)
        for group in maps.groups
    ]


def _day(rows: Sequence[Mapping[str, Any]], key: str, of: Any) -> str:
    days = [row[key] for row in rows if row[key]]
    return of(days)[:10] if days else "–"


_COLUMNS = {
    "Person": "respondent",
    "Condition": "condition",
    "Device": "device",
    "Answers": "answered",
    "Skipped": "skipped",
    "Median time": "median_response_time_s",
    "Catch right": "catch_right",
    "of": "catch_asked",
    "With others": "agreement_with_others",
    "With oneself": "agreement_with_oneself",
    "Left out": "excluded_why",
}


def _people(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The table of people: columns that say something for somebody."""
    if not rows:
        return []
    shown = {
        title: key
        for title, key in _COLUMNS.items()
        if any(row[key] or (key == "excluded_why" and row["excluded"]) for row in rows)
    }
    return [list(shown), *([_told(row, key) for key in shown.values()] for row in rows)]


def _told(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if key == "excluded_why":
        return (value or "yes") if row["excluded"] else ""
    if value is None:
        return "–"
    if key == "median_response_time_s":
        return f"{value:.1f} s"
    return f"{100 * value:.0f} %" if key.startswith("agreement") else str(value)


# --- sentences -------------------------------------------------------------------------------------------------


def _map_text(plane: tuple[FloatArray, FloatArray | None] | None) -> str:
    if plane is None:
        return ""
    halo = "" if plane[1] is None else " A halo shows how uncertain a place is."
    return f"The two directions with the most spread; distances matter, directions do not.{halo}"


def _curve_text(points: Sequence[CurvePoint]) -> str:
    if not points:
        return f"Not known yet: from {_FEWEST_HELD_OUT} answers to hold-out questions on, which never train the model."
    last = points[-1]
    return (
        f"After {last.n_answers:,} answers the model foresees {100 * last.accuracy:.0f} % of the hold-out answers (95 "
        f"% interval {100 * last.low:.0f} to {100 * last.high:.0f} %), which never train it."
    )


def _people_text(rows: Sequence[Mapping[str, Any]], excluded: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "Nobody has taken part yet."
    consented = sum(row["consented_at"] is not None for row in rows)
    reasons = sorted({row["excluded_why"] for row in excluded if row["excluded_why"]})
    why = f" ({'; '.join(reasons)})" if reasons else ""
    left_out = f" Left out of the model: {len(excluded):,}{why}." if excluded else ""
    agreed = f" {consented} agreed to a consent text." if consented else ""
    return f"{len(rows):,} people took part.{agreed}{left_out}"


def _methods(
    spec: Mapping[str, Any],
    n_items: int,
    rows: Sequence[Mapping[str, Any]],
    answers: Mapping[str, int],
) -> list[str]:
    """The text of a methods section, to be copied and changed."""
    queries, people = spec["queries"], spec["people"]
    n = queries["candidates"]
    asked = {
        "nearest": f"which of {n} candidates is most like a reference",
        "ranking": f"to order {n} candidates by their likeness to a reference",
        "odd_one_out": f"which of {n + 1} items is least like the others",
        "label": f"to which of {len(queries['classes'])} classes an item belongs",
    }[queries["kind"]]
    took_part = [row for row in rows if not row["excluded"]]
    times = [row["median_response_time_s"] for row in took_part if row["median_response_time_s"] is not None]
    pace = f" The median of people’s median response times was {np.median(times):.1f} s." if times else ""
    catch = sum(row["catch_asked"] for row in took_part)
    caught = sum(row["catch_right"] for row in took_part)
    checks = f" {caught} of {catch} catch questions were answered as expected." if catch else ""
    learner, strategy = spec["learner"]["name"], spec["strategy"]["name"]
    texts = [
        f"{len(took_part):,} people judged {n_items:,} items. Each question asked {asked}"
        f"{'' if queries['kind'] == 'label' else ', in a random order on the screen'}. {answers['train']:,} answers "
        f"trained the model; {answers['hold_out']:,} answers to random questions were held out and only measure it."
        f"{pace}{checks}",
        f"The first {queries['first']} questions were random; later ones were chosen to tell the model most (strategy "
        f'"{strategy}", learner "{learner}"). The model is a fit of the stored answers alone, with seed '
        f"{spec['study']['seed']}: the same answers give the same model.",
        "Accuracies have Wilson’s 95 % interval. Agreement and the noise ceiling have bootstrap intervals over people "
        "(over questions with fewer than five people); the ceiling lies between leave-one-out majority and the smaller "
        "of own-vote majority and the root of pairwise agreement. Alpha is Krippendorff’s for nominal data, with a "
        "bootstrap over questions. Split-half reliability is the rank correlation of distances in maps of two halves, "
        "corrected by Spearman and Brown.",
        f"Software: infonn {_version('infonn')} ({', '.join(f'{name} {_version(name)}' for name in _USED)}).",
    ]
    if people["overlap"] > 1:
        texts[0] += f" {people['overlap']} people were asked each question."
    return texts


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(unknown version)"
