"""The rules of asking, the same for every storage: who is leased which question, when a lease has lapsed, which answer
is accepted, and what an import may bring."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from infonn.contracts.storage import Answered, Serving
from infonn.errors import (
    AlreadyAnsweredError,
    DataError,
    InvalidQueryError,
    StudyFullError,
    UnknownQuestionError,
)
from infonn.queries import question_key
from infonn.records import Answer, Purpose, Question, check_response, second_answer
from infonn.storage.plain import check_answer, check_question

KEPT_MODELS = 3  # the newest ones of a study
AT_WORK_S = 120.0  # a person seen within this time counts as at work
ARRIVING_S = 600.0  # a person without an answer counts as taking part for so long
PERSONAL: tuple[Purpose, ...] = ("catch", "repeat", "practice")  # purposes of questions that are for one person alone
RECENT = 500  # questions over which staleness is reported


class Leasing(Protocol):
    """What leasing questions to one person, and accepting answers, needs to know and do within one transaction."""

    respondent: str
    now: float
    n_done: int  # answers in force, practice aside
    n_practice: int  # practice questions handed out so far
    n_catch: int  # catch questions handed out so far
    n_repeats: int  # questions asked again, handed out so far
    n_wrong: int  # catch questions answered wrong, and not undone
    n_leased: int  # questions handed out in this transaction

    @property
    def study(self) -> str: ...

    def held(self) -> list[Question]:
        """What this person holds, in the order in which it was handed out."""
        ...

    def next_open(
        self, purpose: Purpose, keys: set[str], repeats: bool, copies: bool, condition: str
    ) -> Question | None:
        """The first free question of a condition that this person has not answered and that asks none of `keys` nor
        (without `repeats`) what this person answered. Random ones that were handed out before come after all others:
        those of people who only knock must not stand before what was chosen.

        With `copies`, only among the copies made for overlap; these are for other people, also with `repeats`."""
        ...

    def to_repeat(self, gap: int) -> Question | None:
        """The first train or hold-out question this person answered, and was not asked again, with at least `gap`
        answers of theirs since."""
        ...

    def seen(self) -> set[str]:
        """The keys of what this person answered."""
        ...

    def add(self, questions: Sequence[Question]) -> None: ...

    def unseen(self, version: int) -> int:
        """Train answers on record that a model of this version had not seen."""
        ...

    def keep_lease(self, question: Question) -> None:
        """Write down that the question is this person's until its lease ends."""
        ...

    def answer(self, answer_id: str) -> Answer | None: ...

    def question(self, question_id: str) -> tuple[Question, str] | None:
        """A question and its state, locked until the transaction ends."""
        ...

    def lease_end(self, question_id: str) -> float | None:
        """When this person's lease of a question ends or ended; None where it was never handed to this person."""
        ...

    def answers_to(self, question_id: str) -> Iterable[Answer]:
        """Answers to a question, those undone aside."""
        ...

    def close(self, question: Question) -> None:
        """Mark the question as answered by this person."""
        ...


def least_taken(conditions: Sequence[str], of_people: Iterable[str]) -> str:
    """Whose turn it is: the condition with the fewest people, the first of them; none where there are none."""
    taken = Counter(of_people)
    return min(conditions, key=lambda condition: taken[condition], default="")


def study_full(study: str, most_people: int) -> StudyFullError:
    return StudyFullError(f'Study "{study}" takes {most_people} people, and they are all there.')


def lapsed(asked_at: Any, lease_until: Any, now: Any) -> Any:
    """Whether a lease is over: its time has passed, or it was given before the clock was set back.

    One that ends later than twice its length from now is such. Takes numbers, or columns of a database.
    """
    return (lease_until <= now) | (lease_until > now + 2 * (lease_until - asked_at))


# --- questions out ---------------------------------------------------------------------------------


def lease_questions(leasing: Leasing, n: int, serving: Serving) -> list[Question]:
    """Up to `n` questions for one person, those held already first, all leased from now."""
    if serving.ahead is not None:
        n = min(n, max(serving.ahead, leasing.n_done))
    held = leasing.held()[:n] if n else []
    leased = [_renewed(leasing, question, serving.lease_s) for question in held]
    while len(leased) < n:
        question = _next(leasing, leased, serving)
        if question is None:
            break
        first_time = question.asked_at is None and question.copy_of is None
        if first_time and question.purpose in ("train", "hold_out"):
            leasing.add([_copy(question) for _ in range(serving.overlap - 1)])
        leased.append(_leased(leasing, question, serving.lease_s))
    return leased


