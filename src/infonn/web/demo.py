"""Two ready studies to look at, and simulated people who answer them."""

from __future__ import annotations

import heapq
import io
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.storage import LiveStorage
from infonn.datasets.items import ItemSet
from infonn.errors import InfonnError
from infonn.live.studies import LiveStudies
from infonn.records import Answer, Item, ItemFile, Question, StudyRecord
from infonn.specs.build import new_record

Judge = Callable[[Question, Generator], int]  # what a person would answer
DIGITS = 500
_SIDE = 96  # pixels of a digit's picture
_CARELESS = 9  # one person in so many answers without looking


@dataclass(frozen=True)
class Demo:
    """A study and the judgement of those who would answer it."""

    record: StudyRecord
    judge: Judge


def add_demos(storage: LiveStorage) -> list[Demo]:
    """The 73 dishes, and handwritten digits to label; a demo that is there already goes on."""
    return [_dishes(storage), _digits(storage)]


# --- the studies -----------------------------------------------------------------------------------


def _dishes(storage: LiveStorage) -> Demo:
    from infonn.datasets.food import TASTES, food73

    food = food73()
    highest = food.tastes.max()
    texts = [
        "\n".join(f"{taste}: {100 * share / highest:.0f} %" for taste, share in zip(TASTES, row)) for row in food.tastes
    ]
    seen: dict[str, int] = {}
    items = []
    for name, text in zip(food.names, texts):
        seen[name] = seen.get(name, 0) + 1
        items.append(Item(name if seen[name] == 1 else f"{name} ({seen[name]})", text))
    spec = {
        "study": {"name": "Dishes"},
        "queries": {"candidates": 3, "first": 30},
        "budget": {"answers": 800},
        "people": {
            "title": "Which dishes taste alike?",
            "question": "Which of these tastes most like the dish above?",
            "instructions": "You will see one dish above and three below. Choose the one below that would **taste most "
            "like** the one above.\n\nThe bars show how salty, savory, sour, bitter, sweet and spicy a dish is.",
            "thanks": "You have helped to draw a map of 73 dishes.",
            "hold_out": 0.12,
            "at_random": 0.2,  # so that the dashboard shows what choosing questions is worth
            "practice": [
                {
                    "reference": "Rainbow Fruit Skewers with Yogurt Fruit Dip",
                    "candidates": ["Black Raspberry Sorbet", "Irish Lamb Stew with a Twist", "Spicy Zucchini Soup"],
                    "expected": "Black Raspberry Sorbet",
                }
            ],
        },
    }
    record = _add(storage, spec, ItemSet(tuple(items), np.array(food.tastes)), [])
    return Demo(record, _by_distance(_two_strongest(food.tastes)))


def _digits(storage: LiveStorage) -> Demo:
    from infonn.datasets.images import DIGITS as CLASSES
    from infonn.datasets.images import digits

    pictures = digits()
    images, labels = pictures.images[:DIGITS], pictures.labels[:DIGITS]
    items = tuple(Item(f"digit {i:03d}", image=f"{i:03d}.png") for i in range(len(images)))
    files = [ItemFile(f"{i:03d}.png", "image/png", _png(image)) for i, image in enumerate(images)]
    features = images.reshape(len(images), -1) / max(1, int(images.max()))
    spec = {
        "study": {"name": "Digits", "task": "labels"},
        "queries": {"candidates": 10, "classes": list(CLASSES), "first": 15},
        "budget": {"answers": 400},
        "people": {
            "title": "Handwritten digits",
            "question": "Which digit is this?",
            "instructions": "You will see a handwritten digit. Choose what it is. Below each choice stands the digit "
            "of that kind which looks **most like** yours, as far as we know by now.",
            "hold_out": 0.2,
        },
    }
    record = _add(storage, spec, ItemSet(items, features), files)
    return Demo(record, _by_class(labels))


