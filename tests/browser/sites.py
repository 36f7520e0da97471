"""Studies for the browser tests, and what a test may look up behind the page's back."""

from __future__ import annotations

import io
import wave as wavfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from infonn.contracts.storage import Answered
from infonn.records import Item, ItemFile, StudyRecord
from infonn.specs.build import items_of, new_record
from infonn.storage.memory import MemoryStorage

FRUITS = ("apple", "pear", "quince", "plum", "cherry", "lemon", "lime", "orange", "grape", "fig", "kiwi", "mango")
INSTRUCTIONS = """You will see one **thing** above and a few below.

Choose the one below that is *most like* the one above. There is no right or wrong; go with what you see."""
CONSENT = """We store your answers and how long they took, and nothing that tells who you are.
You may stop at any time."""


@dataclass
class Site:
    """The running server."""

    url: str
    token: str
    storage: MemoryStorage
    made: int = 0

    def study(self, kind: str = "text", queries: dict[str, Any] | None = None, **people: Any) -> StudyRecord:
        """A new study of fruits: their names, or pictures of blobs; with `classes` in `queries`, one to label."""
        self.made += 1
        items, files = MAKERS[kind]()
        queries = {"candidates": 3, "first": 5, **(queries or {})}
        task = "labels" if "classes" in queries else "similarity"
        spec = {
            "study": {"name": f"{kind} {self.made}", "seed": self.made, "task": task},
            "queries": queries,
            "learner": {"name": "logistic" if task == "labels" else "mds"},  # quick ones
            "people": {"title": "Fruits and their likeness", **people},
        }
        angles = np.arange(len(items)) / 2
        features = np.column_stack([np.cos(angles), np.sin(angles)]) if task == "labels" else None
        record = new_record(spec, items_of([(item.name, None) for item in items], features))
        self.storage.create_study(record, items, features, files)
        return record

    def link(self, record: StudyRecord, query: str = "") -> str:
        return f"{self.url}/s/{record.key}{query}"

    def answers(self, record: StudyRecord, everything: bool = False) -> list[Answered]:
        return self.storage.answers(record.name, None, everything=everything)


def words() -> tuple[list[Item], list[ItemFile]]:
    return [Item(name) for name in FRUITS], []


def tones() -> tuple[list[Item], list[ItemFile]]:
    """Twelve short tones, from low to high."""
    items = [Item(name, audio=f"{name}.wav") for name in FRUITS]
    files = []
    for number, item in enumerate(items):
        wave = 90 * np.sin(2 * np.pi * 220 * 2 ** (number / 12) * np.arange(2000) / 8000)
        buffer = io.BytesIO()
        with wavfile.open(buffer, "wb") as sound:
            sound.setparams((1, 1, 8000, 0, "NONE", ""))
            sound.writeframes((128 + wave).astype(np.uint8).tobytes())
        files.append(ItemFile(item.audio, "audio/wav", buffer.getvalue()))
    return items, files


def blobs() -> tuple[list[Item], list[ItemFile]]:
    """Twelve pictures: round shapes in different colours and sizes."""
    items, files = [], []
    for number, name in enumerate(FRUITS):
        path = f"{name}.png"
        items.append(Item(name, image=path))
        files.append(ItemFile(path, "image/png", blob(number)))
    return items, files


def blob(number: int, side: int = 320) -> bytes:
    image = Image.new("RGB", (side, side), "#f2efe9")
    draw = ImageDraw.Draw(image)
    wide, tall = 70 + 11 * (number % 4), 60 + 9 * (number % 5)
    colour = f"hsl({number * 30}, 65%, {45 + 4 * (number % 4)}%)"
    draw.ellipse((side / 2 - wide, side / 2 - tall, side / 2 + wide, side / 2 + tall), fill=colour)
    draw.line((side / 2, side / 2 - tall, side / 2 + 22, side / 2 - tall - 34), fill="#5a4632", width=9)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


MAKERS = {"text": words, "image": blobs, "sound": tones}
