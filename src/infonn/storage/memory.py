"""Studies kept in memory: for simulations and tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, Literal

from infonn.arrays import FloatArray
from infonn.errors import AlreadyAnsweredError, StudyError, UnknownQuestionError
from infonn.framework import Answered
from infonn.records import Answer, Item, Purpose, Question, Round, StudyRecord


@dataclass
class _Study:
    record: StudyRecord
    items: list[Item]
    features: FloatArray | None
    questions: dict[str, Question] = field(default_factory=dict)
    leases: dict[str, tuple[str, float]] = field(default_factory=dict)  # question -> respondent, end
    answers: dict[str, Answer] = field(default_factory=dict)
    answer_of: dict[str, str] = field(default_factory=dict)  # question -> answer id
    excluded: set[str] = field(default_factory=set)
    rounds: list[Round] = field(default_factory=list)
    models: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    claim: tuple[str, float] = ("", 0.0)


class MemoryStorage:
    """One process, no file. Every method takes the lock, so threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._studies: dict[str, _Study] = {}
        self._lock = RLock()
        self._clock = clock

    def create_study(self, record: StudyRecord, items: Sequence[Item], features: FloatArray | None = None) -> None:
        with self._lock:
            if record.name in self._studies:
                raise StudyError(f'Study "{record.name}" exists already. Load it with load_if_exists=True.')
            self._studies[record.name] = _Study(record, list(items), features)

    def study(self, name: str) -> StudyRecord:
        return self._get(name).record

    def studies(self) -> list[StudyRecord]:
        with self._lock:
            return [study.record for study in self._studies.values()]

    def items(self, study: str) -> list[Item]:
        return list(self._get(study).items)

    def features(self, study: str) -> FloatArray | None:
        return self._get(study).features

    def add_questions(self, study: str, questions: Sequence[Question]) -> None:
        with self._lock:
            self._get(study).questions.update({question.id: question for question in questions})

    def take(self, study: str, respondent: str, n: int, lease_s: float) -> list[Question]:
        with self._lock:
            kept, now = self._get(study), self._clock()
            waiting = [q for q in kept.questions.values() if q.id not in kept.answer_of]
            held = [q for q in waiting if self._holder(kept, q.id, now) == respondent]
            free = [q for q in waiting if self._holder(kept, q.id, now) is None]
            taken = (held + free)[:n]
            kept.leases.update({q.id: (respondent, now + lease_s) for q in taken})
            return taken

    def replace_open(self, study: str, questions: Sequence[Question]) -> None:
        with self._lock:
            kept, now = self._get(study), self._clock()
            waiting = [q for q in kept.questions.values() if self._state(kept, q.id, now) == "open"]
            self.drop_questions(study, [q.id for q in waiting if q.purpose == "train"])
            self.add_questions(study, questions)

    def drop_questions(self, study: str, question_ids: Sequence[str]) -> None:
        """Forget questions that nobody answered."""
        with self._lock:
            for question_id in question_ids:
                del self._get(study).questions[question_id]

    def questions(self, study: str, state: Literal["open", "leased", "answered", "all"] = "all") -> list[Question]:
        with self._lock:
            kept, now = self._get(study), self._clock()
            return [q for q in kept.questions.values() if state in ("all", self._state(kept, q.id, now))]

    def question(self, study: str, question_id: str) -> Question:
        question = self._get(study).questions.get(question_id)
        if question is None:
            raise UnknownQuestionError(f'Question "{question_id}" was never asked in study "{study}".')
        return question

    def add_answer(self, study: str, answer: Answer) -> Answer:
        with self._lock:
            kept = self._get(study)
            if answer.id in kept.answers:
                return kept.answers[answer.id]
            self.question(study, answer.question_id)
            earlier = kept.answers.get(kept.answer_of.get(answer.question_id, ""))
            if earlier is not None:
                when = time.strftime("%H:%M", time.gmtime(earlier.received_at))
                who = f"participant {earlier.respondent}" if earlier.respondent else "somebody"
                raise AlreadyAnsweredError(
                    f"Question {answer.question_id} was already answered by {who} at {when} UTC; "
                    "the second answer was not stored."
                )
            holder = kept.leases.pop(answer.question_id, None)
            late = holder is not None and holder[1] < self._clock()
            stored = replace(answer, received_at=answer.received_at or self._clock(), late=answer.late or late)
            kept.answers[stored.id] = stored
            kept.answer_of[stored.question_id] = stored.id
            return stored

    def undo(self, study: str, answer_id: str) -> Answer:
        with self._lock:
            kept = self._get(study)
            if answer_id not in kept.answers:
                raise UnknownQuestionError(f'Answer "{answer_id}" is not in study "{study}".')
            undone = replace(kept.answers[answer_id], undone=True)
            kept.answers[answer_id] = undone
            kept.answer_of.pop(undone.question_id, None)
            return undone

    def answers(self, study: str, purpose: Purpose | None = "train") -> list[Answered]:
        with self._lock:
            kept = self._get(study)
            pairs = [Answered(kept.questions[a.question_id], a) for a in kept.answers.values()]
            return [
                pair
                for pair in pairs
                if not pair.answer.undone
                and pair.answer.respondent not in kept.excluded
                and purpose in (None, pair.question.purpose)
            ]

    def exclude(self, study: str, respondent: str, excluded: bool = True) -> None:
        with self._lock:
            people = self._get(study).excluded
            people.add(respondent) if excluded else people.discard(respondent)

    def add_round(self, study: str, round: Round) -> None:
        with self._lock:
            self._get(study).rounds.append(round)

    def rounds(self, study: str) -> list[Round]:
        return list(self._get(study).rounds)

    def save_model(self, study: str, version: int, model: Mapping[str, Any]) -> None:
        with self._lock:
            self._get(study).models[version] = model

    def load_model(self, study: str, version: int | None = None) -> tuple[int, Mapping[str, Any]] | None:
        with self._lock:
            models = self._get(study).models
            found = max(models, default=None) if version is None else version
            return None if found is None or found not in models else (found, models[found])

    def claim(self, study: str, worker: str, lease_s: float) -> bool:
        with self._lock:
            kept, now = self._get(study), self._clock()
            holder, end = kept.claim
            if holder != worker and end > now:
                return False
            kept.claim = (worker, now + lease_s)
            return True

    def _get(self, name: str) -> _Study:
        if name not in self._studies:
            known = ", ".join(sorted(self._studies)) or "none"
            raise StudyError(f'There is no study "{name}". Known studies: {known}.')
        return self._studies[name]

    @staticmethod
    def _holder(kept: _Study, question_id: str, now: float) -> str | None:
        respondent, end = kept.leases.get(question_id, (None, 0.0))
        return respondent if end > now else None

    def _state(self, kept: _Study, question_id: str, now: float) -> str:
        if question_id in kept.answer_of:
            return "answered"
        return "open" if self._holder(kept, question_id, now) is None else "leased"
