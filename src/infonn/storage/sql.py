"""Studies kept in SQLite or PostgreSQL: what a method returned is on disk."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

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
)
from infonn.storage import rows
from infonn.storage.counting import counts_of, in_force
from infonn.storage.database import Database
from infonn.storage.leasing import deal
from infonn.storage.schema import (
    answers,
    claims,
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
)
from infonn.storage.sql_leasing import SqlDesk, release_expired
from infonn.storage.sql_rows import (
    Exchange,
    answer_values,
    answered_where,
    count_change,
    insert_answers,
    insert_items,
    insert_questions,
    never_asked,
    refuse_second,
    withdraw_open,
)

_FEATURES = ".features.npy"  # kept beside the files people see
_KEPT_MODELS = 3
_RELEASE_EVERY_S = 1.0
_ANALYSE_EVERY_S = 10.0

# Statements of the way an answer takes, built once.
_STUDY: sa.BindParameter[int] = sa.bindparam("study")
_QUESTION: sa.BindParameter[str] = sa.bindparam("asked")
_THE_QUESTION = (questions.c.study_id == _STUDY) & (questions.c.id == _QUESTION)
_QUESTION_BY_ID = sa.select(questions).where(_THE_QUESTION).with_for_update()
_CLOSE_QUESTION = sa.update(questions).where(_THE_QUESTION).values(state="answered", respondent=sa.bindparam("person"))
_ANSWER_BY_ID = sa.select(answers).where((answers.c.study_id == _STUDY) & (answers.c.id == sa.bindparam("id")))
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
        self._ids: dict[str, int] = {}  # study name -> id; names and ids never change
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
    ) -> None:
        if features is not None:
            files = [*files, ItemFile(_FEATURES, "application/octet-stream", rows.pack_array(features))]
        values = {name: getattr(record, name) for name in ("name", "key", "seed", "archived")}
        values |= {"spec": dict(record.spec), "created_at": record.created_at or self._clock()}
        try:
            with self.database.write() as connection:
                result = connection.execute(sa.insert(studies).values(**values, n_answers=0, n_changes=0))
                study_id = result.inserted_primary_key[0]  # type: ignore[index]
                insert_items(connection, study_id, items, files)
        except sa.exc.IntegrityError as error:
            raise StudyError(f'Study "{record.name}" exists already. Load it with load_if_exists=True.') from error

    def study(self, name: str) -> StudyRecord:
        with self.database.read() as connection:
            row = connection.execute(sa.select(studies).where(studies.c.name == name)).first()
            if row is None:
                raise self._no_study(connection, name)
            return rows.study_record(row)

    def study_by_key(self, key: str) -> StudyRecord | None:
        with self.database.read() as connection:
            row = connection.execute(sa.select(studies).where(studies.c.key == key)).first()
            return None if row is None else rows.study_record(row)

    def studies(self) -> list[StudyRecord]:
        with self.database.read() as connection:
            return [rows.study_record(row) for row in connection.execute(sa.select(studies).order_by(studies.c.id))]

    def change_study(
        self, name: str, *, archived: bool | None = None, spec: Mapping[str, Any] | None = None
    ) -> StudyRecord:
        changes: dict[str, Any] = {} if archived is None else {"archived": archived}
        changes |= {} if spec is None else {"spec": dict(spec)}
        with self.database.write() as connection:
            study_id = self._id(connection, name)
            if changes:
                connection.execute(sa.update(studies).where(studies.c.id == study_id).values(**changes))
            return rows.study_record(connection.execute(sa.select(studies).where(studies.c.id == study_id)).one())

    def items(self, study: str) -> list[Item]:
        with self.database.read() as connection:
            found = sa.select(items).where(items.c.study_id == self._id(connection, study)).order_by(items.c.position)
            return [rows.item(row) for row in connection.execute(found)]

    def features(self, study: str) -> FloatArray | None:
        kept = self.file(study, _FEATURES)
        return None if kept is None else rows.unpack_array(kept.data)

    def file(self, study: str, path: str) -> ItemFile | None:
        with self.database.read() as connection:
            where = (files.c.study_id == self._id(connection, study)) & (files.c.path == path)
            row = connection.execute(sa.select(files).where(where)).first()
            return None if row is None else ItemFile(row.path, row.content_type, row.data)

    def files(self, study: str) -> list[str]:
        with self.database.read() as connection:
            where = (files.c.study_id == self._id(connection, study)) & (files.c.path != _FEATURES)
            return list(connection.scalars(sa.select(files.c.path).where(where).order_by(files.c.path)))

    # --- people ------------------------------------------------------------------------------------

    def join(self, study: str, outside_id: str | None = None, details: Mapping[str, Any] | None = None) -> Respondent:
        try:
            return self._join(study, outside_id, details)
        except sa.exc.IntegrityError:  # the same person arrived in another tab at the same time
            return self._join(study, outside_id, details)

    def _join(self, study: str, outside_id: str | None, details: Mapping[str, Any] | None) -> Respondent:
        with self.database.write() as connection:
            study_id = self._id(connection, study)
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
            person = Respondent(f"p-{secrets.token_hex(6)}", self._clock(), self._clock())
            self._ensure_respondent(connection, study_id, person.name)
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
            study_id = self._id(connection, study)
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

    # --- questions ---------------------------------------------------------------------------------

    def add_questions(self, study: str, questions: Sequence[Question]) -> None:
        packed = self._packed(study, questions)
        with self.database.write() as connection:
            insert_questions(connection, packed)

    def take(self, study: str, respondent: str, n: int, lease_s: float) -> list[Question]:
        return self.serve(study, respondent, n, Serving(lease_s))

    def serve(self, study: str, respondent: str, n: int, serving: Serving) -> list[Question]:
        def work(connection: Connection) -> list[Question]:
            desk = self._desk(connection, study, respondent)
            dealt = deal(desk, n, serving)
            desk.leave()
            return dealt

        return self.database.together(work)

    def replace_open(self, study: str, questions: Sequence[Question]) -> None:
        packed = self._packed(study, questions)
        with self.database.write() as connection:
            study_id = self._id(connection, study)
            release_expired(connection, study_id, self._clock())
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
            leased = (table.c.state == "leased") & (table.c.lease_until > now)
            is_open = (table.c.state == "open") | ((table.c.state == "leased") & ~leased)
            states = {"open": is_open, "leased": leased, "answered": table.c.state == "answered", "all": sa.true()}
            found = sa.select(table).where((table.c.study_id == study_id) & states[state]).order_by(table.c.number)
            return [rows.question(row, study) for row in connection.execute(found)]

    def question(self, study: str, question_id: str) -> Question:
        with self.database.read() as connection:
            where = (questions.c.study_id == self._id(connection, study)) & (questions.c.id == question_id)
            row = connection.execute(sa.select(questions).where(where)).first()
            if row is None:
                raise never_asked(question_id, study)
            return rows.question(row, study)

    def queue_depth(self, study: str) -> int:
        with self.database.read() as connection:
            where = (questions.c.study_id == self._id(connection, study)) & (questions.c.state == "open")
            where &= questions.c.purpose == "train"
            return connection.scalar(sa.select(sa.func.count()).select_from(questions).where(where)) or 0

    # --- answers -----------------------------------------------------------------------------------

    def add_answer(self, study: str, answer: Answer) -> Answer:
        def work(connection: Connection) -> Exchange:
            desk = self._desk(connection, study, answer.respondent)
            stored = self._accept(desk, answer, must_hold=False)
            desk.leave()
            return Exchange(desk, stored)

        return self.database.together(work, insert_answers).answer

    def exchange(self, study: str, answer: Answer, n: int, serving: Serving) -> tuple[Answer, list[Question], int]:
        def work(connection: Connection) -> Exchange:
            desk = self._desk(connection, study, answer.respondent)
            stored = self._accept(desk, answer, must_hold=True)
            dealt = deal(desk, n, serving)
            desk.leave()
            return Exchange(desk, stored, dealt)

        done = self.database.together(work, insert_answers)
        return done.answer, done.dealt, done.desk.n_done

    def undo(self, study: str, answer_id: str, lease_s: float = 600.0) -> Answer:
        with self.database.write() as connection:
            study_id, now = self._id(connection, study), self._clock()
            where = (answers.c.study_id == study_id) & (answers.c.id == answer_id)
            row = connection.execute(sa.select(answers).where(where)).first()
            if row is None:
                raise UnknownQuestionError(f'Answer "{answer_id}" is not in study "{study}".')
            desk = self._desk(connection, study, row.respondent)
            marked = connection.execute(sa.update(answers).where(where & ~answers.c.undone).values(undone=True))
            undone = replace(rows.answer(row), undone=True)
            if not marked.rowcount:
                return undone
            if row.purpose != "practice":
                desk.n_done -= 1
            desk.leave()
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
            study_id = self._id(connection, study)
            known = set(connection.scalars(sa.select(answers.c.id).where(answers.c.study_id == study_id)))
            asked = set(connection.scalars(sa.select(questions.c.id).where(questions.c.study_id == study_id)))
            fresh = list({pair.answer.id: pair for pair in answered if pair.answer.id not in known}.values())
            new = {pair.question.id: replace(pair.question, study=study) for pair in fresh}
            unknown = [question for question in new.values() if question.id not in asked]
            insert_questions(connection, [rows.packed_question(q, study_id, "answered") for q in unknown])
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
            columns = sa.select(studies.c.n_answers, studies.c.n_changes).where(studies.c.name == study)
            row = connection.execute(columns).first()
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
            old = list(connection.scalars(versions))[_KEPT_MODELS:]
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

    # --- inside ------------------------------------------------------------------------------------

    def _id(self, connection: Connection, name: str) -> int:
        if name not in self._ids:
            found = connection.scalar(sa.select(studies.c.id).where(studies.c.name == name))
            if found is None:
                raise self._no_study(connection, name)
            self._ids[name] = found
        return self._ids[name]

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

    def _desk(self, connection: Connection, study: str, respondent: str) -> SqlDesk:
        study_id = self._id(connection, study)
        row = self._lock_respondent(connection, study_id, respondent)
        if row is None:
            self._ensure_respondent(connection, study_id, respondent)
            row = self._lock_respondent(connection, study_id, respondent)
        assert row is not None
        now = self._clock()
        if abs(now - self._released_at.get(study_id, -math.inf)) > _RELEASE_EVERY_S:
            release_expired(connection, study_id, now)
            self._released_at[study_id] = now
        return SqlDesk(connection, study, study_id, respondent, row.n_done, row.n_practice, row.n_catch, now)

    @staticmethod
    def _lock_respondent(connection: Connection, study_id: int, name: str) -> sa.Row[Any] | None:
        return connection.execute(_LOCK_RESPONDENT, {"study": study_id, "person": name}).first()

    def _ensure_respondent(self, connection: Connection, study_id: int, name: str) -> None:
        now = self._clock()
        values = {"study_id": study_id, "name": name, "joined_at": now, "seen_at": now, "excluded": False}
        counters = {"n_done": 0, "n_practice": 0, "n_catch": 0}
        connection.execute(self._insert(respondents).values(**values, **counters).on_conflict_do_nothing())

    @staticmethod
    def _accept(desk: SqlDesk, answer: Answer, must_hold: bool) -> Answer:
        """The answer as it will be stored (number 0), or as it was stored before."""
        before = desk.run(_ANSWER_BY_ID, id=answer.id).first()
        if before is not None:
            if (before.question_id, before.respondent) != (answer.question_id, answer.respondent):
                raise AlreadyAnsweredError(
                    f'Answer id "{answer.id}" belongs to another answer; this one was not stored.'
                )
            return rows.answer(before)
        row = desk.run(_QUESTION_BY_ID, asked=answer.question_id).first()
        if row is None:
            raise never_asked(answer.question_id, desk.study)
        mine = row.state == "leased" and row.respondent == answer.respondent
        lease_end = row.lease_until if mine else desk.lease_end(answer.question_id)
        if must_hold and lease_end is None:
            raise UnknownQuestionError(
                f'Question "{answer.question_id}" was not handed to participant {answer.respondent}.'
            )
        question = rows.question(row, desk.study)
        check_response(question, answer.response, answer.outcome)
        if not mine:  # what one holds, one has not answered
            refuse_second(desk, answer, handed_out=lease_end is not None)
        taken_over = row.state == "leased" and not mine
        late = answer.late or (lease_end is not None and (lease_end <= desk.now or taken_over))
        if not taken_over:
            desk.run(_CLOSE_QUESTION, asked=row.id)
        desk.answered = question
        if question.purpose != "practice":
            desk.n_done += 1
        return replace(answer, received_at=answer.received_at or desk.now, late=late, number=0)

    def _insert(self, table: sa.Table) -> Any:
        return sqlite.insert(table) if self.database.is_sqlite else postgresql.insert(table)

    def _upsert(
        self, table: sa.Table, keys: list[str], values: dict[str, Any], where: sa.ColumnElement[bool] | None = None
    ) -> Any:
        changed = {name: value for name, value in values.items() if name not in keys}
        return (
            self._insert(table).values(**values).on_conflict_do_update(index_elements=keys, set_=changed, where=where)
        )
