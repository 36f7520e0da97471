"""Studies kept in SQLite or PostgreSQL: what a method returned is on disk."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from infonn.arrays import FloatArray
from infonn.contracts.storage import Answered, Serving, SpecChange, changed_spec
from infonn.errors import StudyError, UnknownQuestionError
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
from infonn.storage import rows, schema, sql_owners
from infonn.storage.counting import counts_of, in_force
from infonn.storage.database import Database
from infonn.storage.leasing import (
    ARRIVING_S,
    KEPT_MODELS,
    accept_answer,
    is_wrong,
    lease_questions,
    least_taken,
    never_asked,
    new_answers,
    study_full,
)
from infonn.storage.plain import check_json, check_study, check_text, is_plain
from infonn.storage.schema import (
    answers,
    claims,
    consents,
    deletions,
    files,
    items,
    leases,
    models,
    notes,
    questions,
    respondent_details,
    respondents,
    rounds,
    settings,
    studies,
    tokens,
)
from infonn.storage.sql_leasing import SqlLeasing, is_leased, is_open, release_lapsed
from infonn.storage.sql_rows import (
    Exchange,
    answer_values,
    answered_where,
    count_change,
    insert_answers,
    insert_items,
    insert_questions,
    withdraw_open,
)

_FEATURES = ".features.npy"  # kept beside the files people see
_LARGEST_ID = "largest_study_id"  # the setting that keeps SQLite from giving the id of a deleted study to another
_ID_FRESH_S = 1.0  # how long a study deleted elsewhere may still be known here by its id
_RELEASE_EVERY_S = 1.0
_ANALYSE_EVERY_S = 10.0

_STUDY: sa.BindParameter[int] = sa.bindparam("study")
_BY_NAME = sa.select(studies).where(studies.c.name == sa.bindparam("name"))
_LAST_NUMBER = sa.select(sa.func.max(questions.c.number))
_LOCK_RESPONDENT = (
    sa.select(respondents)
    .where((respondents.c.study_id == _STUDY) & (respondents.c.name == sa.bindparam("person")))
    .with_for_update()
)


class SqlStorage:
    """A `LiveStorage` in a database. `clock` gives seconds since 1970."""

    def __init__(self, url: str, clock: Callable[[], float] = time.time) -> None:
        self.database = Database(url)
        self._clock = clock
        self._ids: dict[str, tuple[int, float]] = {}  # study name -> id, when it was looked up
        self._released_at: dict[int, float] = {}  # study -> when expired leases were last looked for
        self._analysed_at = -math.inf

    def close(self) -> None:
        self.database.close()

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
        if features is not None:
            files = [*files, ItemFile(_FEATURES, "application/octet-stream", rows.pack_array(features))]
        values = {
            name: getattr(record, name) for name in ("name", "key", "seed", "archived", "retention_days", "paused")
        }
        values |= {"spec": dict(record.spec), "created_at": record.created_at or self._clock()}
        with self.database.write() as connection:
            new = self._insert(studies).values(**values, **self._new_id(connection), n_answers=0, n_changes=0)
            study_id = connection.execute(new.on_conflict_do_nothing().returning(studies.c.id)).scalar()
            if study_id is None:
                raise StudyError(f'Study "{record.name}" exists already. Load it with load_if_exists=True.')
            insert_items(connection, study_id, items, files)
            insert_questions(connection, [rows.packed_question(question, study_id) for question in questions])
            if answered:
                self._import(connection, record.name, study_id, answered)
            for name in excluded:
                self._exclude(connection, study_id, name, True)
            for deletion in deletions:
                connection.execute(sa.insert(schema.deletions).values(study_id=study_id, **deletion.to_json()))

    def _new_id(self, connection: Connection) -> dict[str, int]:
        """On SQLite, an id that no study ever had; PostgreSQL gives such by itself."""
        if not self.database.is_sqlite:
            return {}
        deleted = connection.scalar(sa.select(settings.c.value).where(settings.c.key == _LARGEST_ID)) or 0
        largest = connection.scalar(sa.select(sa.func.max(studies.c.id))) or 0
        return {"id": max(int(deleted), largest) + 1}

    def study(self, name: str) -> StudyRecord:
        with self.database.read() as connection:
            row = self._named(connection, name)
            if row is None:
                raise self._no_study(connection, name)
            return rows.study_record(row)

    def study_by_key(self, key: str) -> StudyRecord | None:
        if not is_plain(key):
            return None
        with self.database.read() as connection:
            row = connection.execute(sa.select(studies).where(studies.c.key == key)).first()
            return None if row is None else rows.study_record(row)

    def studies(self) -> list[StudyRecord]:
        with self.database.read() as connection:
            return [rows.study_record(row) for row in connection.execute(sa.select(studies).order_by(studies.c.id))]

    def change_study(
        self,
        name: str,
        change: SpecChange | None = None,
        *,
        archived: bool | None = None,
        paused: bool | None = None,
        retention_days: float | None = None,
    ) -> StudyRecord:
        with self.database.write() as connection:
            the_study = studies.c.id == self._id(connection, name)
            row = connection.execute(sa.select(studies).where(the_study).with_for_update()).first()
            if row is None:
                raise self._no_study(connection, name)
            values: dict[str, Any] = {"archived": archived, "paused": paused, "retention_days": retention_days}
            if change is not None:
                values["spec"] = changed_spec(row.spec, change)
                check_json(values["spec"], "A study's settings")
            values = {key: value for key, value in values.items() if value is not None}
            if values:
                connection.execute(sa.update(studies).where(the_study).values(**values))
            return rows.study_record(connection.execute(sa.select(studies).where(the_study)).one())

    def delete_study(self, name: str) -> None:
        with self.database.write() as connection:
            study_id = self._id(connection, name)
            if self.database.is_sqlite:
                largest = str(self._new_id(connection)["id"] - 1)
                connection.execute(self._upsert(settings, ["key"], {"key": _LARGEST_ID, "value": largest}))
            connection.execute(sa.delete(studies).where(studies.c.id == study_id))
        self._ids.pop(name, None)

    def items(self, study: str) -> list[Item]:
        with self.database.read() as connection:
            found = sa.select(items).where(items.c.study_id == self._id(connection, study)).order_by(items.c.position)
            return [rows.item(row) for row in connection.execute(found)]

    def features(self, study: str) -> FloatArray | None:
        kept = self.file(study, _FEATURES)
        return None if kept is None else rows.unpack_array(kept.data)

    def file(self, study: str, path: str) -> ItemFile | None:
        if not is_plain(path):
            return None
        with self.database.read() as connection:
            where = (files.c.study_id == self._id(connection, study)) & (files.c.path == path)
            row = connection.execute(sa.select(files).where(where)).first()
            return None if row is None else ItemFile(row.path, row.content_type, row.data)

    def files(self, study: str) -> list[str]:
        with self.database.read() as connection:
            where = (files.c.study_id == self._id(connection, study)) & (files.c.path != _FEATURES)
            return list(connection.scalars(sa.select(files.c.path).where(where).order_by(files.c.path)))

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
        try:
            return self._join(study, outside_id, details, conditions, most_people)
        except sa.exc.IntegrityError:  # the same person arrived in another tab at the same time
            return self._join(study, outside_id, details, conditions, most_people)

    def _join(
        self,
        study: str,
        outside_id: str | None,
        details: Mapping[str, Any] | None,
        conditions: Sequence[str],
        most_people: int,
    ) -> Respondent:
        with self.database.write() as connection:
            study_id = self._id(connection, study)
            if conditions or most_people:  # who comes at the same time waits, so that turns and places are counted
                connection.execute(sa.select(studies.c.id).where(studies.c.id == study_id).with_for_update())
            if outside_id is not None:
                known = sa.select(respondents).join(
                    respondent_details,
                    (respondents.c.study_id == respondent_details.c.study_id)
                    & (respondents.c.name == respondent_details.c.respondent),
                )
                where = (respondent_details.c.study_id == study_id) & (respondent_details.c.outside_id == outside_id)
                row = connection.execute(known.where(where)).first()
                if row is not None:
                    return rows.respondent(row)
            condition = self._turn(connection, study, study_id, conditions, most_people)
            now = self._clock()
            person = Respondent(f"p-{secrets.token_hex(6)}", now, now, condition=condition)
            self._ensure_respondent(connection, study_id, person.name, condition)
            if outside_id is not None or details:
                connection.execute(
                    sa.insert(respondent_details).values(
                        study_id=study_id,
                        respondent=person.name,
                        outside_id=outside_id,
                        details=dict(details or {}),
                    )
                )
            return person

    def _turn(
        self, connection: Connection, study: str, study_id: int, conditions: Sequence[str], most_people: int
    ) -> str:
        """The condition of the next person; refuses one too many."""
        if not conditions and not most_people:
            return ""
        here = (respondents.c.n_done > 0) | (respondents.c.seen_at > self._clock() - ARRIVING_S)
        taking_part = sa.select(respondents.c.condition).where((respondents.c.study_id == study_id) & here)
        of_people = list(connection.scalars(taking_part))
        if most_people and len(of_people) >= most_people:
            raise study_full(study, most_people)
        return least_taken(conditions, of_people)

    def respondent(self, study: str, name: str) -> Respondent | None:
        with self.database.read() as connection:
            where = (respondents.c.study_id == self._id(connection, study)) & (respondents.c.name == name)
            row = connection.execute(sa.select(respondents).where(where)).first()
            return None if row is None else rows.respondent(row)

    def tell_about(self, study: str, respondent: str, about: Mapping[str, Any]) -> None:
        check_json(about, "What a person said")
        with self.database.write() as connection:
            study_id = self._id(connection, study)
            self._ensure_respondent(connection, study_id, respondent)
            row = self._lock_respondent(connection, study_id, respondent)
            assert row is not None
            where = (respondents.c.study_id == study_id) & (respondents.c.name == respondent)
            connection.execute(sa.update(respondents).where(where).values(about={**row.about, **about}))

    def respondents(self, study: str) -> list[Respondent]:
        with self.database.read() as connection:
            where = respondents.c.study_id == self._id(connection, study)
            found = sa.select(respondents).where(where).order_by(respondents.c.joined_at, respondents.c.name)
            return [rows.respondent(row) for row in connection.execute(found)]

    def n_done(self, study: str, respondent: str) -> int:
        with self.database.read() as connection:
            where = (respondents.c.study_id == self._id(connection, study)) & (respondents.c.name == respondent)
            return connection.scalar(sa.select(respondents.c.n_done).where(where)) or 0

    def exclude(self, study: str, respondent: str, excluded: bool = True) -> None:
        with self.database.write() as connection:
            self._exclude(connection, self._id(connection, study), respondent, excluded)

    def _exclude(self, connection: Connection, study_id: int, respondent: str, excluded: bool) -> None:
        self._ensure_respondent(connection, study_id, respondent)
        where = (respondents.c.study_id == study_id) & (respondents.c.name == respondent)
        connection.execute(sa.update(respondents).where(where).values(excluded=excluded))
        count_change(connection, study_id)

    def details(self, study: str) -> dict[str, Mapping[str, Any]]:
        with self.database.read() as connection:
            where = respondent_details.c.study_id == self._id(connection, study)
            found = connection.execute(sa.select(respondent_details).where(where))
            return {row.respondent: {"outside_id": row.outside_id, **row.details} for row in found}

    def purge_details(self, study: str) -> int:
        with self.database.write() as connection:
            where = respondent_details.c.study_id == self._id(connection, study)
            return connection.execute(sa.delete(respondent_details).where(where)).rowcount

    def forget_expired(self) -> dict[str, int]:
        forgotten = {}
        for record in [record for record in self.studies() if record.retention_days]:
            last_day = self._clock() - 86_400 * record.retention_days
            with self.database.write() as connection:
                of_study = respondents.c.study_id == self._id(connection, record.name)
                over = sa.select(respondents.c.name).where(of_study & (respondents.c.seen_at < last_day))
                where = respondent_details.c.study_id == self._id(connection, record.name)
                where &= respondent_details.c.respondent.in_(over)
                n_people = connection.execute(sa.delete(respondent_details).where(where)).rowcount
            if n_people:
                forgotten[record.name] = n_people
        return forgotten

    def consent(self, study: str, respondent: str, text: str) -> int:
        check_text(text, "A consent text")
        with self.database.write() as connection:
            study_id = self._id(connection, study)
            connection.execute(sa.select(studies.c.id).where(studies.c.id == study_id).with_for_update())
            of_study = consents.c.study_id == study_id
            version = connection.scalar(sa.select(consents.c.version).where(of_study & (consents.c.text == text)))
            if version is None:
                last = connection.scalar(sa.select(sa.func.max(consents.c.version)).where(of_study)) or 0
                version = last + 1
                connection.execute(sa.insert(consents).values(study_id=study_id, version=version, text=text))
            self._ensure_respondent(connection, study_id, respondent)
            person = (respondents.c.study_id == study_id) & (respondents.c.name == respondent)
            agreed = {"consent_version": version, "consented_at": self._clock()}
            connection.execute(sa.update(respondents).where(person).values(**agreed))
            return version

    def consent_texts(self, study: str) -> dict[int, str]:
        with self.database.read() as connection:
            where = consents.c.study_id == self._id(connection, study)
            found = connection.execute(sa.select(consents).where(where).order_by(consents.c.version))
            return {row.version: row.text for row in found}

    def delete_person(self, study: str, respondent: str) -> int:
        with self.database.write() as connection:
            study_id = self._id(connection, study)
            n_answers = sql_owners.delete_respondent(connection, study, study_id, respondent, self._clock())
            count_change(connection, study_id)
            return n_answers

    def deletions(self, study: str) -> list[Deletion]:
        with self.database.read() as connection:
            where = deletions.c.study_id == self._id(connection, study)
            found = connection.execute(sa.select(deletions).where(where).order_by(deletions.c.number))
            return [Deletion(row.at, row.answers) for row in found]

    # --- questions ---------------------------------------------------------------------------------

    def add_questions(self, study: str, questions: Sequence[Question]) -> None:
        packed = self._packed(study, questions)
        with self.database.write() as connection:
            insert_questions(connection, packed)

    def take(self, study: str, respondent: str, n: int, lease_s: float) -> list[Question]:
        return self.serve(study, respondent, n, Serving(lease_s))

    def serve(self, study: str, respondent: str, n: int, serving: Serving) -> list[Question]:
        def work(connection: Connection) -> list[Question]:
            leasing = self._leasing(connection, study, respondent)
            leased = lease_questions(leasing, n, serving)
            leasing.leave()
            return leased

        return self.database.together(work)

    def replace_open(self, study: str, questions: Sequence[Question]) -> None:
        packed = self._packed(study, questions)
        with self.database.write() as connection:
            study_id = self._id(connection, study)
            release_lapsed(connection, study_id, self._clock())
            last = connection.scalar(_LAST_NUMBER) or 0
            insert_questions(connection, packed)
            if self.database.is_sqlite:
                withdraw_open(connection, study_id, last)
        if not self.database.is_sqlite:
            # There people pass over rows that are being changed: the old ones go only when the new ones can be seen.
            with self.database.write() as connection:
                withdraw_open(connection, study_id, last)
            self._analyse()

    def questions(self, study: str, state: Literal["open", "leased", "answered", "all"] = "all") -> list[Question]:
        with self.database.read() as connection:
            study_id, now, table = self._id(connection, study), self._clock(), questions
            answered = table.c.state == "answered"
            states = {"open": is_open(now), "leased": is_leased(now), "answered": answered, "all": sa.true()}
            found = sa.select(table).where((table.c.study_id == study_id) & states[state]).order_by(table.c.number)
            return [rows.question(row, study) for row in connection.execute(found)]

    def question(self, study: str, question_id: str) -> Question:
        with self.database.read() as connection:
            where = (questions.c.study_id == self._id(connection, study)) & (questions.c.id == question_id)
            row = connection.execute(sa.select(questions).where(where)).first() if is_plain(question_id) else None
            if row is None:
                raise never_asked(question_id, study)
            return rows.question(row, study)

    def queue_depth(self, study: str) -> int:
        with self.database.read() as connection:
            where = (questions.c.study_id == self._id(connection, study)) & is_open(self._clock())
            where &= questions.c.purpose == "train"
            return connection.scalar(sa.select(sa.func.count()).select_from(questions).where(where)) or 0

    # --- answers -----------------------------------------------------------------------------------

    def add_answer(self, study: str, answer: Answer) -> Answer:
        return self._exchange(study, answer, 0, Serving(), must_hold=False).answer

    def exchange(self, study: str, answer: Answer, n: int, serving: Serving) -> tuple[Answer, list[Question], int]:
        done = self._exchange(study, answer, n, serving, must_hold=True)
        return done.answer, done.leased, done.leasing.n_done

    def _exchange(self, study: str, answer: Answer, n: int, serving: Serving, must_hold: bool) -> Exchange:
        def work(connection: Connection) -> Exchange:
            leasing = self._leasing(connection, study, answer.respondent)
            accepted, leasing.answered = accept_answer(leasing, answer, must_hold)
            leased = lease_questions(leasing, n, serving)
            leasing.leave()
            return Exchange(leasing, accepted, leased)

        try:
            return self.database.together(work, insert_answers)
        except sa.exc.IntegrityError:  # the same id came by another server at the same time; now it is there to be seen
            return self.database.together(work, insert_answers)

    def undo(self, study: str, answer_id: str, lease_s: float = 600.0) -> Answer:
        with self.database.write() as connection:
            study_id, now = self._id(connection, study), self._clock()
            where = (answers.c.study_id == study_id) & (answers.c.id == answer_id)
            row = connection.execute(sa.select(answers).where(where)).first() if is_plain(answer_id) else None
            if row is None:
                raise UnknownQuestionError(f'Answer "{answer_id}" is not in study "{study}".')
            leasing = self._leasing(connection, study, row.respondent)
            marked = connection.execute(sa.update(answers).where(where & ~answers.c.undone).values(undone=True))
            undone = replace(rows.answer(row), undone=True)
            if not marked.rowcount:
                return undone
            if row.purpose != "practice":
                leasing.n_done -= 1
            if row.purpose == "catch":
                found = leasing.question(row.question_id)
                leasing.n_wrong -= found is not None and is_wrong(found[0], undone)
            leasing.leave()
            back = (questions.c.study_id == study_id) & (questions.c.id == row.question_id)
            others = sa.exists().where(
                (answers.c.study_id == study_id)
                & (answers.c.question_id == row.question_id)
                & ~answers.c.undone
                & (answers.c.outcome != "skipped")
            )
            free = questions.c.state.in_(("answered", "open", "withdrawn"))
            values = {"state": "leased", "respondent": row.respondent, "lease_until": now + lease_s}
            connection.execute(sa.update(questions).where(back & free & ~others).values(**values))
            lease = (leases.c.study_id == study_id) & (leases.c.question_id == row.question_id)
            lease &= leases.c.respondent == row.respondent
            connection.execute(sa.update(leases).where(lease).values(until=now + lease_s))
            count_change(connection, study_id)
            return undone

    def answers(
        self, study: str, purpose: Purpose | None = "train", after: int = 0, everything: bool = False
    ) -> list[Answered]:
        with self.database.read() as connection:
            study_id = self._id(connection, study)
            where = (answers.c.study_id == study_id) & (answers.c.number > after)
            if not everything:
                where &= in_force(study_id)
            if purpose is not None:
                where &= answers.c.purpose == purpose
            return answered_where(connection, study, where)

    def answers_of(self, study: str, respondent: str) -> list[Answered]:
        with self.database.read() as connection:
            where = (answers.c.study_id == self._id(connection, study)) & (answers.c.respondent == respondent)
            return answered_where(connection, study, where)

    def import_answers(self, study: str, answered: Sequence[Answered]) -> int:
        with self.database.write() as connection:
            return self._import(connection, study, self._id(connection, study), answered)

    def _import(self, connection: Connection, study: str, study_id: int, answered: Sequence[Answered]) -> int:
        known = set(connection.scalars(sa.select(answers.c.id).where(answers.c.study_id == study_id)))
        of_study = sa.select(questions).where(questions.c.study_id == study_id)
        asked = {row.id: rows.question(row, study) for row in connection.execute(of_study)}
        columns = sa.select(answers.c.question_id, answers.c.respondent)
        in_force = columns.where((answers.c.study_id == study_id) & ~answers.c.undone)
        pairs = {(row.question_id, row.respondent) for row in connection.execute(in_force)}
        fresh = new_answers(answered, study, known.__contains__, asked, pairs)
        new = {pair.question.id: pair.question for pair in fresh if pair.question.id not in asked}
        insert_questions(connection, [rows.packed_question(q, study_id, "answered") for q in new.values()])
        for name in dict.fromkeys(pair.answer.respondent for pair in fresh):
            self._ensure_respondent(connection, study_id, name)
        number = connection.execute(
            sa.update(studies)
            .where(studies.c.id == study_id)
            .values(n_answers=studies.c.n_answers + len(fresh), n_changes=studies.c.n_changes + 1)
            .returning(studies.c.n_answers)
        ).scalar_one() - len(fresh)
        values = [
            answer_values(study_id, replace(pair.answer, number=number + i), pair.question)
            for i, pair in enumerate(fresh, start=1)
        ]
        if values:
            connection.execute(sa.insert(answers), values)
        return len(values)

    def revision(self, study: str) -> tuple[int, int]:
        with self.database.read() as connection:
            row = self._named(connection, study)
            if row is None:
                raise self._no_study(connection, study)
            return row.n_answers, row.n_changes

    def counts(self, study: str) -> Counts:
        with self.database.read() as connection:
            return counts_of(connection, self._id(connection, study), self._clock())

    # --- what was learned --------------------------------------------------------------------------

    def add_round(self, study: str, round: Round) -> None:
        with self.database.write() as connection:
            values = {**round.to_json(), "study_id": self._id(connection, study)}
            connection.execute(self._upsert(rounds, ["study_id", "index"], values))

    def rounds(self, study: str) -> list[Round]:
        with self.database.read() as connection:
            where = rounds.c.study_id == self._id(connection, study)
            found = connection.execute(sa.select(rounds).where(where).order_by(rounds.c.index))
            return [Round.from_json(row._mapping) for row in found]  # type: ignore[arg-type]

    def save_model(self, study: str, version: int, model: Mapping[str, Any]) -> None:
        data = rows.pack_model(model)
        with self.database.write() as connection:
            study_id = self._id(connection, study)
            values = {"study_id": study_id, "version": version, "data": data}
            connection.execute(self._upsert(models, ["study_id", "version"], values))
            versions = (
                sa.select(models.c.version).where(models.c.study_id == study_id).order_by(models.c.version.desc())
            )
            old = list(connection.scalars(versions))[KEPT_MODELS:]
            where = (models.c.study_id == study_id) & models.c.version.in_(old)
            connection.execute(sa.delete(models).where(where))

    def load_model(self, study: str, version: int | None = None) -> tuple[int, Mapping[str, Any]] | None:
        with self.database.read() as connection:
            where = models.c.study_id == self._id(connection, study)
            if version is not None:
                where &= models.c.version == version
            row = connection.execute(sa.select(models).where(where).order_by(models.c.version.desc()).limit(1)).first()
            return None if row is None else (row.version, rows.unpack_model(row.data))

    # --- workers and servers -----------------------------------------------------------------------

    def claim(self, study: str, worker: str, lease_s: float) -> bool:
        with self.database.write() as connection:
            now = self._clock()
            values = {"study_id": self._id(connection, study), "worker": worker, "until": now + lease_s}
            mine_or_over = (claims.c.worker == worker) | (claims.c.until <= now) | (claims.c.until > now + 2 * lease_s)
            claimed = self._upsert(claims, ["study_id"], values, where=mine_or_over).returning(claims.c.worker)
            return connection.execute(claimed).first() is not None

    def release(self, study: str, worker: str) -> None:
        with self.database.write() as connection:
            where = (claims.c.study_id == self._id(connection, study)) & (claims.c.worker == worker)
            connection.execute(sa.delete(claims).where(where))

    def note(self, study: str, key: str, value: Any) -> None:
        with self.database.write() as connection:
            study_id = self._id(connection, study)
            if value is None:
                connection.execute(sa.delete(notes).where((notes.c.study_id == study_id) & (notes.c.key == key)))
                return
            values = {"study_id": study_id, "key": key, "value": value}
            connection.execute(self._upsert(notes, ["study_id", "key"], values))

    def notes(self, study: str) -> dict[str, Any]:
        with self.database.read() as connection:
            where = notes.c.study_id == self._id(connection, study)
            return {row.key: row.value for row in connection.execute(sa.select(notes).where(where))}

    def setting(self, key: str, value: str | None = None) -> str | None:
        if value is not None:
            with self.database.write() as connection:
                connection.execute(self._upsert(settings, ["key"], {"key": key, "value": value}))
        with self.database.read() as connection:
            return connection.scalar(sa.select(settings.c.value).where(settings.c.key == key))

    def first_setting(self, key: str, value: str) -> str:
        with self.database.write() as connection:
            connection.execute(self._insert(settings).values(key=key, value=value).on_conflict_do_nothing())
            return connection.execute(sa.select(settings.c.value).where(settings.c.key == key)).scalar_one()

    def drop_setting(self, key: str) -> None:
        with self.database.write() as connection:
            connection.execute(sa.delete(settings).where(settings.c.key == key))

    # --- owners ------------------------------------------------------------------------------------

    def add_token(self, token: Token, sha256: str) -> bool:
        with self.database.write() as connection:
            study_id = None if token.study is None else self._id(connection, token.study)
            made = replace(token, made_at=token.made_at or self._clock())
            return sql_owners.insert_token(connection, made, sha256, study_id)

    def token_by_hash(self, sha256: str) -> Token | None:
        with self.database.read() as connection:
            return sql_owners.token_where(connection, tokens.c.sha256 == sha256)

    def tokens(self) -> list[Token]:
        with self.database.read() as connection:
            return sql_owners.all_tokens(connection)

    def revoke_token(self, token_id: str) -> Token:
        with self.database.write() as connection:
            return sql_owners.revoke(connection, token_id, self._clock())

    def add_act(self, who: str, what: str, study: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        with self.database.write() as connection:
            sql_owners.insert_act(connection, self._clock(), who, what, study, details or {})

    def acts(self, study: str | None = None, after: int = 0, limit: int = 1000) -> list[Act]:
        if study is not None and not is_plain(study):
            return []
        with self.database.read() as connection:
            return sql_owners.acts_after(connection, study, after, limit)

    # --- inside ------------------------------------------------------------------------------------

    def _id(self, connection: Connection, name: str) -> int:
        found, since = self._ids.get(name, (0, -math.inf))
        if time.monotonic() - since > _ID_FRESH_S:
            row = self._named(connection, name)
            if row is None:
                self._ids.pop(name, None)
                raise self._no_study(connection, name)
            found = row.id
            self._ids[name] = (found, time.monotonic())
        return found

    @staticmethod
    def _named(connection: Connection, name: str) -> sa.Row[Any] | None:
        if not is_plain(name):
            return None
        return connection.execute(_BY_NAME, {"name": name}).first()

    def _analyse(self) -> None:
        """Let PostgreSQL see how its tables have grown: it plans for empty ones until its own round, a minute later."""
        if abs(self._clock() - self._analysed_at) > _ANALYSE_EVERY_S:
            self._analysed_at = self._clock()
            with self.database.write() as connection:
                connection.execute(sa.text("ANALYZE questions, answers, leases, respondents"))

    def _packed(self, study: str, questions: Sequence[Question]) -> list[dict[str, Any]]:
        with self.database.read() as connection:
            study_id = self._id(connection, study)
        return [rows.packed_question(question, study_id) for question in questions]

    @staticmethod
    def _no_study(connection: Connection, name: str) -> StudyError:
        known = ", ".join(connection.scalars(sa.select(studies.c.name).order_by(studies.c.name).limit(20))) or "none"
        return StudyError(f'There is no study "{name}". Known studies: {known}.')

    def _leasing(self, connection: Connection, study: str, respondent: str) -> SqlLeasing:
        study_id = self._id(connection, study)
        row = self._lock_respondent(connection, study_id, respondent)
        if row is None:
            self._ensure_respondent(connection, study_id, respondent)
            row = self._lock_respondent(connection, study_id, respondent)
        assert row is not None
        now = self._clock()
        if abs(now - self._released_at.get(study_id, -math.inf)) > _RELEASE_EVERY_S:
            release_lapsed(connection, study_id, now)
            self._released_at[study_id] = now
        counters = (row.n_done, row.n_practice, row.n_catch, row.n_repeats, row.n_wrong)
        return SqlLeasing(connection, study, study_id, respondent, *counters, now)

    @staticmethod
    def _lock_respondent(connection: Connection, study_id: int, name: str) -> sa.Row[Any] | None:
        return connection.execute(_LOCK_RESPONDENT, {"study": study_id, "person": name}).first()

    def _ensure_respondent(self, connection: Connection, study_id: int, name: str, condition: str = "") -> None:
        now = self._clock()
        values = {"study_id": study_id, "name": name, "joined_at": now, "seen_at": now, "excluded": False}
        values |= {"condition": condition, "about": {}}
        counters = {"n_done": 0, "n_practice": 0, "n_catch": 0, "n_repeats": 0, "n_wrong": 0}
        connection.execute(self._insert(respondents).values(**values, **counters).on_conflict_do_nothing())

    def _insert(self, table: sa.Table) -> Any:
        return sqlite.insert(table) if self.database.is_sqlite else postgresql.insert(table)

    def _upsert(
        self, table: sa.Table, keys: list[str], values: dict[str, Any], where: sa.ColumnElement[bool] | None = None
    ) -> Any:
        changed = {name: value for name, value in values.items() if name not in keys}
        return (
            self._insert(table).values(**values).on_conflict_do_update(index_elements=keys, set_=changed, where=where)
        )
