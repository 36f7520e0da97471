"""Curves of learners that infonn no longer has, kept as they were run, to stand beside those of today."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from infonn.experiments.trial import Curve, Probe


@lru_cache
def curves_of(experiment: str) -> tuple[Curve, ...]:
    """What is kept in `<experiment>_earlier.json`; every curve's settings have its `version`."""
    kept = json.loads(Path(__file__).with_name(f"{experiment}_earlier.json").read_text(encoding="utf-8"))
    return tuple(Curve.from_json(curve) for curve in kept)


def probes_of(experiment: str, data: str, trial: int, seed: int, counts: Collection[int] | None = None) -> list[Probe]:
    """The kept curves of a trial, as if they were run; those points whose answers are in `counts`, where given."""
    kept = [curve for curve in curves_of(experiment) if (curve.settings["data"], curve.seed) == (data, seed)]
    return [_again(curve, trial, counts) for curve in kept]


def _again(curve: Curve, trial: int, counts: Collection[int] | None) -> Probe:
    rows = [row for row, n in enumerate(curve.queries) if counts is None or n in counts]
    points = [curve.queries[row] for row in rows], [curve.triplets[row] for row in rows]
    measures = {name: [values[row] for row in rows] for name, values in curve.measures.items()}
    return Probe(curve.method, curve.learner, curve.settings, trial, curve.seed, lambda: (*points, measures))
