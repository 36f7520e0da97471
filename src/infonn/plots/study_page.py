"""A study as one self-contained page: learning curves, the map as it forms, what was asked."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.maths.distances import pairwise_distances
from infonn.plots.maps import project
from infonn.records import Question

WIDTH, HEIGHT, MARGIN = 1000, 700, 60


@dataclass(frozen=True)
class Snapshot:
    """Where the items were after so many answers."""

    n_answers: int
    embedding: FloatArray


@dataclass(frozen=True)
class AskedQuestion:
    """A question and the option that was chosen."""

    question: Question
    response: int


def write_report(
    path: Path,
    *,
    title: str,
    lead: str,
    numbers: Sequence[tuple[str, str, bool]],  # value, what it is, whether it is the active one
    curves: Path,
    texts: dict[str, str],  # curves_text, map_text, questions_text, footer
    names: Sequence[str],
    snapshots: Sequence[Snapshot],
    questions: Sequence[AskedQuestion],
) -> None:
    """Write the page; it needs no other file and no network."""
    rounds = [
        {
            "answers": snapshot.n_answers,
            "points": points.round(1).tolist(),
            "near": nearest(snapshot.embedding).tolist(),
        }
        for snapshot, points in zip(snapshots, on_one_page([snapshot.embedding for snapshot in snapshots]))
    ]
    picture = base64.b64encode(curves.read_bytes()).decode()
    escaped = {key: html.escape(text) for key, text in {"title": title, "lead": lead, **texts}.items()}
    page = Template(Path(__file__).with_name("study_page.html").read_text(encoding="utf-8")).substitute(
        **escaped,
        numbers="".join(_number(*number) for number in numbers),
        curves=f"data:image/svg+xml;base64,{picture}",
        questions="".join(_question(asked) for asked in questions),
        data=json.dumps({"names": list(names), "rounds": rounds}).replace("<", "\\u003c"),
    )
    path.write_text(page, encoding="utf-8")


def on_one_page(embeddings: Sequence[FloatArray]) -> list[FloatArray]:
    """Each embedding in two dimensions, turned to lie like the last one, and scaled to the page."""
    flat = [project(embedding, "pca") for embedding in embeddings]
    target = flat[-1]
    turned = []
    for points in flat:
        left, stretch, right = np.linalg.svd(points.T @ target)
        scale = stretch.sum() / max((points**2).sum(), 1e-12)
        turned.append(scale * points @ (left @ right))
    low = np.quantile(np.vstack(turned), 0.002, axis=0)
    high = np.quantile(np.vstack(turned), 0.998, axis=0)
    room = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    placed = [MARGIN + (points - low) / np.maximum(high - low, 1e-12) * room for points in turned]
    return [np.clip(points, 12, [WIDTH - 12, HEIGHT - 12]) for points in placed]


def nearest(embedding: FloatArray, n: int = 4) -> IntArray:
    """The `n` nearest items of each."""
    distances = pairwise_distances(embedding)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1)[:, :n]


def _number(value: str, what: str, active: bool) -> str:
    kind = "number active" if active else "number"
    return f'<div class="{kind}"><b>{html.escape(value)}</b>{html.escape(what)}</div>'


def _question(asked: AskedQuestion) -> str:
    question = asked.question
    marks = ["class=chosen" if i == asked.response else "" for i in range(len(question.options))]
    options = "".join(f"<li {mark}>{html.escape(option.label)}</li>" for mark, option in zip(marks, question.options))
    told = f"expected to tell {question.score:.2f} nats" if question.score is not None else "drawn at random"
    reference = html.escape(question.names[0])
    return f'<div class="question"><p>{reference}</p><ol>{options}</ol><small>{told}</small></div>'
