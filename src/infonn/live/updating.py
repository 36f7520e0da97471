"""One live study in a worker's hands: its answers so far, the belief that steers, and its queue of questions."""

from __future__ import annotations

import logging
import secrets
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import IntArray
from infonn.beliefs import Belief
from infonn.contracts.storage import Answered, LiveStorage
from infonn.live.cold_fits import ColdFit, ColdFitter
from infonn.live.studies import queues
from infonn.loop import FIT, SELECT, Loop, live_rng
from infonn.queries import Answers, padded_queries
from infonn.records import Question
from infonn.specs.settings import check_spec
from infonn.study import Study

log = logging.getLogger("infonn.live.worker")

REFILL_EVERY_S = 0.25
SMALLEST_QUEUE, FIRST_QUEUE, LARGEST_QUEUE = 60, 400, 1500
LEAST_EFFORT = 0.02  # of a learner that can do with less


@dataclass
class Updater:
    """Takes in answers, fits them warm, keeps the queue full, and has it fitted cold when that is due."""

    storage: LiveStorage
    study: Study
    fitter: ColdFitter
    revision: tuple[int, int] = (-1, -1)
    cold_fit: tuple[int, int] = (-1, -1)  # the revision of the last cold fit
    answered: list[Answered] = field(default_factory=list)
    warm_belief: Belief | None = None
    belief_version: int = 0  # answers on record when `warm_belief` was fitted
    effort: float = 1.0  # of a warm update
    rate: float = 0.0  # answers a second, lately
    n_left: int = LARGEST_QUEUE  # questions the last refill found; fewer than wanted where the pool has no more
    cycle_s: float = 0.5  # from answers to a new queue: rather too long than too short
    cold_fit_s: float = 0.0  # seconds that fit took
    cold_fit_at: float = -np.inf
    cold_fit_answers: int = 0
    looked_at: float = -np.inf
    taken_in_at: float = -np.inf
    compiled: bool = False
    active_at: float = field(default_factory=time.monotonic)

    def update(self) -> bool:
        """Refill the queue or take in new answers, and start a cold fit where one is due; whether it did anything."""
        found = self.storage.revision(self.study.name)
        since, self.looked_at = self.looked_at, time.monotonic()
        is_low = self.storage.queue_depth(self.study.name) < min(self.queue_size(), self.n_left) // 2
        fresh = found != self.revision
        if fresh and (is_low or self.looked_at - self.taken_in_at > REFILL_EVERY_S):
            # Each new queue is a write that answers wait for: not more often than they profit.
            self._take_in(found)
            if is_low:
                self._refill()  # people first: what the belief knows now will do until it is fitted
            self._update_belief()
            self._refill()
        elif is_low:
            self._refill()
        else:
            return not fresh and self.cold_fit != found and self.fitter.start(self.study, self.n_left)
        if self._cold_fit_is_due():
            self.fitter.start(self.study, self.n_left)
        self.active_at = time.monotonic()
        took = self.active_at - max(since, self.looked_at - 10)  # with what the worker did in between
        self.cycle_s = max(took, 0.8 * self.cycle_s + 0.2 * took)
        return True

    def note(self, made: ColdFit) -> None:
        """A cold fit of this study was made."""
        self.cold_fit_at, self.active_at = time.monotonic(), time.monotonic()
        if not made.problem:
            self.cold_fit, self.cold_fit_s, self.cold_fit_answers = made.revision, made.seconds, made.n_answers

    @property
    def settled(self) -> bool:
        return self.cold_fit == self.revision

    def queue_size(self) -> int:
        """Enough questions for a few turns of the loop at the present rate; a whole crowd may arrive at once."""
        if self.warm_belief is None:
            return FIRST_QUEUE
        return int(np.clip(4 * self.rate * (self.cycle_s + REFILL_EVERY_S), SMALLEST_QUEUE, LARGEST_QUEUE))

    def compile_kernels(self) -> None:
        """Fit and select once on made-up answers, so that kernels are compiled before the first person waits."""
        self.compiled = True
        log.info("compiling what study %r needs, before its first question is chosen", self.study.name)
        rng = default_rng(0)
        queries = self.study.task.first_queries(3, rng)
        n_options = len(self.study.task.options(queries[0])) if len(queries) else 0
        if not n_options:
            return
        made_up = Answers(queries, rng.integers(0, n_options, len(queries), dtype=np.int32), self.study.kind)
        belief = self.study.loop.fit(made_up, rng)
        self.study.loop.choose(belief, made_up, queries, 1, rng)

    # --- inside ------------------------------------------------------------------------------------

    def _take_in(self, found: tuple[int, int]) -> None:
        if found[1] == self.revision[1]:  # nothing was undone, excluded or imported: the new ones are enough
            new = self.storage.answers(self.study.name, None, after=self.revision[0])
            self.answered += [pair for pair in new if pair.answer.number <= found[0]]
        else:
            everything = self.storage.answers(self.study.name, None)
            self.answered = [pair for pair in everything if pair.answer.number <= found[0]]
        now = time.monotonic()
        if self.revision[0] >= 0:
            rate = (found[0] - self.revision[0]) / max(now - self.taken_in_at, 1e-3)
            self.rate = 0.7 * self.rate + 0.3 * rate
        else:
            self.effort = self._first_effort()
        self.taken_in_at, self.revision = now, found

    def _train_answers(self) -> Answers:
        pairs = [pair for pair in self.answered if pair.question.purpose == "train"]
        return self.study.answers_of(pairs)

    def _update_belief(self) -> None:
        """A warm update of the belief that chooses; it is never shown or exported."""
        answers = self._train_answers()
        if len(answers) < self.study.first:
            return
        started = time.monotonic()
        rng = live_rng(self.study.seed, FIT, len(answers))
        self.warm_belief = self.study.loop.with_effort(self.effort).fit(answers, rng, self.warm_belief)
        self.belief_version = self.revision[0]
        # As long as twenty answers take to come, but half a second in any case, and never more than five.
        patience_s = float(np.clip(20 / max(self.rate, 1e-9), 0.5, 5.0))
        seconds = max(time.monotonic() - started, 1e-3)
        self.effort = float(np.clip(self.effort * min(patience_s / seconds, 1.5), LEAST_EFFORT, 1.0))

    def _first_effort(self) -> float:
        """A study with many answers, taken over from another worker, shall have a belief in about a second."""
        kept = self.storage.load_model(self.study.name)
        seconds = 0.0 if kept is None else float(kept[1].get("seconds", 0.0))
        return float(np.clip(1 / max(seconds, 1e-9), LEAST_EFFORT, 1.0))

    def _refill(self) -> None:
        """Replace what nobody holds by what the belief would ask now."""
        study, version = self.study, self.revision[0]
        leased = self.storage.questions(study.name, "leased")
        asked = [pair.question.query for pair in self.answered] + [question.query for question in leased]
        rows = padded_queries(asked, study.candidates)
        rng = live_rng(study.seed, SELECT, version, secrets.randbits(32))
        questions: list[Question] = []
        people = check_spec(self.storage.study(study.name).spec)["people"]
        filled = (
            queues(people, self.storage.items(study.name), study.task) if people["conditions"] else {"": study.task}
        )
        size = -(-self.queue_size() // max(1, len(filled)))
        for condition, task in filled.items():
            chosen = self._chosen(replace(study.loop, task=task), rows, size, rng)
            questions += [replace(question, condition=condition) for question in chosen]
        self.storage.replace_open(study.name, questions)
        self.n_left = len(questions)

    def _chosen(self, loop: Loop, asked: IntArray, size: int, rng: Generator) -> list[Question]:
        """What the belief would ask now, or random questions as long as there is none."""
        study, answers = self.study, self._train_answers()
        if self.warm_belief is None or len(answers) < study.first:
            queries = loop.random_queries(size, asked, rng)
            questions = [study.make_question(query, "random", rng) for query in queries]
            if len(answers) >= study.first:  # it should have been chosen, and there is no belief yet: say so
                questions = [replace(question, strategy_asked=study.strategy_name) for question in questions]
            return questions
        chosen, scores = loop.choose(self.warm_belief, answers, asked, size, rng)
        version, examples = self.belief_version, study.task.examples(self.warm_belief, answers)
        return [
            study.make_question(
                query, study.strategy_name, rng, score=float(score), model_version=version, examples=examples
            )
            for query, score in zip(chosen, scores)
        ]

    def _cold_fit_is_due(self) -> bool:
        """While answers keep coming, cold fits may take a small share of the time."""
        waited = time.monotonic() - self.cold_fit_at
        grown = len(self.answered) >= 1.02 * self.cold_fit_answers + 1
        return not self.settled and grown and waited > max(2.0, self.fitter.pause * self.cold_fit_s)
