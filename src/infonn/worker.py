"""Keeps live studies fitted and their queues of questions full, so that nobody waits for a fit."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import default_rng

from infonn.arrays import to_numpy
from infonn.beliefs import Belief
from infonn.errors import InfonnError, StorageError
from infonn.framework import Answered, LiveStorage
from infonn.maths.prediction import expected_responses, plane_of, response_log_probs, spread_of, wilson_interval
from infonn.queries import Answers, last_labels, padded_queries
from infonn.records import Question, Round, StudyRecord
from infonn.specs import build_study, check_spec
from infonn.study import Study, answers_of, choose

log = logging.getLogger("infonn.worker")

POLL_S = 0.05
REFILL_EVERY_S = 0.25
SMALLEST_QUEUE, LARGEST_QUEUE = 30, 1000
FALLBACK_WARNING = 0.01  # share of fallback questions above which the log says so
_STEER, _SELECT = 4, 5  # streams of randomness, apart from those of `study`
_IDLE_S = 2.0  # without news for so long, a study is given back
_RETRY_S = 5.0  # after an error


@dataclass
class Keeper:
    """One study in a worker's hands: its answers so far, and the belief that steers its queue."""

    storage: LiveStorage
    study: Study
    mixes: bool = False  # whether some train questions are random, to compare the chosen ones with
    revision: tuple[int, int] = (-1, -1)
    reported: tuple[int, int] = (-1, -1)  # the revision of the last cold fit
    answered: list[Answered] = field(default_factory=list)
    steering: Belief | None = None
    rate: float = 0.0  # answers a second, lately
    n_leased: int = 0  # questions people hold
    n_left: int = LARGEST_QUEUE  # questions the last refill found; fewer than wanted where the pool has no more
    cycle_s: float = 0.5  # seconds from answers to a new queue, lately
    cold_s: float = 0.0  # seconds of the last cold fit
    cold_at: float = -np.inf
    cold_answers: int = 0
    compared: int = 0  # answers of each sort at the last comparison of random with chosen questions
    looked_at: float = -np.inf
    rehearsed: bool = False
    active_at: float = field(default_factory=time.monotonic)

    def tend(self) -> bool:
        """Take in new answers and refill the queue, or report while there is nothing to take in; whether it worked."""
        started = time.monotonic()
        found = self.storage.revision(self.study.name)
        is_low = self.storage.queue_depth(self.study.name) < min(self.queue_size(), self.n_left) // 2
        if found != self.revision and (is_low or self._is_time()):
            self._take_in(found)
            self._steer()
            self._refill()
        elif is_low:
            self._refill()
        elif found == self.revision and self.reported != self.revision:
            self._report()
            return True
        else:
            return False
        self.cycle_s = 0.7 * self.cycle_s + 0.3 * (time.monotonic() - started)
        self.active_at = time.monotonic()
        if self._report_is_due():
            self._report()
        return True

    def queue_size(self) -> int:
        """Enough questions for a few turns of the loop or a cold fit at the present rate, and one for everybody."""
        busy_s = max(4 * (self.cycle_s + REFILL_EVERY_S), 2 * self.cold_s)
        needed = self.rate * busy_s + self.n_leased + 20
        return int(np.clip(needed, SMALLEST_QUEUE, LARGEST_QUEUE))

    def _is_time(self) -> bool:
        """Each new queue is a write that answers wait for: not more often than they profit."""
        return time.monotonic() - self.looked_at > REFILL_EVERY_S

    def rehearse(self) -> None:
        """Fit and select once on made-up answers, so that kernels are compiled before the first person waits."""
        self.rehearsed = True
        rng = default_rng(0)
        queries = self.study.task.first_queries(3, rng)
        n_options = len(self.study.task.options(queries[0])) if len(queries) else 0
        if not n_options:
            return
        made_up = Answers(queries, rng.integers(0, n_options, len(queries), dtype=np.int32), self.study.kind)
        belief = self.study.learner.fit(made_up, rng)
        choose(self.study.task, self.study.strategy, belief, made_up, queries, 1, rng, self.study.kind)

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
            rate = (found[0] - self.revision[0]) / max(now - self.looked_at, 1e-3)
            self.rate = 0.7 * self.rate + 0.3 * rate
        self.looked_at, self.revision = now, found

    def _answers(self, purpose: str) -> Answers:
        pairs = [pair for pair in self.answered if pair.question.purpose == purpose]
        return answers_of(pairs, self.study.kind, self.study.candidates)

    def _steer(self) -> None:
        """A warm update of the belief that chooses; it is never reported."""
        answers = self._answers("train")
        if len(answers) >= self.study.first:
            rng = default_rng([self.study.seed, _STEER, len(answers)])
            self.steering = self.study.learner.fit(answers, rng, self.steering)

    def _refill(self) -> None:
        """Replace what nobody holds by what the belief would ask now."""
        study, version = self.study, self.revision[0]
        leased = self.storage.questions(study.name, "leased")
        self.n_leased = len(leased)
        asked = [pair.question.query for pair in self.answered] + [question.query for question in leased]
        rows = padded_queries(asked, study.candidates)
        rng = default_rng([study.seed, _SELECT, version, secrets.randbits(32)])
        answers = self._answers("train")
        questions: list[Question]
        if self.steering is None or len(answers) < study.first:
            queries = study.random_queries(self.queue_size(), rows, rng)
            questions = [study.make_question(query, "random", rng) for query in queries]
        else:
            chosen, scores = choose(
                study.task, study.strategy, self.steering, answers, rows, self.queue_size(), rng, study.kind
            )
            questions = [
                study.make_question(query, study.strategy_name, rng, score=float(score), model_version=version)
                for query, score in zip(chosen, scores)
            ]
        self.storage.replace_open(study.name, questions)
        self.n_left = len(questions)

    def _report_is_due(self) -> bool:
        """While answers keep coming a cold fit may take a small share of the time."""
        waited = time.monotonic() - self.cold_at
        grown = len(self.answered) >= 1.02 * self.cold_answers + 1
        return self.reported != self.revision and grown and waited > max(2.0, 10 * self.cold_s)

    def _report(self) -> None:
        """A cold fit of the stored answers: the model that is shown and exported, and its hold-out accuracy."""
        started = time.monotonic()
        answers = self._answers("train")
        belief = self.study.learner.fit(answers, default_rng([self.study.seed, len(answers)]))
        fit_s = time.monotonic() - started
        measures = {**hold_out_measures(belief, self._answers("hold_out")), **self._comparison(), "at": time.time()}
        self.cold_s = time.monotonic() - started
        model = model_of(belief, self.study, self.answered)
        model |= {"revision": list(self.revision), "n_answers": len(answers), "at": time.time(), "seconds": fit_s}
        self.storage.save_model(self.study.name, self.revision[0], model)
        index = len(self.storage.rounds(self.study.name))
        self.storage.add_round(self.study.name, Round(index, len(answers), measures, fit_s))
        self.storage.note(self.study.name, "reported", {"revision": list(self.revision), "queue": self.n_left})
        self.reported, self.cold_at, self.cold_answers = self.revision, time.monotonic(), len(self.answered)
        if self.steering is None and len(answers) >= self.study.first:
            self.steering = belief

    def _comparison(self) -> dict[str, float]:
        """Hold-out accuracy of random questions alone, and of as many chosen ones, whenever both have grown by 15 %."""
        if not self.mixes:
            return {}
        study, held_out = self.study, self._answers("hold_out")
        at_random, chosen = matched(self.answered, study.strategy_name, study.first)
        n = len(at_random)
        if not len(held_out) or n < 1.5 * study.first + 5 or n < 1.15 * self.compared:
            return {}
        self.compared = n
        measures = {"n_compared": float(n)}
        for sort, pairs in (("random", at_random), ("chosen", chosen)):
            answers = answers_of(pairs, study.kind, study.candidates)
            measured = hold_out_measures(study.learner.fit(answers, default_rng([study.seed, n])), held_out)
            kept = ("hold_out_accuracy", "hold_out_low", "hold_out_high")
            measures |= {f"{sort}_{key}": measured[key] for key in kept if key in measured}
        return measures


