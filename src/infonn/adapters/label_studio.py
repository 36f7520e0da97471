"""An ML backend for Label Studio: it learns as people label, and tells the server which tasks to show first.

Label Studio sorts tasks by the score of their prediction, lowest first; the score here is the place of the item in
the order in which the strategy wants labels, from 0 to 1, and 1 for what has one.
"""

from __future__ import annotations

import json
import logging
import threading
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import Body, FastAPI
from fastapi.responses import JSONResponse

from infonn.arrays import FloatArray
from infonn.beliefs import Belief
from infonn.datasets.images import pixel_features, read_pictures
from infonn.datasets.items import ItemSet
from infonn.errors import DataError, InfonnError
from infonn.formats.label_studio import Choices, chosen_label, item_of, label_of, prediction, read_config
from infonn.formats.labels import read_labels, write_table
from infonn.loop import FIT, SELECT, Loop, live_rng
from infonn.queries import Answers
from infonn.selection.class_predictions import point_log_probs
from infonn.specs.registry import CLASS_LEARNERS, CLASS_STRATEGIES, DEFAULT_LEARNERS, build_part
from infonn.tasks.labels import LabelTask

log = logging.getLogger(__name__)

CHOSEN_FIRST = 100  # items that the strategy picks as a batch; the rest follow by their scores


