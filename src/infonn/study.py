"""Study: ask, tell, run. It drives the loop; what was asked and answered is in the storage, not in here."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.beliefs import Belief
from infonn.contracts.loop import Learner, Measure, Oracle, Situation, Strategy, Task
from infonn.contracts.storage import Answered, Storage
from infonn.errors import AlreadyAnsweredError, DataError, StudyError
from infonn.queries import Answers, Kind, not_among, padded_queries, question_keys, stack_queries
from infonn.records import Answer, Item, Outcome, Purpose, Question, Round, check_response

if TYPE_CHECKING:
    from pandas import DataFrame

_FIT, _SELECT, _ANSWER = 1, 2, 3  # streams of randomness that never meet


def choose(
    task: Task,
    strategy: Strategy,
    belief: Belief,
    answers: Answers,
    asked: IntArray,
    size: int,
    rng: Generator,
    kind: Kind,
) -> tuple[IntArray, FloatArray]:
    """Propose, drop what was asked before, select: up to `size` queries and their scores."""
    pool = task.propose(belief, answers, rng)
    pool = pool[not_among(pool, asked, kind)]
    if not len(pool):
        return pool, np.empty(0)
    allowed = partial(not_among, asked=asked, kind=kind) if getattr(task, "searchable", False) else None
    return strategy.choose(Situation(pool, belief, answers), size, rng, allowed)


def answers_of(answered: Sequence[Answered], kind: Kind, n_candidates: int) -> Answers:
    """Stored answers as arrays, in the order of arrival; skipped questions teach nothing."""
    rows = [pair for pair in answered if pair.answer.outcome == "answered"]
    queries = padded_queries([pair.question.query for pair in rows], n_candidates)
    return Answers(queries, np.array([pair.answer.response for pair in rows], np.int32), kind)


class Study:
    """An active study: `ask` for questions, `tell` their answers, look at the `embedding`.

    The model that chooses is fitted when a question is needed, warm from the fit before; `belief` and `embedding`
    are a cold fit of the stored answers, so they depend on nothing else. Same seed and answers, same study.
    """

    def __init__(
        self,
        name: str,
        storage: Storage,
        task: Task,
        learner: Learner,
        strategy: Strategy,
        *,
        kind: Kind = "nearest",
        candidates: int = 3,
        first: int = 20,
        seed: int = 0,
        strategy_name: str = "",
        lease_s: float = math.inf,
    ) -> None:
        self.name, self.storage, self.task, self.learner, self.strategy = name, storage, task, learner, strategy
        self.kind, self.candidates, self.first, self.seed = kind, candidates, first, seed
        self.strategy_name, self.lease_s = strategy_name, lease_s
        self._warm: tuple[Answers, Belief] | None = None  # answers seen, belief
        self._cold: tuple[Answers, Belief] | None = None

    @cached_property
    def item_names(self) -> list[str]:
        """The items' names, in the order of their indices."""
        return [item.name for item in self.storage.items(self.name)]

    # --- ask and tell ------------------------------------------------------------------------------

    def ask(self, size: int = 1, respondent: str = "") -> list[Question]:
        """`size` questions for this person, fewer only when nothing is left to ask.

        Whoever asks again before telling gets the same questions again.
        """
        if size < 1:
            raise ValueError(f"ask(size={size}): ask for at least 1 question.")
        taken = self.storage.take(self.name, respondent, size, self.lease_s)
        while len(taken) < size and (new := self.new_questions(size - len(taken))):
            self.storage.add_questions(self.name, new)  # of which others may take some
            taken = self.storage.take(self.name, respondent, size, self.lease_s)
        return taken

    def tell(
        self,
        question_id: str | Question,
        response: int | None,
        *,
        outcome: Outcome = "answered",
        respondent: str = "",
        answer_id: str | None = None,
        response_time_s: float | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Store an answer: the position of the chosen option, or None with `outcome` "skipped" or "cannot_tell".

        Telling the same answer again (same `answer_id`, or same question, person and response) is one answer.
        """
        question = question_id if isinstance(question_id, Question) else self.storage.question(self.name, question_id)
        check_response(question, response, outcome)
        answer = Answer(
            id=answer_id or f"{question.id}/{respondent}",
            question_id=question.id,
            respondent=respondent,
            response=None if response is None else int(response),
            outcome=outcome,
            response_time_s=response_time_s,
            received_at=time.time(),
            context=context or {},
        )
        stored = self.storage.add_answer(self.name, answer)
        while stored.undone and answer_id is None:  # what was said before was taken back
            answer = replace(answer, id=f"{answer.id}+")
            stored = self.storage.add_answer(self.name, answer)
        if stored.response != answer.response or stored.outcome != answer.outcome:
            raise AlreadyAnsweredError(
                f"Question {question.id} was already answered with {stored.response}; {answer.response} was not stored."
            )
        return stored

    def new_questions(self, size: int, purpose: Purpose = "train") -> list[Question]:
        """Choose `size` new questions; they are not stored yet. Hold-out questions are random."""
        earlier = self.storage.questions(self.name)
        asked = padded_queries([question.query for question in earlier], self.candidates)
        answers = self.answers()
        rng = default_rng([self.seed, _SELECT, len(answers), len(earlier)])
        n_random = size if purpose != "train" else max(0, min(size, self.first - len(earlier)))
        at_random = self.random_queries(n_random, asked, rng)
        chosen: list[tuple[IntArray, float | None, str]] = [(query, None, "random") for query in at_random]
        if len(chosen) < size and purpose == "train":
            asked = stack_queries([asked, *(query[None] for query in at_random)])
            queries, scores = choose(
                self.task, self.strategy, self._steering_belief(), answers, asked, size - len(chosen), rng, self.kind
            )
            chosen += [(query, float(score), self.strategy_name) for query, score in zip(queries, scores)]
        return [
            self.make_question(query, used, rng, purpose, score, len(answers), f"{len(earlier) + i}-")
            for i, (query, score, used) in enumerate(chosen)
        ]

    # --- what was learned --------------------------------------------------------------------------

    def answers(self, purpose: Purpose = "train") -> Answers:
        """The stored answers as arrays; by default those that train the model."""
        return answers_of(self.storage.answers(self.name, purpose), self.kind, self.candidates)

    def belief(self) -> Belief:
        """A cold fit of the stored answers: what is reported and exported."""
        answers = self.answers()
        if self._cold is None or not _same(self._cold[0], answers):  # one may have been taken back since
            self._cold = answers, self._fit(answers, default_rng([self.seed, len(answers)]))
        return self._cold[1]

    def embedding(self) -> DataFrame:
        """Where the answers place the items: one row per item, by name."""
        from pandas import DataFrame, Index

        points = self.belief().embedding
        columns = [f"x{i}" for i in range(points.shape[1])]
        return DataFrame(points, index=Index(self.item_names, name="item"), columns=columns)

    # --- simulation --------------------------------------------------------------------------------

    def run(
        self, oracle: Oracle, rounds: int, size: int, measures: Mapping[str, Measure] | None = None
    ) -> Iterator[Round]:
        """Ask and tell an oracle: the first random questions, then `rounds` batches of `size`.

        Yields each round as it is stored, round 0 after the first questions, be there none. A run that was
        interrupted goes on where its storage ended, and comes to the same end.
        """
        done = self.storage.rounds(self.name)[: rounds + 1]
        yield from done
        for index in range(len(done), rounds + 1):
            started = time.perf_counter()
            batch = self._batch_of_round(index, size)
            if not batch and index > 0:
                return  # the pool has run out before the budget
            answered = {pair.question.id for pair in self.storage.answers(self.name)}
            rng = default_rng([self.seed, _ANSWER, index])
            responses = oracle.answer(padded_queries([q.query for q in batch], self.candidates), rng)
            for question, response in zip(batch, responses):
                if question.id not in answered:
                    self.tell(question, int(response))
            belief = self._steering_belief()
            values = {name: float(measure(belief)) for name, measure in (measures or {}).items()}
            result = Round(index, len(self.answers()), values, time.perf_counter() - started)
            self.storage.add_round(self.name, result)
            yield result

    # --- inside ------------------------------------------------------------------------------------

    def _batch_of_round(self, index: int, size: int) -> list[Question]:
        """The questions of round `index` of a simulation, those asked before an interruption included."""
        before = 0 if index == 0 else self.first + (index - 1) * size
        after = self.first + index * size
        questions = self.storage.questions(self.name)
        if len(questions) < after:
            self.storage.add_questions(self.name, self.new_questions(after - len(questions)))
            questions = self.storage.questions(self.name)
        return questions[before:after]

    def _steering_belief(self) -> Belief:
        """The belief that chooses: fitted warm along the answer counts at which the model was used before."""
        answers = self.answers()
        if self._warm is not None and _same(self._warm[0], answers):
            return self._warm[1]
        if self._warm is None:  # after a restart: replay the fits, so that the study goes on as it would have
            counts = {question.model_version for question in self.storage.questions(self.name)}
            counts |= {round.n_answers for round in self.storage.rounds(self.name)}
        else:
            counts = set()
        start = None if self._warm is None else self._warm[1]
        for count in sorted({n for n in counts if 0 < n < len(answers)} | {len(answers)}):
            rng = default_rng([self.seed, _FIT, count])
            start = self._fit(answers.take(slice(0, count)), rng, start)
        assert start is not None
        self._warm = answers, start
        return start

    def _fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """What the learner makes of the answers; kernels trust that its embedding has a place for every item."""
        belief = self.learner.fit(answers, rng, start)
        points, n_items = to_numpy(belief.embedding), len(self.item_names)
        if points.ndim != 2 or len(points) != n_items:
            raise DataError(
                f"The learner's embedding has shape {points.shape}; of {n_items} items it is ({n_items}, dims)."
            )
        if not np.isfinite(points).all():
            row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
            raise DataError(f"The learner's embedding of item {row} is {points[row]}; it must be finite numbers.")
        return belief

    def random_queries(self, size: int, asked: IntArray, rng: Generator) -> list[IntArray]:
        """Random queries, none asked before and none twice; fewer where the pool has no more."""
        found: list[IntArray] = []
        known = set(question_keys(asked, self.kind).tolist())
        for _ in range(50):
            if len(found) >= size:
                break
            drawn = self.task.first_queries(size - len(found), rng)
            for query, key in zip(drawn, question_keys(drawn, self.kind).tolist()):
                if key not in known:
                    known.add(key)
                    found.append(query)
        return found

    def make_question(
        self,
        query: IntArray,
        used: str,
        rng: Generator,
        purpose: Purpose = "train",
        score: float | None = None,
        model_version: int = 0,
        prefix: str = "",
    ) -> Question:
        """The question that asks `query`, chosen by strategy `used`; its options in a random order on the screen."""
        items = tuple(int(item) for item in query if item >= 0)
        options = self.task.options(query)
        return Question(
            id=f"{prefix}{uuid.UUID(bytes=rng.bytes(16), version=4).hex[:12]}",
            study=self.name,
            query=items,
            names=tuple(self.item_names[item] for item in items),
            options=options,
            shown=self._order(len(options), rng),
            kind=self.kind,
            purpose=purpose,
            strategy_asked=used,
            strategy_used=used,
            model_version=model_version if used != "random" else 0,
            score=score,
            created_at=time.time(),
        )

    def _order(self, n_options: int, rng: Generator) -> tuple[int, ...]:
        """Where options stand on the screen: at random, but classes keep their places, so that a hand finds them."""
        order = rng.permutation(n_options)
        return tuple(range(n_options)) if self.kind == "label" else tuple(int(i) for i in order)


def _same(one: Answers, other: Answers) -> bool:
    return np.array_equal(one.queries, other.queries) and np.array_equal(one.responses, other.responses)


def check_same_study(name: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse to go on with a study under other settings than it was made with."""
    for table in sorted(set(stored) | set(wanted)):
        if stored.get(table) != wanted.get(table):
            raise StudyError(
                f'Study "{name}" exists with other settings: [{table}] is {stored.get(table)} there and '
                f"{wanted.get(table)} here. Use another name, or the stored settings."
            )


def check_same_items(name: str, stored: Sequence[Item], wanted: Sequence[Item]) -> None:
    """Refuse to go on with a study of other items: questions hold their numbers."""
    if len(stored) != len(wanted):
        raise StudyError(
            f'Study "{name}" exists with {len(stored)} items, and here are {len(wanted)}. Use another name.'
        )
    for number, (there, here) in enumerate(zip(stored, wanted)):
        if there.name != here.name:
            raise StudyError(
                f'Study "{name}" exists with other items: item {number} is "{there.name}" there and "{here.name}" '
                "here. Use another name, or the stored items in their order."
            )