def _renewed(leasing: Leasing, question: Question, lease_s: float) -> Question:
    """A lease with more than half its time left stays as it is: most answers come long before, and writing costs."""
    fresh = question.lease_until is not None and question.lease_until - leasing.now > lease_s / 2
    same_length = fresh and question.lease_until is not None and question.lease_until <= leasing.now + lease_s
    return question if same_length else _leased(leasing, question, lease_s)


def _leased(leasing: Leasing, question: Question, lease_s: float) -> Question:
    """The question in this person's hands. Each is handed out a microsecond after the last, which keeps their order."""
    leased = replace(question, respondent=leasing.respondent, lease_until=leasing.now + lease_s)
    if question.respondent != leasing.respondent or question.asked_at is None:
        of_model = question.purpose == "train" and question.model_version
        unseen = leasing.unseen(question.model_version) if of_model else 0
        leased = replace(leased, asked_at=leasing.now + 1e-6 * leasing.n_leased, unseen_answers=unseen)
        leasing.n_leased += 1
    leasing.keep_lease(leased)
    return leased


def _next(leasing: Leasing, leased: list[Question], serving: Serving) -> Question | None:
    if leasing.n_practice < len(serving.practice):
        leasing.n_practice += 1
        return _personal(leasing, serving.practice[leasing.n_practice - 1])
    position = leasing.n_done + sum(question.purpose != "practice" for question in leased)
    if serving.per_person is not None and position >= serving.per_person:
        return None
    if serving.most_wrong and leasing.n_wrong >= serving.most_wrong:
        return None
    due = serving.catch_until(leasing.respondent, position)
    if leasing.n_catch < len(due):
        leasing.n_catch += 1
        return _personal(leasing, due[leasing.n_catch - 1])
    if serving.is_repeat_at(leasing.respondent, position) and (again := _again(leasing, leased, serving)):
        return again
    keys = {question_key(question.query, question.kind) for question in leased}
    purpose = serving.purpose_at(leasing.respondent, position)
    if serving.draw_at is not None:  # an order of its own: no queue, and nothing that others were asked
        place = position - leasing.n_catch - leasing.n_repeats
        return _first_new(leasing, serving.draw_at(purpose, place), keys, serving)
    open_ones = {"keys": keys, "repeats": serving.repeats, "condition": serving.condition}
    if serving.overlap > 1 and (copy := leasing.next_open(purpose, copies=True, **open_ones)):  # type: ignore[arg-type]
        return copy  # what others were asked comes first, so that queries are completed
    if purpose == "train" and serving.is_random_at(leasing.respondent, position):
        return _drawn(leasing, purpose, keys, serving, strategy_asked="random")
    found = leasing.next_open(purpose, copies=False, **open_ones)  # type: ignore[arg-type]
    return found or _drawn(leasing, purpose, keys, serving)


def _again(leasing: Leasing, leased: list[Question], serving: Serving) -> Question | None:
    """What this person answered a while ago, once more: a question of its own that never trains."""
    before = leasing.to_repeat(max(0, serving.repeat_gap - len(leased)))
    if before is None:
        return None
    leasing.n_repeats += 1
    again = replace(before, purpose="repeat", copy_of=before.id, shown=_other_order(before), asked_at=None)
    return _personal(leasing, replace(again, lease_until=None, unseen_answers=0, created_at=leasing.now))


def _other_order(question: Question) -> tuple[int, ...]:
    """Places on the screen drawn anew, so that nobody repeats a place; classes keep theirs."""
    order = list(question.shown)
    if question.kind != "label":
        secrets.SystemRandom().shuffle(order)
    return tuple(order)


def _drawn(
    leasing: Leasing, purpose: Purpose, keys: set[str], serving: Serving, strategy_asked: str | None = None
) -> Question | None:
    """A random question: every hold-out question is one, train questions meant to be, or when the queue is dry."""
    if serving.draw is None:
        return None
    return _first_new(leasing, serving.draw(purpose), keys, serving, strategy_asked)