def matched(answered: list[Answered], strategy: str, first: int) -> tuple[list[Answered], list[Answered]]:
    """As many answers to random questions as to chosen ones, the earliest of each.

    Both begin with the `first` random ones, as a study of either sort would.
    """
    train = [pair for pair in answered if pair.question.purpose == "train" and pair.answer.outcome == "answered"]
    at_random = [pair for pair in train if pair.question.strategy_used == "random"]
    chosen = [pair for pair in train if pair.question.strategy_used == strategy != "random"]
    chosen = at_random[:first] + chosen
    n = min(len(at_random), len(chosen))
    return at_random[:n], chosen[:n]


def model_of(belief: Belief, study: Study, answered: list[Answered]) -> dict[str, Any]:
    """What is kept of a belief: places, a plane to draw them in, their spread, and how each person fits in."""
    embedding = to_numpy(belief.embedding).astype(float)
    model: dict[str, Any] = {"embedding": embedding, "plane": plane_of(embedding)}
    draws = belief.draws_of(np.arange(len(embedding)))
    if draws is not None:
        model["spread"] = spread_of(to_numpy(draws).astype(float), embedding)
    if study.kind == "label":
        train = [pair for pair in answered if pair.question.purpose == "train"]
        model["labelled"] = np.column_stack(last_labels(answers_of(train, study.kind, study.candidates)))
    model["people"] = _log_losses(belief, study, answered)
    return model


