"""Studies kept in memory: for simulations and tests."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any, Literal, get_args

import numpy as np

from infonn.arrays import FloatArray
from infonn.contracts.storage import Answered, Serving, SpecChange, changed_spec
from infonn.errors import StudyError, UnknownNameError, UnknownQuestionError
from infonn.queries import question_key
from infonn.records import (
    Act,
    Answer,
    Counts,
    Deletion,
    Item,
    ItemFile,
    Purpose,
    Question,
    Respondent,
    Round,
    StudyRecord,
    Token,
)
from infonn.storage.leasing import (
    ARRIVING_S,
    AT_WORK_S,
    KEPT_MODELS,
    PERSONAL,
    RECENT,
    accept_answer,
    is_wrong,
    lease_questions,
    least_taken,
    never_asked,
    new_answers,
    study_full,
)
from infonn.storage.memory_leasing import MemoryLeasing, Person, StoredStudy
from infonn.storage.plain import check_json, check_study, check_text


class MemoryStorage:
    """One process, no file. Every method takes the lock, so threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._studies: dict[str, StoredStudy] = {}
        self._settings: dict[str, str] = {}
        self._tokens: dict[str, tuple[Token, str]] = {}  # id -> token, hash of its text
        self._acts: list[Act] = []
        self._lock = RLock()
        self._clock = clock

    # --- studies -----------------------------------------------------------------------------------

    def create_study(
        self,
        record: StudyRecord,
        items: Sequence[Item],
        features: FloatArray | None = None,
        files: Sequence[ItemFile] = (),
        *,
        questions: Sequence[Question] = (),
        answered: Sequence[Answered] = (),
        excluded: Collection[str] = (),
        deletions: Sequence[Deletion] = (),
    ) -> None:
        check_study(record, items)
        with self._lock:
            if record.name in self._studies:
                raise StudyError(f'Study "{record.name}" exists already. Load it with load_if_exists=True.')
            record = replace(record, created_at=record.created_at or self._clock())
            stored = StoredStudy(record, list(items), features, {file.path: file for file in files})
            stored.add(questions)
            stored.deletions.extend(deletions)
            if answered:
                self._import(stored, answered)
            for name in excluded:
                self._exclude(stored, name, True)
            self._studies[record.name] = stored

    def study(self, name: str) -> StudyRecord:
        return self._get(name).record

    def study_by_key(self, key: str) -> StudyRecord | None:
        return next((record for record in self.studies() if record.key == key), None)

    def studies(self) -> list[StudyRecord]:
        with self._lock:
            return [study.record for study in self._studies.values()]

    def change_study(
        self,
        name: str,
        change: SpecChange | None = None,
        *,
        archived: bool | None = None,
        paused: bool | None = None,
        retention_days: float | None = None,
    ) -> StudyRecord:
        with self._lock:
            stored = self._get(name)
            spec = stored.record.spec if change is None else changed_spec(stored.record.spec, change)
            check_json(spec, "A study's settings")
            stored.record = replace(
                stored.record,
                spec=spec,
                archived=stored.record.archived if archived is None else archived,
                paused=stored.record.paused if paused is None else paused,
                retention_days=stored.record.retention_days if retention_days is None else retention_days,
            )
            return stored.record

    def delete_study(self, name: str) -> None:
        with self._lock:
            self._get(name)
            del self._studies[name]
            self._tokens = {key: pair for key, pair in self._tokens.items() if pair[0].study != name}

    def items(self, study: str) -> list[Item]:
        return list(self._get(study).items)

    def features(self, study: str) -> FloatArray | None:
        return self._get(study).features

    def file(self, study: str, path: str) -> ItemFile | None:
        return self._get(study).files.get(path)

    def files(self, study: str) -> list[str]:
        return sorted(self._get(study).files)

    # --- people ------------------------------------------------------------------------------------

    def join(
        self,
        study: str,
        outside_id: str | None = None,
        details: Mapping[str, Any] | None = None,
        *,
        conditions: Sequence[str] = (),
        most_people: int = 0,
    ) -> Respondent:
        check_json([outside_id or "", details or {}, list(conditions)], "What is known of a person")
        with self._lock:
            stored = self._get(study)
            for name, known in stored.details.items():
                if outside_id is not None and known["outside_id"] == outside_id:
                    return stored.people[name].record
            earliest = self._clock() - ARRIVING_S
            taking_part = [p.record for p in stored.people.values() if p.n_done or p.record.seen_at > earliest]
            if most_people and len(taking_part) >= most_people:
                raise study_full(study, most_people)
            person = self._person(stored, f"p-{secrets.token_hex(6)}")
            condition = least_taken(conditions, [record.condition for record in taking_part])
            person.record = replace(person.record, condition=condition)
            if outside_id is not None or details:
                stored.details[person.record.name] = {"outside_id": outside_id, **(details or {})}
            return person.record

    def respondents(self, study: str) -> list[Respondent]:
        with self._lock:
            return [person.record for person in self._get(study).people.values()]

    def respondent(self, study: str, name: str) -> Respondent | None:
        person = self._get(study).people.get(name)
        return None if person is None else person.record

    def tell_about(self, study: str, respondent: str, about: Mapping[str, Any]) -> None:
        check_json(about, "What a person said")
        with self._lock:
            person = self._person(self._get(study), respondent)
            person.record = replace(person.record, about={**person.record.about, **about})

    def n_done(self, study: str, respondent: str) -> int:
        person = self._get(study).people.get(respondent)
        return 0 if person is None else person.n_done

    def exclude(self, study: str, respondent: str, excluded: bool = True) -> None:
        with self._lock:
            self._exclude(self._get(study), respondent, excluded)

    def _exclude(self, stored: StoredStudy, respondent: str, excluded: bool) -> None:
        person = self._person(stored, respondent)
        person.record = replace(person.record, excluded=excluded)
        stored.n_changes += 1

    def details(self, study: str) -> dict[str, Mapping[str, Any]]:
        return dict(self._get(study).details)

    def purge_details(self, study: str) -> int:
        with self._lock:
            stored = self._get(study)
            n_people = len(stored.details)
            stored.details.clear()
            return n_people

    def forget_expired(self) -> dict[str, int]:
        with self._lock:
            forgotten = {}
            for name, stored in self._studies.items():
                last_day = self._clock() - 86_400 * stored.record.retention_days
                if not stored.record.retention_days:
                    continue
                over = [who for who in stored.details if stored.people[who].record.seen_at < last_day]
                for who in over:
                    del stored.details[who]
                if over:
                    forgotten[name] = len(over)
            return forgotten

    def consent(self, study: str, respondent: str, text: str) -> int:
        check_text(text, "A consent text")
        with self._lock:
            stored = self._get(study)
            versions = [version for version, known in stored.consents.items() if known == text]
            version = versions[0] if versions else len(stored.consents) + 1
            stored.consents[version] = text
            person = self._person(stored, respondent)
            person.record = replace(person.record, consent_version=version, consented_at=self._clock())
            return version

    def consent_texts(self, study: str) -> dict[int, str]:
        return dict(self._get(study).consents)

    def delete_person(self, study: str, respondent: str) -> int:
        with self._lock:
            stored = self._get(study)
            if respondent not in stored.people:
                raise UnknownNameError(f'"{respondent}" has not taken part in study "{study}".')
            answers = [answer for answer in stored.answers.values() if answer.respondent == respondent]
            for answer in answers:
                del stored.answers[answer.id]
                stored.of_question[answer.question_id].remove(answer.id)
            for question in [q for q in stored.questions.values() if q.respondent == respondent]:
                self._disown(stored, question)
            stored.leases = {key: end for key, end in stored.leases.items() if key[1] != respondent}
            for of_people in (stored.people, stored.details, stored.seen):
                of_people.pop(respondent, None)
            stored.models.clear()
            stored.n_changes += 1
            stored.deletions.append(Deletion(self._clock(), len(answers)))
            return len(answers)

    def _disown(self, stored: StoredStudy, question: Question) -> None:
        """A question of a deleted person: their own goes as well, one they held is free, others stay on record."""
        if question.purpose in PERSONAL:
            self._drop(stored, question.id)
            return
        stored.questions[question.id] = replace(question, respondent="")
        if stored.states[question.id] == "leased":
            stored.states[question.id] = "open"
        elif stored.states[question.id] == "answered" and not stored.of_question.get(question.id):
            stored.states[question.id] = "withdrawn"

    def deletions(self, study: str) -> list[Deletion]:
        return list(self._get(study).deletions)

    # --- questions ---------------------------------------------------------------------------------

    def add_questions(self, study: str, questions: Sequence[Question]) -> None:
        with self._lock:
            self._get(study).add(questions)

    def take(self, study: str, respondent: str, n: int, lease_s: float) -> list[Question]:
        return self.serve(study, respondent, n, Serving(lease_s))

    def serve(self, study: str, respondent: str, n: int, serving: Serving) -> list[Question]:
        with self._lock:
            leasing = self._leasing(study, respondent)
            leased = lease_questions(leasing, n, serving)
            leasing.leave()
            return leased

    def replace_open(self, study: str, questions: Sequence[Question]) -> None:
        with self._lock:
            stored = self._get(study)
            stored.release_lapsed(self._clock())
            for question_id in list(stored.waiting):
                question = stored.questions[question_id]
                if stored.states[question_id] == "open" and question.purpose == "train" and question.copy_of is None:
                    if question.asked_at is None:
                        self._drop(stored, question_id)
                    else:  # stays on record, as a late answer may come
                        stored.states[question_id] = "withdrawn"
                        del stored.waiting[question_id]
            self.add_questions(study, questions)

    def drop_questions(self, study: str, question_ids: Sequence[str]) -> None:
        """Forget questions that nobody answered."""
        with self._lock:
            for question_id in question_ids:
                self._drop(self._get(study), question_id)

    @staticmethod
    def _drop(stored: StoredStudy, question_id: str) -> None:
        del stored.questions[question_id], stored.states[question_id]
        stored.waiting.pop(question_id, None)

    def questions(self, study: str, state: Literal["open", "leased", "answered", "all"] = "all") -> list[Question]:
        with self._lock:
            stored, now = self._get(study), self._clock()
            if state == "all":
                return list(stored.questions.values())
            return [question for name, question in stored.questions.items() if stored.state_of(name, now) == state]

    def question(self, study: str, question_id: str) -> Question:
        question = self._get(study).questions.get(question_id)
        if question is None:
            raise never_asked(question_id, study)
        return question

    def queue_depth(self, study: str) -> int:
        with self._lock:
            stored, now = self._get(study), self._clock()
            train = [name for name in stored.waiting if stored.questions[name].purpose == "train"]
            return sum(stored.state_of(name, now) == "open" for name in train)

    # --- answers -----------------------------------------------------------------------------------

    def add_answer(self, study: str, answer: Answer) -> Answer:
        return self._exchange(study, answer, 0, Serving(), must_hold=False)[0]

    def exchange(self, study: str, answer: Answer, n: int, serving: Serving) -> tuple[Answer, list[Question], int]:
        return self._exchange(study, answer, n, serving, must_hold=True)

    def _exchange(
        self, study: str, answer: Answer, n: int, serving: Serving, must_hold: bool
    ) -> tuple[Answer, list[Question], int]:
        with self._lock:
            leasing = self._leasing(study, answer.respondent)
            accepted, question = accept_answer(leasing, answer, must_hold)
            if question is not None:
                accepted = leasing.stored.keep_answer(accepted, question)
            leased = lease_questions(leasing, n, serving)
            leasing.leave()
            return accepted, leased, leasing.n_done

    def undo(self, study: str, answer_id: str, lease_s: float = 600.0) -> Answer:
        with self._lock:
            stored = self._get(study)
            if answer_id not in stored.answers:
                raise UnknownQuestionError(f'Answer "{answer_id}" is not in study "{study}".')
            undone = replace(stored.answers[answer_id], undone=True)
            if stored.answers[answer_id].undone:
                return undone
            leasing, question = self._leasing(study, undone.respondent), stored.questions[undone.question_id]
            stored.answers[answer_id] = undone
            stored.seen[undone.respondent].discard(question_key(question.query, question.kind))
            others = [stored.answers[name] for name in stored.of_question[question.id]]
            in_force = any(not other.undone and other.outcome != "skipped" for other in others)
            if stored.states[question.id] != "leased" and not in_force:
                end = leasing.now + lease_s
                stored.states[question.id] = "leased"
                stored.waiting[question.id] = None
                stored.questions[question.id] = replace(question, respondent=undone.respondent, lease_until=end)
                if (question.id, undone.respondent) in stored.leases:
                    stored.leases[question.id, undone.respondent] = end
            if question.purpose != "practice":
                leasing.n_done -= 1
            leasing.n_wrong -= is_wrong(question, undone)
            leasing.leave()
            stored.n_changes += 1
            return undone

    def answers(
        self, study: str, purpose: Purpose | None = "train", after: int = 0, everything: bool = False
    ) -> list[Answered]:
        with self._lock:
            stored = self._get(study)
            excluded = {name for name, person in stored.people.items() if person.record.excluded}
            pairs = [Answered(stored.questions[a.question_id], a) for a in stored.answers.values() if a.number > after]
            return [
                pair
                for pair in pairs
                if (everything or not (pair.answer.undone or pair.answer.respondent in excluded))
                and purpose in (None, pair.question.purpose)
            ]

    def answers_of(self, study: str, respondent: str) -> list[Answered]:
        with self._lock:
            stored = self._get(study)
            of_person = [answer for answer in stored.answers.values() if answer.respondent == respondent]
            return [Answered(stored.questions[answer.question_id], answer) for answer in of_person]

    def import_answers(self, study: str, answered: Sequence[Answered]) -> int:
        with self._lock:
            return self._import(self._get(study), answered)

    def _import(self, stored: StoredStudy, answered: Sequence[Answered]) -> int:
        in_force = {(a.question_id, a.respondent) for a in stored.answers.values() if not a.undone}
        known = stored.answers.__contains__
        fresh = new_answers(answered, stored.record.name, known, stored.questions, in_force)
        for pair in fresh:
            if pair.question.id not in stored.questions:
                stored.questions[pair.question.id] = pair.question
                stored.states[pair.question.id] = "answered"
            self._person(stored, pair.answer.respondent)
            stored.keep_answer(pair.answer, pair.question)
        stored.n_changes += 1
        return len(fresh)

    def revision(self, study: str) -> tuple[int, int]:
        stored = self._get(study)
        return stored.n_answers, stored.n_changes

    def counts(self, study: str) -> Counts:
        with self._lock:
            stored, now = self._get(study), self._clock()
            in_force = [(pair.question, pair.answer) for pair in self.answers(study, None)]
            train = [question for question in stored.questions.values() if question.purpose == "train"]
            states = [stored.state_of(question.id, now) for question in train if question.copy_of is None]
            asked = [question for question in train if question.asked_at is not None]
            chosen = [q for q in asked if q.strategy_used == q.strategy_asked and q.model_version > 0]
            recent = sorted(chosen, key=lambda question: -(question.asked_at or 0.0))[:RECENT]
            unseen = [question.unseen_answers for question in recent] or [0]
            answered = [question.purpose for question, answer in in_force if answer.outcome == "answered"]
            return Counts(
                answered={name: answered.count(name) for name in get_args(Purpose)},
                skipped=sum(answer.outcome == "skipped" for _, answer in in_force),
                cannot_tell=sum(answer.outcome == "cannot_tell" for _, answer in in_force),
                late=sum(answer.late for _, answer in in_force),
                undone=sum(answer.undone for answer in stored.answers.values()),
                people=len(stored.people),
                people_at_work=sum(person.record.seen_at > now - AT_WORK_S for person in stored.people.values()),
                answers_last_minute=sum(answer.received_at > now - 60 for answer in stored.answers.values()),
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
        return [round for _, round in sorted(self._get(study).rounds.items())]

    def save_model(self, study: str, version: int, model: Mapping[str, Any]) -> None:
        with self._lock:
            models = self._get(study).models
            models[version] = model
            for old in sorted(models)[:-KEPT_MODELS]:
                del models[old]

    def load_model(self, study: str, version: int | None = None) -> tuple[int, Mapping[str, Any]] | None:
        with self._lock:
            models = self._get(study).models
            found = max(models, default=None) if version is None else version
            return None if found is None or found not in models else (found, models[found])

    # --- workers and servers -----------------------------------------------------------------------

    def claim(self, study: str, worker: str, lease_s: float) -> bool:
        with self._lock:
            stored, now = self._get(study), self._clock()
            holder, end = stored.claim
            if holder != worker and now < end <= now + 2 * lease_s:
                return False
            stored.claim = (worker, now + lease_s)
            return True

    def release(self, study: str, worker: str) -> None:
        with self._lock:
            stored = self._get(study)
            if stored.claim[0] == worker:
                stored.claim = ("", -math.inf)

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

    # --- owners ------------------------------------------------------------------------------------

    def add_token(self, token: Token, sha256: str) -> bool:
        check_text(token.person, "A token's person")
        with self._lock:
            if token.study is not None:
                self._get(token.study)
            if token.id in self._tokens:
                return False
            self._tokens[token.id] = (replace(token, made_at=token.made_at or self._clock()), sha256)
            return True

    def token_by_hash(self, sha256: str) -> Token | None:
        return next((token for token, known in self._tokens.values() if known == sha256), None)

    def tokens(self) -> list[Token]:
        with self._lock:
            return sorted((token for token, _ in self._tokens.values()), key=lambda token: (token.made_at, token.id))

    def revoke_token(self, token_id: str) -> Token:
        with self._lock:
            if token_id not in self._tokens:
                raise UnknownNameError(f'There is no token "{token_id}".')
            token, sha256 = self._tokens[token_id]
            token = replace(token, revoked_at=token.revoked_at or self._clock())
            self._tokens[token_id] = (token, sha256)
            return token

    def add_act(self, who: str, what: str, study: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        check_json([who, what, study or "", details or {}], "An act")
        with self._lock:
            self._acts.append(Act(len(self._acts) + 1, self._clock(), who, what, study, dict(details or {})))

    def acts(self, study: str | None = None, after: int = 0, limit: int = 1000) -> list[Act]:
        with self._lock:
            return [act for act in self._acts[after:] if study in (None, act.study)][:limit]

    def close(self) -> None:
        """Nothing to close."""

    # --- inside ------------------------------------------------------------------------------------

    def _get(self, name: str) -> StoredStudy:
        if name not in self._studies:
            known = ", ".join(sorted(self._studies)) or "none"
            raise StudyError(f'There is no study "{name}". Known studies: {known}.')
        return self._studies[name]

    def _person(self, stored: StoredStudy, name: str) -> Person:
        if name not in stored.people:
            stored.people[name] = Person(Respondent(name, self._clock(), self._clock()))
        return stored.people[name]

    def _leasing(self, study: str, respondent: str) -> MemoryLeasing:
        stored, now = self._get(study), self._clock()
        person = self._person(stored, respondent)
        stored.release_lapsed(now)
        handed_out = (person.n_practice, person.n_catch, person.n_repeats)
        return MemoryLeasing(stored, respondent, now, person.n_done, *handed_out, person.n_wrong)
