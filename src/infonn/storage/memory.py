"""Studies kept in memory: for simulations and tests."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any, Literal

import numpy as np

from infonn.arrays import FloatArray
from infonn.contracts.storage import Answered, Serving
from infonn.errors import AlreadyAnsweredError, StudyError, UnknownQuestionError
from infonn.records import (
    Answer,
    Counts,
    Item,
    ItemFile,
    Purpose,
    Question,
    Respondent,
    Round,
    StudyRecord,
    check_response,
    second_answer,
)
from infonn.storage.leasing import deal, key_of
from infonn.storage.memory_leasing import Kept, MemoryDesk, Person, release_expired, state_of

AT_WORK_S = 120.0


class MemoryStorage:
    """One process, no file. Every method takes the lock, so threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._studies: dict[str, Kept] = {}
        self._settings: dict[str, str] = {}
        self._lock = RLock()
        self._clock = clock

    # --- studies -----------------------------------------------------------------------------------

    def create_study(
        self,
        record: StudyRecord,
        items: Sequence[Item],
        features: FloatArray | None = None,
        files: Sequence[ItemFile] = (),
    ) -> None:
        with self._lock:
            if record.name in self._studies:
                raise StudyError(f'Study "{record.name}" exists already. Load it with load_if_exists=True.')
            record = replace(record, created_at=record.created_at or self._clock())
            self._studies[record.name] = Kept(record, list(items), features, {file.path: file for file in files})

    def study(self, name: str) -> StudyRecord:
        return self._get(name).record

    def study_by_key(self, key: str) -> StudyRecord | None:
        return next((record for record in self.studies() if record.key == key), None)

    def studies(self) -> list[StudyRecord]:
        with self._lock:
            return [study.record for study in self._studies.values()]

    def change_study(
        self, name: str, *, archived: bool | None = None, spec: Mapping[str, Any] | None = None
    ) -> StudyRecord:
        with self._lock:
            kept = self._get(name)
            if archived is not None:
                kept.record = replace(kept.record, archived=archived)
            if spec is not None:
                kept.record = replace(kept.record, spec=spec)
            return kept.record

    def items(self, study: str) -> list[Item]:
        return list(self._get(study).items)

    def features(self, study: str) -> FloatArray | None:
        return self._get(study).features

    def file(self, study: str, path: str) -> ItemFile | None:
        return self._get(study).files.get(path)

    def files(self, study: str) -> list[str]:
        return sorted(self._get(study).files)

    # --- people ------------------------------------------------------------------------------------

    def join(self, study: str, outside_id: str | None = None, details: Mapping[str, Any] | None = None) -> Respondent:
        with self._lock:
            kept = self._get(study)
            for name, known in kept.details.items():
                if outside_id is not None and known["outside_id"] == outside_id:
                    return kept.people[name].record
            person = self._person(kept, f"p-{secrets.token_hex(6)}").record
            if outside_id is not None or details:
                kept.details[person.name] = {"outside_id": outside_id, **(details or {})}
            return person

    def respondents(self, study: str) -> list[Respondent]:
        with self._lock:
            return [person.record for person in self._get(study).people.values()]

    def n_done(self, study: str, respondent: str) -> int:
        person = self._get(study).people.get(respondent)
        return 0 if person is None else person.n_done

    def exclude(self, study: str, respondent: str, excluded: bool = True) -> None:
        with self._lock:
            kept = self._get(study)
            person = self._person(kept, respondent)
            person.record = replace(person.record, excluded=excluded)
            kept.changes += 1

    def details(self, study: str) -> dict[str, Mapping[str, Any]]:
        return dict(self._get(study).details)

    def purge_details(self, study: str) -> int:
        with self._lock:
            kept = self._get(study)
            n_people = len(kept.details)
            kept.details.clear()
            return n_people

    # --- questions ---------------------------------------------------------------------------------

    def add_questions(self, study: str, questions: Sequence[Question]) -> None:
        with self._lock:
            self._get(study).add(questions)

    def take(self, study: str, respondent: str, n: int, lease_s: float) -> list[Question]:
        return self.serve(study, respondent, n, Serving(lease_s))

    def serve(self, study: str, respondent: str, n: int, serving: Serving) -> list[Question]:
        with self._lock:
            desk = self._desk(study, respondent)
            dealt = deal(desk, n, serving)
            desk.leave()
            return dealt

    def replace_open(self, study: str, questions: Sequence[Question]) -> None:
        with self._lock:
            kept, now = self._get(study), self._clock()
            release_expired(kept, now)
            for question_id in list(kept.waiting):
                question = kept.questions[question_id]
                if kept.states[question_id] == "open" and question.purpose == "train" and question.copy_of is None:
                    if question.asked_at is None:
                        self.drop_questions(study, [question_id])
                    else:  # stays on record, as a late answer may come
                        kept.states[question_id] = "withdrawn"
                        del kept.waiting[question_id]
            self.add_questions(study, questions)

    def drop_questions(self, study: str, question_ids: Sequence[str]) -> None:
        """Forget questions that nobody answered."""
        with self._lock:
            kept = self._get(study)
            for question_id in question_ids:
                del kept.questions[question_id], kept.states[question_id]
                kept.waiting.pop(question_id, None)

    def questions(self, study: str, state: Literal["open", "leased", "answered", "all"] = "all") -> list[Question]:
        with self._lock:
            kept, now = self._get(study), self._clock()
            if state == "all":
                return list(kept.questions.values())
            return [question for question in kept.questions.values() if state_of(kept, question, now) == state]

    def question(self, study: str, question_id: str) -> Question:
        question = self._get(study).questions.get(question_id)
        if question is None:
            raise UnknownQuestionError(f'Question "{question_id}" was never asked in study "{study}".')
        return question

    def queue_depth(self, study: str) -> int:
        with self._lock:
            kept = self._get(study)
            return sum(kept.states[name] == "open" and kept.questions[name].purpose == "train" for name in kept.waiting)

    # --- answers -----------------------------------------------------------------------------------

    def add_answer(self, study: str, answer: Answer) -> Answer:
        with self._lock:
            desk = self._desk(study, answer.respondent)
            stored = self._accept(desk, answer, must_hold=False)
            desk.leave()
            return stored

    def exchange(self, study: str, answer: Answer, n: int, serving: Serving) -> tuple[Answer, list[Question], int]:
        with self._lock:
            desk = self._desk(study, answer.respondent)
            stored = self._accept(desk, answer, must_hold=True)
            dealt = deal(desk, n, serving)
            desk.leave()
            return stored, dealt, desk.n_done

    def _accept(self, desk: MemoryDesk, answer: Answer, must_hold: bool) -> Answer:
        kept = desk.kept
        before = kept.answers.get(answer.id)
        if before is not None:
            if (before.question_id, before.respondent) != (answer.question_id, answer.respondent):
                raise AlreadyAnsweredError(
                    f'Answer id "{answer.id}" belongs to another answer; this one was not stored.'
                )
            return before
        question = self.question(desk.kept.record.name, answer.question_id)
        lease_end = kept.leases.get((question.id, answer.respondent))
        if must_hold and lease_end is None:
            raise UnknownQuestionError(f'Question "{question.id}" was not handed to participant {answer.respondent}.')
        check_response(question, answer.response, answer.outcome)
        for earlier in (kept.answers[name] for name in kept.of_question.get(question.id, [])):
            stranger = lease_end is None and earlier.outcome != "skipped"
            if not earlier.undone and (earlier.respondent == answer.respondent or stranger):
                raise second_answer(earlier)
        taken_over = kept.states[question.id] == "leased" and question.respondent != answer.respondent
        late = answer.late or (lease_end is not None and (lease_end <= desk.now or taken_over))
        if not taken_over:
            kept.states[question.id] = "answered"
            kept.waiting.pop(question.id, None)
            kept.questions[question.id] = replace(question, respondent=answer.respondent)
        if question.purpose != "practice":
            desk.n_done += 1
        received = answer.received_at or desk.now
        stored = replace(answer, received_at=received, late=late, number=len(kept.answers) + 1)
        self._keep(kept, stored, question)
        return stored

    @staticmethod
    def _keep(kept: Kept, answer: Answer, question: Question) -> None:
        kept.answers[answer.id] = answer
        kept.of_question.setdefault(question.id, []).append(answer.id)
        kept.seen.setdefault(answer.respondent, set()).add(key_of(question.query, question.kind))

    def undo(self, study: str, answer_id: str, lease_s: float = 600.0) -> Answer:
        with self._lock:
            kept = self._get(study)
            if answer_id not in kept.answers:
                raise UnknownQuestionError(f'Answer "{answer_id}" is not in study "{study}".')
            undone = replace(kept.answers[answer_id], undone=True)
            if kept.answers[answer_id].undone:
                return undone
            desk, question = self._desk(study, undone.respondent), kept.questions[undone.question_id]
            kept.answers[answer_id] = undone
            kept.seen[undone.respondent].discard(key_of(question.query, question.kind))
            others = [kept.answers[name] for name in kept.of_question[question.id]]
            in_force = any(not other.undone and other.outcome != "skipped" for other in others)
            if kept.states[question.id] != "leased" and not in_force:
                end = desk.now + lease_s
                kept.states[question.id] = "leased"
                kept.waiting[question.id] = None
                kept.questions[question.id] = replace(question, respondent=undone.respondent, lease_until=end)
                if (question.id, undone.respondent) in kept.leases:
                    kept.leases[question.id, undone.respondent] = end
            if question.purpose != "practice":
                desk.n_done -= 1
            desk.leave()
            kept.changes += 1
            return undone

    def answers(
        self, study: str, purpose: Purpose | None = "train", after: int = 0, everything: bool = False
    ) -> list[Answered]:
        with self._lock:
            kept = self._get(study)
            excluded = {name for name, person in kept.people.items() if person.record.excluded}
            pairs = [Answered(kept.questions[a.question_id], a) for a in kept.answers.values() if a.number > after]
            return [
                pair
                for pair in pairs
                if (everything or not (pair.answer.undone or pair.answer.respondent in excluded))
                and purpose in (None, pair.question.purpose)
            ]

    def answers_of(self, study: str, respondent: str) -> list[Answered]:
        with self._lock:
            kept = self._get(study)
            of_person = [answer for answer in kept.answers.values() if answer.respondent == respondent]
            return [Answered(kept.questions[answer.question_id], answer) for answer in of_person]

    def import_answers(self, study: str, answered: Sequence[Answered]) -> int:
        with self._lock:
            kept = self._get(study)
            fresh = {pair.answer.id: pair for pair in answered if pair.answer.id not in kept.answers}
            for pair in fresh.values():
                question = replace(pair.question, study=study)
                if question.id not in kept.questions:
                    kept.questions[question.id] = question
                    kept.states[question.id] = "answered"
                self._person(kept, pair.answer.respondent)
                self._keep(kept, replace(pair.answer, number=len(kept.answers) + 1), question)
            kept.changes += 1
            return len(fresh)

    def revision(self, study: str) -> tuple[int, int]:
        kept = self._get(study)
        return len(kept.answers), kept.changes

    def counts(self, study: str) -> Counts:
        with self._lock:
            kept, now = self._get(study), self._clock()
            in_force = [(pair.question, pair.answer) for pair in self.answers(study, None)]
            train = [question for question in kept.questions.values() if question.purpose == "train"]
            states = [kept.states[question.id] for question in train if question.copy_of is None]
            asked = [question for question in train if question.asked_at is not None]
            chosen = [q for q in asked if q.strategy_used == q.strategy_asked and q.model_version > 0]
            recent = sorted(chosen, key=lambda question: -(question.asked_at or 0.0))[:500]
            unseen = [question.unseen_answers for question in recent] or [0]
            answered = [question.purpose for question, answer in in_force if answer.outcome == "answered"]
            return Counts(
                answered={name: answered.count(name) for name in ("train", "hold_out", "catch", "practice")},
                skipped=sum(answer.outcome == "skipped" for _, answer in in_force),
                cannot_tell=sum(answer.outcome == "cannot_tell" for _, answer in in_force),
                late=sum(answer.late for _, answer in in_force),
                undone=sum(answer.undone for answer in kept.answers.values()),
                people=len(kept.people),
                people_at_work=sum(person.record.seen_at > now - AT_WORK_S for person in kept.people.values()),
                answers_last_minute=sum(answer.received_at > now - 60 for answer in kept.answers.values()),
                queue=states.count("open"),
                leased=states.count("leased"),
                asked=len(asked),
                fallback=sum(question.strategy_used != question.strategy_asked for question in asked),
                unseen_median=float(np.median(unseen)),
                unseen_p95=float(np.percentile(unseen, 95)),
            )

    # --- what was learned --------------------------------------------------------------------------

    def add_round(self, study: str, round: Round) -> None:
        with self._lock:
            self._get(study).rounds[round.index] = round

    def rounds(self, study: str) -> list[Round]:
        return list(self._get(study).rounds.values())

    def save_model(self, study: str, version: int, model: Mapping[str, Any]) -> None:
        with self._lock:
            self._get(study).models[version] = model

    def load_model(self, study: str, version: int | None = None) -> tuple[int, Mapping[str, Any]] | None:
        with self._lock:
            models = self._get(study).models
            found = max(models, default=None) if version is None else version
            return None if found is None or found not in models else (found, models[found])

    # --- workers and servers -----------------------------------------------------------------------

    def claim(self, study: str, worker: str, lease_s: float) -> bool:
        with self._lock:
            kept, now = self._get(study), self._clock()
            holder, end = kept.claim
            if holder != worker and now < end <= now + 2 * lease_s:
                return False
            kept.claim = (worker, now + lease_s)
            return True

    def release(self, study: str, worker: str) -> None:
        with self._lock:
            kept = self._get(study)
            if kept.claim[0] == worker:
                kept.claim = ("", -math.inf)

    def note(self, study: str, key: str, value: Any) -> None:
        with self._lock:
            notes = self._get(study).notes
            notes.pop(key, None) if value is None else notes.update({key: value})

    def notes(self, study: str) -> dict[str, Any]:
        return dict(self._get(study).notes)

    def setting(self, key: str, value: str | None = None) -> str | None:
        with self._lock:
            if value is not None:
                self._settings[key] = value
            return self._settings.get(key)

    def first_setting(self, key: str, value: str) -> str:
        with self._lock:
            return self._settings.setdefault(key, value)

    def drop_setting(self, key: str) -> None:
        with self._lock:
            self._settings.pop(key, None)

    def close(self) -> None:
        """Nothing to close."""

    # --- inside ------------------------------------------------------------------------------------

    def _get(self, name: str) -> Kept:
        if name not in self._studies:
            known = ", ".join(sorted(self._studies)) or "none"
            raise StudyError(f'There is no study "{name}". Known studies: {known}.')
        return self._studies[name]

    def _person(self, kept: Kept, name: str) -> Person:
        if name not in kept.people:
            kept.people[name] = Person(Respondent(name, self._clock(), self._clock()))
        return kept.people[name]

    def _desk(self, study: str, respondent: str) -> MemoryDesk:
        kept = self._get(study)
        person = self._person(kept, respondent)
        counters, now = (person.n_done, person.n_practice, person.n_catch), self._clock()
        release_expired(kept, now)
        return MemoryDesk(kept, respondent, now, *counters)