def _log_losses(belief: Belief, study: Study, answered: list[Answered]) -> Mapping[str, float]:
    """Mean surprise at each person's answers, in nats."""
    if belief.response is None or study.kind == "label":
        return {}
    pairs = [pair for pair in answered if pair.answer.response is not None and pair.question.purpose != "practice"]
    if not pairs:
        return {}
    answers = answers_of(pairs, study.kind, study.candidates)
    embedding = to_numpy(belief.embedding).astype(float)
    losses = -response_log_probs(embedding, answers.queries, answers.responses, study.kind, belief.response)
    people = np.array([pair.answer.respondent for pair in pairs])
    return {str(name): float(losses[people == name].mean()) for name in np.unique(people)}


def hold_out_measures(belief: Belief, held_out: Answers) -> dict[str, float]:
    """Accuracy on answers that never train, with its 95 % interval; nothing where there are none."""
    if not len(held_out):
        return {}
    if held_out.kind == "label":
        log_probs = belief.log_probs_of(held_out.queries[:, 0])
        if log_probs is None:
            return {}
        expected = np.logaddexp.reduce(to_numpy(log_probs), axis=0).argmax(axis=-1)
    else:
        expected = expected_responses(to_numpy(belief.embedding).astype(float), held_out.queries, held_out.kind)
    n_right = int((expected == held_out.responses).sum())
    low, high = wilson_interval(n_right, len(held_out))
    measures = {
        "n_hold_out": float(len(held_out)),
        "hold_out_accuracy": n_right / len(held_out),
        "hold_out_low": low,
        "hold_out_high": high,
    }
    if belief.response is not None and held_out.kind != "label":
        embedding = to_numpy(belief.embedding).astype(float)
        log_probs = response_log_probs(embedding, held_out.queries, held_out.responses, held_out.kind, belief.response)
        measures["hold_out_log_loss"] = float(-log_probs.mean())
    return measures


