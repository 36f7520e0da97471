"""Study: ask, tell, run. It drives the loop; what was asked and answered is in the storage, not in here."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from infonn.analysis.dimensions import DIMS, FOLDS, DimensionChoice, choose_dims
from infonn.analysis.groups import GroupMaps, group_maps
from infonn.analysis.reliability import SPLITS, Reliability, reliability_of, split_half_of
from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief, Examples, triplet_accuracy_of
from infonn.contracts.loop import Learner, Measure, Oracle, Strategy, Task
from infonn.contracts.storage import Answered, Storage
from infonn.errors import AlreadyAnsweredError, StudyError
from infonn.findings import Findings, Outlook, findings_of
from infonn.loop import ASK, FIT, OPENING, SELECT, Loop, Run, cold_rng, fit_runs, live_rng, simulation_rng
from infonn.maths.annotators import dawid_skene, majority
from infonn.maths.forecast import EXPECTED_AS_GOOD_AS, FEWEST_HELD_OUT, FEWEST_POINTS, forecast
from infonn.queries import Answers, Kind, no_answers, padded_queries, split_into_triplets, stack_queries
from infonn.records import Answer, Item, Outcome, Purpose, Question, Round, check_response

if TYPE_CHECKING:
    from pandas import DataFrame

    from infonn.notebook import Summary

_PARTS = 6  # growing parts of the answers that an outlook fits


CORRECTION = "correction"  # what chose a question whose answer counts for more than what others said of the item


def answers_of(answered: Sequence[Answered], kind: Kind, n_candidates: int, rule: str = "majority") -> Answers:
    """Stored answers as arrays, in the order of arrival; skipped questions teach nothing.

    Of labels each item has one: where people disagree `rule` decides, "majority" or "dawid_skene".
    """
    rows = [pair for pair in answered if pair.answer.outcome == "answered"]
    if kind == "label":
        rows = _one_label_each(rows, rule)
    if not rows:
        return no_answers(n_candidates, kind)
    queries = padded_queries([pair.question.query for pair in rows], 0)
    return Answers(queries, np.array([pair.answer.response for pair in rows], np.int32), kind)


def _one_label_each(rows: Sequence[Answered], rule: str) -> list[Answered]:
    """An answer for each item that was labelled, in the order of their first ones; a correction is final."""
    last = {pair.question.query[0]: pair for pair in rows}
    if len(last) == len(rows):
        return list(rows)
    numbers = {person: number for number, person in enumerate(dict.fromkeys(pair.answer.respondent for pair in rows))}
    items, people, labels = (
        np.array(column)
        for column in zip(*((p.question.query[0], numbers[p.answer.respondent], p.answer.response) for p in rows))
    )
    resolved = (dawid_skene if rule == "dawid_skene" else majority)(items, people, labels, int(labels.max()) + 1)
    label_of = dict(zip(resolved.items.tolist(), resolved.labels.tolist()))
    label_of |= {p.question.query[0]: p.answer.response for p in rows if p.question.strategy_used == CORRECTION}
    return [replace(pair, answer=replace(pair.answer, response=label_of[item])) for item, pair in last.items()]


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
        resolve: str = "majority",
    ) -> None:
        self.name, self.storage, self.task, self.learner, self.strategy = name, storage, task, learner, strategy
        self.kind, self.candidates, self.first, self.seed = kind, candidates, first, seed
        self.strategy_name, self.lease_s, self.resolve = strategy_name, lease_s, resolve
        self.wait_until_ready: Callable[[], None] = _is_ready  # called before a question is chosen
        self._warm: tuple[Answers, Belief] | None = None  # answers seen, belief
        self._cold: tuple[Answers, Belief] | None = None
        self._shown: tuple[Belief, FloatArray] | None = None  # a belief and its map

    @property
    def loop(self) -> Loop:
        """The parts as they are now."""
        return Loop(self.task, self.learner, self.strategy, self.kind, self.candidates, self.first)

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
        rng = live_rng(self.seed, SELECT, len(answers), len(earlier))
        n_random = size if purpose != "train" else max(0, min(size, self.first - len(earlier)))
        at_random = self.loop.random_queries(n_random, asked, rng)
        scored: list[tuple[IntArray, float | None]] = [(query, None) for query in at_random]
        examples = None
        if len(scored) < size and purpose == "train":
            asked = stack_queries([asked, at_random])
            self.wait_until_ready()
            belief = self.warm_belief()
            examples = self.task.examples(belief, answers)
            queries, scores = self.loop.choose(belief, answers, asked, size - len(scored), rng)
            scored += [(query, float(score)) for query, score in zip(queries, scores)]
        return self._questions(scored, rng, len(answers), len(earlier), purpose, examples)

    # --- what was learned --------------------------------------------------------------------------

    def answers(self, purpose: Purpose = "train") -> Answers:
        """The stored answers as arrays; by default those that train the model."""
        return self.answers_of(self.storage.answers(self.name, purpose))

    def answers_of(self, answered: Sequence[Answered]) -> Answers:
        """Answers on record as arrays; where people disagree on a label, by the study's own rule."""
        return answers_of(answered, self.kind, self.candidates, self.resolve)

    def belief(self) -> Belief:
        """A cold fit of the stored answers: what is reported and exported."""
        answers = self.answers()
        if self._cold is None or not _same(self._cold[0], answers):  # one may have been taken back since
            self._cold = answers, self.loop.fit(answers, cold_rng(self.seed, len(answers)))
        return self._cold[1]

    def warm_belief(self) -> Belief:
        """The belief that chooses: fitted warm along the answer counts at which the model was used before."""
        answers = self.answers()
        if self._warm is not None and _same(self._warm[0], answers):
            return self._warm[1]
        start, fits = None, {len(answers): live_rng(self.seed, FIT, len(answers))}
        if self._warm is not None:
            start = self._warm[1]
        else:  # after a restart: replay the fits, so that the study goes on as it would have
            for question in self.storage.questions(self.name):
                fits[question.model_version] = live_rng(self.seed, FIT, question.model_version)
            for round in self.storage.rounds(self.name):
                fits[round.n_answers] = simulation_rng(self.seed, round.index, FIT)
        for count in sorted(count for count in fits if 0 < count <= len(answers) or count == len(answers)):
            start = self.loop.fit(answers.take(slice(0, count)), fits[count], start)
        assert start is not None
        self._warm = answers, start
        return start

    def embedding(self) -> DataFrame:
        """Where the answers place the items: one row per item, by name.

        It has the `dims` columns that the learner was asked for, or else as many as its draws agree on.
        """
        from pandas import DataFrame, Index

        points = self._map()
        columns = [f"x{i}" for i in range(points.shape[1])]
        return DataFrame(points, index=Index(self.item_names, name="item"), columns=columns)

    def findings(self) -> Findings:
        """What the fit of the stored answers says about itself: its map, what features are worth, whether to trust it.

        `print(*study.findings().sentences)` tells it in words.
        """
        return findings_of(self.belief(), self._map().shape[1], self.loop.dims)

    def fitted_findings(self) -> Findings | None:
        """The findings, where the answers have been fitted already; nothing is fitted for them."""
        fitted = self._cold is not None and _same(self._cold[0], self.answers())
        return self.findings() if fitted else None

    def outlook(self) -> Outlook:
        """What 100 more answers would add to the accuracy, with a 90 % interval, and whether to stop.

        Growing parts of the answers are fitted, which takes a few times as long as `embedding`. Accuracy is that of
        triplets: of the hold-out answers where there are at least 20, else as the model's own draws expect it.
        """
        answers, held_out = self.answers(), self.answers("hold_out")
        by_people = len(held_out) >= FEWEST_HELD_OUT
        measured_by = f"{len(held_out)} hold-out answers" if by_people else "what the model's draws expect"
        if self.kind == "label":
            return Outlook(None, measured_by, "Label questions have no outlook here; the owner's page has one.")
        counts = np.unique(np.linspace(len(answers) / _PARTS, len(answers), _PARTS).astype(int))
        parts = [answers.take(slice(0, count)) for count in counts[counts > 0]]
        beliefs = [self.loop.fit(part, cold_rng(self.seed, len(part))) for part in parts[:-1]]
        beliefs += [self.belief()] if parts else []
        if beliefs and not by_people and beliefs[-1].draws is None:
            needs = f"An outlook needs {FEWEST_HELD_OUT} hold-out answers, or a learner with draws, as the default has."
            return Outlook(None, measured_by, needs)
        triplets = split_into_triplets(held_out) if by_people else None
        accuracy = [triplet_accuracy_of(belief, triplets) for belief in beliefs]
        trusted = len(held_out) if by_people else EXPECTED_AS_GOOD_AS
        found = forecast(counts[counts > 0], np.array(accuracy), np.full(len(parts), trusted), 0.5, len(answers))
        waiting = f"An outlook needs at least {FEWEST_POINTS} answers."
        return Outlook(None if found is None else found.gain, measured_by, waiting)

    # --- how far it can be trusted -----------------------------------------------------------------

    def reliability(self, splits: int = SPLITS) -> Reliability:
        """Agreement of people with one another and with themselves, noise ceiling, alpha, split halves of the map.

        Each has a sentence that says what it means; `print` shows them. `splits` maps of halves are fitted, twice each.
        """
        train = self.storage.answers(self.name, "train")
        split_half = split_half_of(train, self.answers(), self.loop, self.seed, splits)
        return reliability_of(self.storage.answers(self.name, None), split_half, self.seed)

    def choose_dims(
        self, dims: Sequence[int] = DIMS, folds: int = FOLDS, watch: Callable[[int, int], None] | None = None
    ) -> DimensionChoice:
        """How many dimensions the map needs, by how well held-out answers are foreseen; `print` shows the table.

        `watch` is told how many of all fits are done.
        """
        everything = [*self.storage.answers(self.name, "train"), *self.storage.answers(self.name, "hold_out")]
        answers = self.answers_of(everything)
        return choose_dims(answers, self.loop, self.seed, dims, folds, watch)

    def maps(self, by: str = "respondent") -> GroupMaps:
        """A map for each person, or for each value that the answers' context has under a key, such as "condition"."""
        train = self.storage.answers(self.name, "train")
        return group_maps(train, self.answers(), self.loop, self.item_names, by, self.seed)

    # --- in a notebook -----------------------------------------------------------------------------

    def to_pandas(self) -> DataFrame:
        """Every answer in the order of arrival, one row each: what was asked, of whom, chosen how, what was said."""
        from infonn.notebook import to_pandas

        return to_pandas(self)

    def summary(self) -> Summary:
        """Where the study stands: counts of what was asked and answered, and the measures of the last round."""
        from infonn.notebook import summary

        return summary(self)

    def _repr_html_(self) -> str:
        """What a notebook shows of a study: its counts, its curve, and the map where a model was fitted already."""
        from infonn.notebook import study_html

        fitted = self._cold or self._warm
        return study_html(self, None if fitted is None else fitted[1])

    # --- simulation --------------------------------------------------------------------------------

    def run(
        self, oracle: Oracle, rounds: int, size: int, measures: Mapping[str, Measure] | None = None
    ) -> Iterator[Round]:
        """Ask and tell an oracle: the first random questions, then `rounds` batches of `size`.

        Yields each round as it is stored, round 0 after the first questions (even if there are none). A run that was
        interrupted goes on where its storage ended, and comes to the same end, which is that of an experiment with
        the same parts and seed.
        """
        run, stored = Run(self.loop, self.seed), self.storage.answers(self.name)
        told = {pair.question.id for pair in stored}
        answers = self.answers_of(stored)
        questions = self.storage.questions(self.name)
        done = self.storage.rounds(self.name)[: rounds + 1]
        for round in done:  # the fits of an earlier run once more: each belief comes from the one before
            run.round = round.index
            self._fit_run(run, answers.take(slice(0, round.n_answers)))
            yield round
        for index in range(len(done), rounds + 1):
            started = time.perf_counter()
            before = 0 if index == 0 else self.first + (index - 1) * size
            after = self.first + index * size
            new = self._questions_of_round(run, index, after - len(questions), questions)
            if new:
                self.storage.add_questions(self.name, new)
                questions += new
            batch, run.round = questions[before:after], index
            if not batch and index > 0:
                return  # the pool has run out before the budget
            if not told.issuperset(question.id for question in batch):
                responses = oracle.answer(padded_queries([q.query for q in batch], self.candidates), run.rng(ASK))
                for question, response in zip(batch, responses):
                    if question.id not in told:
                        self.tell(question, int(response))
            belief = self._fit_run(run, self.answers())
            values = {name: float(measure(belief)) for name, measure in (measures or {}).items()}
            result = Round(index, len(run.answers), values, time.perf_counter() - started)
            self.storage.add_round(self.name, result)
            yield result

    # --- inside ------------------------------------------------------------------------------------

    def _map(self) -> FloatArray:
        """The map of `belief()`, made once."""
        belief = self.belief()
        if self._shown is None or self._shown[0] is not belief:
            self._shown = belief, self.loop.map_of(belief)
        return self._shown[1]

    def _questions_of_round(self, run: Run, index: int, size: int, earlier: Sequence[Question]) -> list[Question]:
        """The questions that a round of a simulation still lacks; those asked before an interruption are there."""
        if size <= 0:
            return []
        asked = padded_queries([question.query for question in earlier], self.candidates)
        scored: list[tuple[IntArray, float | None]]
        if index == 0:
            scored = [(query, None) for query in self.loop.random_queries(size, asked, run.rng(OPENING))]
        else:
            queries, scores = run.choose(size, asked)
            scored = [(query, float(score)) for query, score in zip(queries, scores)]
        n_answers = len(run.answers)
        return self._questions(scored, live_rng(self.seed, SELECT, n_answers, len(earlier)), n_answers, len(earlier))

    def _fit_run(self, run: Run, answers: Answers) -> Belief:
        """The belief of a simulation's round, which `ask` goes on from as well."""
        run.take(answers)
        fit_runs([run])
        assert run.belief is not None
        self._warm = answers, run.belief
        return run.belief

    def _questions(
        self,
        scored: Sequence[tuple[IntArray, float | None]],
        rng: Generator,
        n_answers: int,
        n_earlier: int,
        purpose: Purpose = "train",
        examples: Examples | None = None,
    ) -> list[Question]:
        """Queries as questions; one without a score was drawn at random."""
        return [
            self.make_question(
                query,
                "random" if score is None else self.strategy_name,
                rng,
                purpose,
                score,
                n_answers,
                f"{n_earlier + i}-",
                examples,
            )
            for i, (query, score) in enumerate(scored)
        ]

    def make_question(
        self,
        query: IntArray,
        used: str,
        rng: Generator,
        purpose: Purpose = "train",
        score: float | None = None,
        model_version: int = 0,
        prefix: str = "",
        examples: Examples | None = None,
    ) -> Question:
        """The question that asks `query`, chosen by strategy `used`; its options in a random order on the screen."""
        items = tuple(int(item) for item in query if item >= 0)
        options = self.task.options(query, examples)
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


def _is_ready() -> None:
    """Nothing is under way that a choice should wait for."""


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