@dataclass
class Labelling:
    """What is known of the items: labels, a belief fitted to them, and the order in which to ask for more.

    Labels are kept in `file`, a CSV with `item` and `label` as `infonn label` writes it.
    """

    items: ItemSet
    file: Path
    strategy: str = "info_nn"
    seed: int = 0
    choices: Choices | None = None
    labels: dict[int, str] = field(default_factory=dict)
    _order: tuple[int, FloatArray, list[str | None]] | None = None  # labels seen, scores, expected classes
    n_changes: int = 0  # of the labels, since the start
    predicted: str = ""  # version of the last predictions
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.features = item_features(self.items)
        self.item_at = {name: index for index, name in enumerate(self.items.names)}

    @property
    def version(self) -> str:
        """Names what the model has seen; Label Studio asks for predictions anew when it changes."""
        return f"infonn-{self.n_changes}"

    def set_up(self, config: str) -> None:
        """Take the classes from the project; labels of an earlier run are read again."""
        with self._lock:
            choices = read_config(config)
            if choices == self.choices:
                return
            self.choices, self._order = choices, None
            if self.file.is_file() and not self.labels:
                kept = read_labels(self.file, self.items.names, choices.classes)
                self.labels = {item: choices.classes[label] for item, label in kept.items()}
                self.n_changes = len(self.labels)

    def learn(self, labels: Mapping[int, str | None]) -> None:
        """Take in labels by item; None takes one back."""
        with self._lock:
            before = dict(self.labels)
            for item, label in labels.items():
                if label is None:
                    self.labels.pop(item, None)
                else:
                    self.labels[item] = label
            if self.labels != before:
                self.n_changes += 1
                rows = [[self.items.names[item], label] for item, label in sorted(self.labels.items())]
                self.file.parent.mkdir(parents=True, exist_ok=True)
                write_table(self.file, ["item", "label"], rows)

    def predict(self, tasks: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """A prediction for every task; a task that shows no known item comes last."""
        with self._lock:
            if self.choices is None:
                raise DataError("No project is connected yet: Label Studio sends its labelling config to /setup.")
            if self._order is None or self._order[0] != self.n_changes:
                self._order = (self.n_changes, *self._fitted(self.choices.classes))
            _, scores, expected = self._order
            self.predicted = self.version
            found = [item_of(task, self.item_at) for task in tasks]
            return [
                prediction(self.choices, None if item is None else expected[item], _score(item, scores), self.version)
                for item in found
            ]

    def _fitted(self, classes: tuple[str, ...]) -> tuple[FloatArray, list[str | None]]:
        known = {item: classes.index(label) for item, label in self.labels.items() if label in classes}
        task = LabelTask(len(self.items), classes)
        queries = np.full((len(known), 1 + task.n_nearest), -1, np.int32)
        queries[:, 0] = sorted(known)
        answers = Answers(queries, np.array([known[item] for item in sorted(known)], np.int32), "label")
        context = {"features": self.features, "n_items": len(self.items), "n_classes": len(classes), "kind": "label"}
        learner = build_part("Learner", CLASS_LEARNERS, DEFAULT_LEARNERS["labels", True], {}, context)
        several = len(set(known.values())) > 1
        strategy = build_part("Strategy", CLASS_STRATEGIES, self.strategy if several else "typicality", {}, context)
        loop = Loop(task, learner, strategy, "label")
        belief = loop.fit(answers, live_rng(self.seed, FIT, len(answers)))
        pool, rows, utilities = loop.ranked(belief, answers, CHOSEN_FIRST, live_rng(self.seed, SELECT, len(answers)))
        scores = _places(pool[:, 0], rows, utilities, len(self.items))
        return scores, _expected(belief, classes) if several else [None] * len(self.items)


def item_features(items: ItemSet) -> FloatArray:
    """The features given; else the pixels of the pictures."""
    if items.features is not None:
        return items.features
    if items.folder is None or any(item.image is None for item in items.items):
        raise DataError("These items have neither features nor pictures. Give --features, one row per item.")
    return pixel_features(read_pictures([items.folder / str(item.image) for item in items.items]))


def _places(items: Any, chosen: Any, utilities: FloatArray, n_items: int) -> FloatArray:
    """Where each item stands in the order of asking, from 0 up to 1; what has a label stands at 1."""
    rest = np.setdiff1d(np.arange(len(items)), chosen)
    order = np.concatenate([chosen, rest[np.argsort(-utilities[rest], kind="stable")]])
    scores = np.ones(n_items)
    scores[items[order]] = np.arange(len(order)) / max(1, len(order))
    return scores


def _expected(belief: Belief, classes: tuple[str, ...]) -> list[str | None]:
    return [classes[best] for best in point_log_probs(belief, np.arange(len(belief.embedding))).argmax(axis=1)]


def _score(item: int | None, scores: FloatArray) -> float:
    return 1.0 if item is None else float(scores[item])


# --- the server, told to look again ------------------------------------------------------------------


@dataclass
class Server:
    """Label Studio itself, for a backend that may tell it to fetch predictions anew and to sort by them.

    The server sorts by predictions of the version that its project names, and fetches them when it is told to. With
    every `every`-th change of the labels this does both, in a thread, so that nobody who labels waits for it.
    """

    url: str
    token: str
    every: int = 5
    _seen: int = 0
    _busy: threading.Lock = field(default_factory=threading.Lock)

    def changed(self, project: int, labelling: Labelling) -> None:
        """Look again in a thread of its own, unless one is at it or too little has changed."""
        if labelling.n_changes - self._seen >= self.every and self._busy.acquire(blocking=False):
            self._seen = labelling.n_changes
            threading.Thread(target=self._look_again, args=(project, labelling), daemon=True).start()

    def _look_again(self, project: int, labelling: Labelling) -> None:
        try:
            self.refresh(project, labelling)
        except (OSError, ValueError) as error:
            log.warning("Label Studio at %s could not be told of version %s: %s", self.url, labelling.version, error)
        finally:
            self._busy.release()

    def refresh(self, project: int, labelling: Labelling) -> None:
        """Fetch the predictions of this project anew, then sort by them."""
        selected = {"selectedItems": {"all": True, "excluded": []}, "project": project}
        self._send("POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", selected)
        self._send("PATCH", f"/api/projects/{project}/", {"model_version": labelling.predicted})

    def _send(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        headers = {"Authorization": f"Token {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            self.url.rstrip("/") + path, json.dumps(body).encode(), headers=headers, method=method
        )
        with urllib.request.urlopen(request, timeout=100):
            pass


# --- HTTP ------------------------------------------------------------------------------------------


def create_app(labelling: Labelling, server: Server | None = None) -> FastAPI:
    """The endpoints that Label Studio calls; `server` is it, where we may call back."""
    app = FastAPI(title="infonn for Label Studio", docs_url=None, redoc_url=None)
    Body_ = Body(default_factory=dict)

    @app.exception_handler(InfonnError)
    def refuse(_: Any, error: InfonnError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=400)

    @app.get("/")
    @app.get("/health")
    def health() -> dict[str, Any]:
        return {"status": "UP", "model_class": "infonn"}

    @app.post("/setup")
    def setup(body: dict[str, Any] = Body_) -> dict[str, Any]:
        labelling.set_up(str(body.get("schema", "")))
        return {"model_version": labelling.version}

    @app.post("/predict")
    def predict(body: dict[str, Any] = Body_) -> dict[str, Any]:
        if body.get("label_config"):
            labelling.set_up(str(body["label_config"]))
        return {"results": labelling.predict(list(body.get("tasks") or [])), "model_version": labelling.version}

    @app.post("/webhook")
    def webhook(body: dict[str, Any] = Body_) -> dict[str, Any]:
        item = item_of(body.get("task") or {}, labelling.item_at)
        if item is not None and body.get("action") in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
            labelling.learn({item: chosen_label(body.get("annotation") or {})})
            project = (body.get("project") or {}).get("id")
            if server is not None and isinstance(project, int):
                server.changed(project, labelling)
        return {"model_version": labelling.version}

    @app.post("/train")
    def train(body: dict[str, Any] = Body_) -> dict[str, Any]:
        if body.get("label_config"):
            labelling.set_up(str(body["label_config"]))
        labels = {item_of(task, labelling.item_at): label_of(task) for task in body.get("annotations") or []}
        labelling.learn({item: label for item, label in labels.items() if item is not None})
        return {"job": labelling.version, "model_version": labelling.version}

    @app.get("/versions")
    def versions() -> dict[str, Any]:
        return {"versions": [labelling.version]}

    return app