class Worker:
    """Looks after every study of a storage, as far as no other worker does.

    A study is claimed while it is worked on, and the claim renewed by a heartbeat; it ends by itself when the worker
    dies. Idle studies are given back, so that several workers share the work.
    """

    def __init__(self, storage: LiveStorage, claim_s: float = 15.0, name: str | None = None) -> None:
        self.storage, self.claim_s = storage, claim_s
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._keepers: dict[str, Keeper] = {}
        self._retry_at: dict[str, float] = {}
        self._lost: set[str] = set()  # claimed by another worker while this one was too busy to renew
        self._mended: set[str] = set()  # taken up, and an error noted earlier not yet taken back
        self._warned_at = -np.inf
        self._lock = threading.Lock()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set."""
        beat = threading.Thread(target=self._beat, args=(stop,), name="heartbeat", daemon=True)
        beat.start()
        while not stop.is_set():
            try:
                worked = self.turn()
            except StorageError as error:
                log.error("the storage failed, trying again: %s", error)
                stop.wait(1.0)
                continue
            if not worked:
                stop.wait(POLL_S)
        beat.join()
        for name in list(self._keepers):
            self._give_back(name)

    def turn(self) -> bool:
        """Tend every study once; whether there was anything to do."""
        worked = False
        for record in self.storage.studies():
            if self._tend(record):
                worked = True
        return worked or self._rehearse()

    # --- inside ------------------------------------------------------------------------------------

    def _tend(self, record: StudyRecord) -> bool:
        name = record.name
        if time.monotonic() < self._retry_at.get(name, -np.inf):
            return False
        if record.archived:
            self._give_back(name)
            return False
        if name in self._lost:
            self._forget(name)
        if name not in self._keepers and not self._take_up(record):
            return False
        keeper = self._keepers[name]
        try:
            worked = keeper.tend()
        except StorageError:
            raise
        except Exception as error:
            self._failed(name, error)
            return False
        if worked:
            if name in self._mended:
                self._mended.discard(name)
                self.storage.note(name, "error", None)
            self._warn_of_fallback(name)
        elif time.monotonic() - keeper.active_at > _IDLE_S:
            self._give_back(name)
        return worked

    def _rehearse(self) -> bool:
        """Compile what a new study needs, when no other study has to wait for it; whether there was one."""
        for name, keeper in self._keepers.items():
            if keeper.steering is None and not keeper.rehearsed:
                try:
                    keeper.rehearse()
                except Exception as error:
                    self._failed(name, error)
                return True
        return False

    def _take_up(self, record: StudyRecord) -> bool:
        """Claim a study that needs work."""
        if not self._needs_work(record.name) or not self.storage.claim(record.name, self.name, self.claim_s):
            return False
        try:
            mixes = check_spec(record.spec)["people"]["at_random"] > 0
            keeper = Keeper(self.storage, build_study(record.spec, self.storage), mixes)
        except StorageError:
            raise
        except Exception as error:
            self._failed(record.name, error)
            return False
        with self._lock:
            self._keepers[record.name] = keeper
        self._mended.add(record.name)
        self._say_alive(record.name)
        return True

    def _needs_work(self, name: str) -> bool:
        reported = self.storage.notes(name).get("reported", {})
        full = min(SMALLEST_QUEUE, reported.get("queue", SMALLEST_QUEUE))  # a small pool fills no queue
        news = reported.get("revision") != list(self.storage.revision(name))
        return news or self.storage.queue_depth(name) < full // 2

    def _failed(self, name: str, error: Exception) -> None:
        log.error('study "%s" could not be fitted', name, exc_info=error)
        sentence = str(error) if isinstance(error, InfonnError) else f"{type(error).__name__}: {error}"
        self.storage.note(name, "error", f"The model could not be fitted: {sentence}")
        self._retry_at[name] = time.monotonic() + _RETRY_S
        self._forget(name)
        self.storage.release(name, self.name)

    def _forget(self, name: str) -> None:
        with self._lock:
            self._keepers.pop(name, None)
            self._lost.discard(name)

    def _give_back(self, name: str) -> None:
        if name in self._keepers:
            self._forget(name)
            self.storage.release(name, self.name)

    def _beat(self, stop: threading.Event) -> None:
        """Renew the claims, and say that a worker is there."""
        while not stop.wait(self.claim_s / 4):
            try:
                with self._lock:
                    held = list(self._keepers)
                for name in held:
                    if not self.storage.claim(name, self.name, self.claim_s):
                        self._lost.add(name)
                for record in self.storage.studies():
                    if not record.archived:
                        self._say_alive(record.name)
            except InfonnError as error:
                log.warning("the heartbeat failed, trying again: %s", error)

    def _say_alive(self, name: str) -> None:
        self.storage.note(name, "worker", {"at": time.time(), "name": self.name})

    def _warn_of_fallback(self, name: str) -> None:
        if time.monotonic() - self._warned_at < 30:
            return
        self._warned_at = time.monotonic()
        counts = self.storage.counts(name)
        if counts.asked and counts.fallback / counts.asked > FALLBACK_WARNING:
            share = counts.fallback / counts.asked
            log.warning(
                'study "%s": %.1f %% of its questions (%d of %d) were random because the queue had run dry',
                *(name, 100 * share, counts.fallback, counts.asked),
            )