def _first_new(
    leasing: Leasing,
    drawn: Iterator[Question],
    keys: set[str],
    serving: Serving,
    strategy_asked: str | None = None,
) -> Question | None:
    """The first of these that the person neither holds nor has answered, put into the queue."""
    old = keys if serving.repeats else keys | leasing.seen()
    for question in drawn:
        if question_key(question.query, question.kind) not in old:
            if strategy_asked is not None:
                question = replace(question, strategy_asked=strategy_asked)
            leasing.add([question])
            return question
    return None


def _personal(leasing: Leasing, template: Question) -> Question:
    question = replace(template, id=secrets.token_hex(8), respondent=leasing.respondent)
    leasing.add([question])
    return question


def _copy(question: Question) -> Question:
    return replace(question, id=secrets.token_hex(8), copy_of=question.id)


# --- answers in ------------------------------------------------------------------------------------


def accept_answer(leasing: Leasing, answer: Answer, must_hold: bool) -> tuple[Answer, Question | None]:
    """The answer as it is to be kept (number 0) beside its question; or as it was kept before, and None.

    With `must_hold`, only of somebody the question was handed to. One person answers a question once; somebody it was
    not handed to cannot answer it after another.
    """
    check_answer(answer)
    before = leasing.answer(answer.id)
    if before is not None:
        if (before.question_id, before.respondent) != (answer.question_id, answer.respondent):
            raise AlreadyAnsweredError(f'Answer id "{answer.id}" belongs to another answer; this one was not stored.')
        return before, None
    found = leasing.question(answer.question_id)
    if found is None:
        raise never_asked(answer.question_id, leasing.study)
    question, state = found
    holds = state == "leased" and question.respondent == answer.respondent
    lease_end = question.lease_until if holds else leasing.lease_end(question.id)
    if must_hold and lease_end is None:
        raise UnknownQuestionError(f'Question "{question.id}" was not handed to participant {answer.respondent}.')
    check_response(question, answer.response, answer.outcome)
    if not holds:  # what one holds, one has not answered
        for earlier in leasing.answers_to(question.id):
            stranger = lease_end is None and earlier.outcome != "skipped"
            if earlier.respondent == answer.respondent or stranger:
                raise second_answer(earlier)
    taken_over = state == "leased" and not holds
    if not taken_over:
        leasing.close(question)
    if question.purpose != "practice":
        leasing.n_done += 1
    leasing.n_wrong += is_wrong(question, answer)
    late = answer.late or (lease_end is not None and (lease_end <= leasing.now or taken_over))
    return replace(answer, received_at=answer.received_at or leasing.now, late=late, number=0), question


def is_wrong(question: Question, answer: Answer) -> bool:
    """Whether somebody did not see what a catch question asks."""
    return question.purpose == "catch" and answer.response is not None and answer.response != question.expected


def new_answers(
    answered: Sequence[Answered],
    study: str,
    known: Callable[[str], bool],
    questions: Mapping[str, Question],
    in_force: set[tuple[str, str]],
) -> list[Answered]:
    """What an import brings that is not `known` by its answer's id, each once; refused as a whole if any cannot be.

    `questions` are those that are there already, `in_force` who answered which: (question, respondent).
    """
    fresh: dict[str, Answered] = {}
    asked, taken = dict(questions), set(in_force)
    for pair in answered:
        answer = pair.answer
        if known(answer.id) or answer.id in fresh:
            continue
        check_answer(answer)
        check_question(pair.question)
        question = asked.setdefault(answer.question_id, replace(pair.question, study=study))
        try:
            _check_same(question, pair.question)
            check_response(question, answer.response, answer.outcome)
        except InvalidQueryError as error:
            raise DataError(f'Answer "{answer.id}" cannot be imported: {error}') from error
        if not answer.undone:
            if (question.id, answer.respondent) in taken:
                raise DataError(
                    f'Answer "{answer.id}" cannot be imported: participant "{answer.respondent}" has answered question '
                    f'"{question.id}" already.'
                )
            taken.add((question.id, answer.respondent))
        fresh[answer.id] = Answered(question, answer)
    return list(fresh.values())


def _check_same(kept: Question, given: Question) -> None:
    if _asks(kept) != _asks(given):
        raise InvalidQueryError(f'question "{kept.id}" is another one here.')


def _asks(question: Question) -> tuple[Any, ...]:
    return question.kind, question_key(question.query, question.kind), [option.label for option in question.options]


def never_asked(question_id: str, study: str) -> UnknownQuestionError:
    return UnknownQuestionError(f'Question "{question_id}" was never asked in study "{study}".')
