"""A study's results file: JSON lines, one per event, from which an interrupted run goes on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from warnings import warn

import numpy as np

from infonn.arrays import FloatArray
from infonn.contracts.storage import Answered
from infonn.errors import ResultsFileError, StorageError
from infonn.records import Answer, Item, Purpose, Question, Round, StudyRecord
from infonn.storage.memory import MemoryStorage

_LINE = b'{"event": "'  # so every line begins


class JsonlStorage:
    """Memory whose every change is a line in a file; opening the file again brings the memory back.

    Each line is on the disk before the call returns, so that a lost process or machine loses nothing; what could not
    be written is not in the memory either. A last line that was cut off is dropped, and said; damage elsewhere is an
    error and changes nothing. Leases and models are not kept: after a restart every unanswered question is open again.
    Of two that have the file open, the one that comes second to write is refused, so that none writes over the other.
    """

    def __init__(self, path: str | Path, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self._clock = clock
        self._memory = MemoryStorage(clock)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        self._size = 0 if is_new else self._replay()
        self._file = self.path.open("ab")
        self._file.truncate(self._size)
        if is_new:
            _sync_name(self.path)

    def close(self) -> None:
        self._file.close()

    # --- changes: first in the file ----------------------------------------------------------------

    def create_study(self, record: StudyRecord, items: Sequence[Item], features: FloatArray | None = None) -> None:
        self._memory.create_study(record, items, features)
        rows = None if features is None else features.tolist()
        kept = [item.to_json() for item in items]
        self._write({"event": "study", "study": record.to_json(), "items": kept, "features": rows})

    def add_questions(self, study: str, questions: Sequence[Question]) -> None:
        self._memory.add_questions(study, questions)
        self._write({"event": "questions", "study": study, "questions": [q.to_json() for q in questions]})

    def replace_open(self, study: str, questions: Sequence[Question]) -> None:
        before = {question.id for question in self._memory.questions(study)}
        self._memory.replace_open(study, questions)
        dropped = before - {question.id for question in self._memory.questions(study)}
        added = [question.to_json() for question in questions]
        self._write({"event": "questions", "study": study, "dropped": sorted(dropped), "questions": added})

    def add_answer(self, study: str, answer: Answer) -> Answer:
        stored = self._memory.add_answer(study, answer)
        self._write({"event": "answer", "study": study, **stored.to_json()})
        return stored

    def undo(self, study: str, answer_id: str) -> Answer:
        undone = self._memory.undo(study, answer_id)
        self._write({"event": "undo", "study": study, "answer": answer_id})
        return undone

    def exclude(self, study: str, respondent: str, excluded: bool = True) -> None:
        self._memory.exclude(study, respondent, excluded)
        self._write({"event": "exclude", "study": study, "respondent": respondent, "excluded": excluded})

    def add_round(self, study: str, round: Round) -> None:
        self._memory.add_round(study, round)
        self._write({"event": "round", "study": study, **round.to_json()})

    # --- questions to the memory -------------------------------------------------------------------

    def study(self, name: str) -> StudyRecord:
        return self._memory.study(name)

    def studies(self) -> list[StudyRecord]:
        return self._memory.studies()

    def items(self, study: str) -> list[Item]:
        return self._memory.items(study)

    def features(self, study: str) -> FloatArray | None:
        return self._memory.features(study)

    def take(self, study: str, respondent: str, n: int, lease_s: float) -> list[Question]:
        return self._memory.take(study, respondent, n, lease_s)

    def questions(self, study: str, state: Literal["open", "leased", "answered", "all"] = "all") -> list[Question]:
        return self._memory.questions(study, state)

    def question(self, study: str, question_id: str) -> Question:
        return self._memory.question(study, question_id)

    def answers(self, study: str, purpose: Purpose | None = "train") -> list[Answered]:
        return self._memory.answers(study, purpose)

    def rounds(self, study: str) -> list[Round]:
        return self._memory.rounds(study)

    def save_model(self, study: str, version: int, model: Mapping[str, Any]) -> None:
        self._memory.save_model(study, version, model)  # a model follows from the answers: not kept

    def load_model(self, study: str, version: int | None = None) -> tuple[int, Mapping[str, Any]] | None:
        return self._memory.load_model(study, version)

    def claim(self, study: str, worker: str, lease_s: float) -> bool:
        return self._memory.claim(study, worker, lease_s)

    # --- the file ----------------------------------------------------------------------------------

    def _write(self, event: Mapping[str, Any]) -> None:
        if os.fstat(self._file.fileno()).st_size != self._size:
            raise ResultsFileError(
                f"{self.path} was written to by another study that has it open, so this was not stored. Load the study "
                "again, and go on with one of them only."
            )
        line = json.dumps(event).encode() + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._go_back()
            raise StorageError(f"{self.path} cannot be written to ({error.strerror}); nothing was stored.") from error
        self._size += len(line)

    def _go_back(self) -> None:
        """Let file and memory be as they were before a line that could not be written."""
        with suppress(OSError):  # what is left of the line goes as soon as somebody closes or opens the file
            self._file.close()
        os.truncate(self.path, self._size)
        self._memory = MemoryStorage(self._clock)
        self._replay()
        self._file = self.path.open("ab")

    def _replay(self) -> int:
        """Bring the memory back; how many bytes of the file are whole lines."""
        content = self.path.read_bytes()
        keep = content.rfind(b"\n") + 1
        if keep < len(content):
            if not _LINE.startswith(content[keep : keep + len(_LINE)]):
                raise ResultsFileError(f"{self.path} is no results file; it was not changed. Use another path.")
            warn(
                f"{self.path} was cut off in its last line ({len(content) - keep} bytes); "
                "everything before it is kept, and the study goes on from there.",
                stacklevel=3,
            )
        for number, line in enumerate(content[:keep].splitlines(), start=1):
            try:
                event = json.loads(line)
                self._apply(event.pop("event"), event)
            except Exception as error:
                raise ResultsFileError(
                    f"Line {number} of {self.path} cannot be read ({error}). The file was not changed; "
                    f"repair the line, or keep the first {number - 1} lines to go on from there."
                ) from error
        return keep

    def _apply(self, kind: str, event: dict[str, Any]) -> None:
        memory = self._memory
        study = event.pop("study")
        match kind:
            case "study":
                items = [Item.from_json(item) for item in event["items"]]
                rows = event["features"]
                memory.create_study(StudyRecord.from_json(study), items, None if rows is None else np.array(rows))
            case "questions":  # one line for a batch, so that a cut-off file never holds a part of one
                memory.drop_questions(study, event.get("dropped", []))
                memory.add_questions(study, [Question.from_json(question) for question in event["questions"]])
            case "answer":
                memory.add_answer(study, Answer.from_json(event))
            case "undo":
                memory.undo(study, event["answer"])
            case "exclude":
                memory.exclude(study, event["respondent"], event["excluded"])
            case "round":
                memory.add_round(study, Round.from_json(event))
            case _:
                raise ValueError(f'unknown event "{kind}"')


def _sync_name(path: Path) -> None:
    """Wait until a new file's name is on the disk, where the system lets a folder be synced."""
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