def _png(image: IntArray) -> bytes:
    from PIL import Image

    dark = 255 - (np.pad(np.asarray(image, float), 1) * 255 / max(1, int(image.max()))).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(dark).resize((_SIDE, _SIDE), Image.Resampling.BICUBIC).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _add(storage: LiveStorage, spec: Mapping[str, Any], items: ItemSet, files: list[ItemFile]) -> StudyRecord:
    record = new_record(spec, items)
    existing = {found.name: found for found in storage.studies()}
    if record.name not in existing:
        storage.create_study(record, items.items, items.features, files)
    return existing.get(record.name, record)


# --- the people ------------------------------------------------------------------------------------


def _two_strongest(tastes: FloatArray) -> FloatArray:
    """The two directions in which dishes differ most: what our simulated people taste."""
    left, scales, _ = np.linalg.svd(tastes - tastes.mean(axis=0), full_matrices=False)
    strongest: FloatArray = (left * scales)[:, :2]
    return strongest


def _by_distance(truth: FloatArray, noise: float = 0.03) -> Judge:
    """Likelier the nearer, as the response model has it."""

    def judge(question: Question, rng: Generator) -> int:
        items = [option.item or 0 for option in question.options]
        squared = ((truth[items] - truth[question.query[0]]) ** 2).sum(axis=1)
        weights = (squared + noise**2) ** -3.5
        return int(rng.choice(len(items), p=weights / weights.sum()))

    return judge


def _by_class(labels: IntArray, wrong: float = 0.03) -> Judge:
    def judge(question: Question, rng: Generator) -> int:
        if rng.random() < wrong:
            return int(rng.integers(len(question.options)))
        return int(labels[question.query[0]])

    return judge


class Crowd:
    """People who come, answer at their own pace, and some day leave for others; one of them does not look."""

    def __init__(self, storage: LiveStorage, demos: list[Demo], n_people: int, seed: int = 0) -> None:
        self._storage, self._demos = storage, demos
        self._studies = LiveStudies(storage)
        self._rng = np.random.default_rng(seed)
        self._n_people = n_people

    def run(self, stop: threading.Event) -> None:
        """Answer until `stop` is set or the studies want no more; nobody comes before there are questions."""
        for demo in self._demos:
            while not self._storage.queue_depth(demo.record.name):
                if stop.wait(0.2):
                    return
        now = 0.0
        queue = [(float(self._rng.uniform(0, 3)), number, self._arrive(number)) for number in range(self._n_people)]
        heapq.heapify(queue)
        while queue and not stop.is_set():
            due, number, (demo, name) = heapq.heappop(queue)
            if stop.wait(max(0.0, due - now)):
                return
            now = max(now, due)
            careless = number % _CARELESS == _CARELESS - 1
            seconds = float(self._rng.lognormal(np.log(2.5 if careless else 4.0), 0.15 if careless else 0.5))
            try:
                goes_on = self._answer(demo, name, seconds, careless)
            except InfonnError:
                goes_on = True  # somebody ended the study, or the storage is busy: try again later
            if goes_on:
                heapq.heappush(queue, (now + seconds, number, (demo, name)))

    def _arrive(self, number: int) -> tuple[Demo, str]:
        demo = self._demos[number % len(self._demos)]
        person = self._storage.join(
            demo.record.name, f"simulated {number + 1}", {"participant": f"simulated {number + 1}"}
        )
        return demo, person.name

    def _answer(self, demo: Demo, name: str, seconds: float, careless: bool) -> bool:
        study = self._studies.by_key(demo.record.key)
        if study is None:
            return False
        held = self._storage.serve(study.record.name, name, 1, study.serving)
        if not held:
            return False
        question = held[0]
        response = question.shown[0] if careless else demo.judge(question, self._rng)
        tells = careless or self._rng.random() > 0.02
        given = Answer(
            id=secrets.token_hex(16),
            question_id=question.id,
            respondent=name,
            response=response if tells else None,
            outcome="answered" if tells else "cannot_tell",
            response_time_s=seconds,
            context={"simulated": True},
        )
        self._storage.exchange(study.record.name, given, 1, study.serving)
        return True
