"""Cold fits: what the stored answers alone make of a study, and how well it foresees those held out."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any, Protocol

import numpy as np
from numpy.random import default_rng

from infonn.analysis.reliability import FEWEST_ANSWERS, halve
from infonn.arrays import to_numpy
from infonn.beliefs import Belief, map_of
from infonn.contracts.storage import Answered, LiveStorage
from infonn.errors import InfonnError, StorageError
from infonn.findings import findings_of
from infonn.live.label_fits import class_probs, fit_labels, label_model
from infonn.live.limits import FitLimits
from infonn.live.outlook import NATS
from infonn.live.results import SPLIT_HALF, split_half_measures
from infonn.loop import cold_rng
from infonn.maths.intervals import wilson_interval
from infonn.maths.prediction import expected_responses, plane_of, response_log_probs, spread_of
from infonn.queries import Answers
from infonn.records import Round
from infonn.selection.lengths import nats_by_length
from infonn.specs.build import load_study, open_live_storage
from infonn.specs.settings import check_spec
from infonn.study import Study

log = logging.getLogger("infonn.live.worker")
_SPLITS, _GROWN, _LONGEST_HALVED_S = 3, 1.5, 30.0  # halves are fitted so often; and not where a fit takes longer


@dataclass(frozen=True)
class ColdFit:
    """A cold fit that was made: of which answers, and how long it took; or the problem that kept it back."""

    study: str
    revision: tuple[int, int] = (-1, -1)
    n_answers: int = 0
    seconds: float = 0.0
    problem: str = ""
    passing: bool = False  # a problem of the storage, which is over some time
    too_much: bool = False  # stopped for what it took of the machine


def fit_cold(storage: LiveStorage, study: Study, queue: int) -> ColdFit:
    """Fit the stored answers cold, and keep the model and its hold-out accuracy.

    Nothing but the study's seed and its answers goes into the fit, so whoever makes it comes to the same model.
    `queue` is left as word for whoever asks whether the study's queue is as full as it can be.
    """
    revision = storage.revision(study.name)
    answered = [pair for pair in storage.answers(study.name, None) if pair.answer.number <= revision[0]]
    started = time.monotonic()
    if study.kind == "label":
        fitted = fit_labels(study, answered)
        answers, held_out = fitted.train, fitted.held_out
        model, measures = label_model(fitted), fitted.measures()
    else:
        answers, held_out = (_answers(answered, study, purpose) for purpose in ("train", "hold_out"))
        belief = study.loop.fit(answers, cold_rng(study.seed, len(answers)))
        model = model_of(belief, study, answered)
        measures = hold_out_measures(belief, held_out) | length_measures(belief, study)
    seconds = time.monotonic() - started
    model |= {"revision": list(revision), "n_answers": len(answers), "at": time.time(), "seconds": seconds}
    storage.save_model(study.name, revision[0], model)
    rounds = storage.rounds(study.name)
    if check_spec(storage.study(study.name).spec)["people"]["at_random"] > 0:
        compared = max((round.measures.get("n_compared", 0.0) for round in rounds), default=0.0)
        measures |= comparison(study, answered, held_out, compared)
    measures |= _halves(study, answered, answers, rounds, seconds)
    storage.add_round(study.name, Round(len(rounds), len(answers), {**measures, "at": time.time()}, seconds))
    storage.note(study.name, "reported", {"revision": list(revision), "queue": queue})
    return ColdFit(study.name, revision, len(answered), time.monotonic() - started)


def _answers(answered: list[Answered], study: Study, purpose: str) -> Answers:
    return study.answers_of([pair for pair in answered if pair.question.purpose == purpose])


def comparison(study: Study, answered: list[Answered], held_out: Answers, compared: float) -> dict[str, float]:
    """Hold-out accuracy of random questions alone, and of as many chosen ones, whenever both have grown by 15 %.

    `compared` is how many there were of each at the last comparison.
    """
    at_random, chosen = matched(answered, study.strategy_name, study.first)
    n = len(at_random)
    if not len(held_out) or n < 1.5 * study.first + 5 or n < 1.15 * compared:
        return {}
    measures = {"n_compared": float(n)}
    for sort, pairs in (("random", at_random), ("chosen", chosen)):
        answers = study.answers_of(pairs)
        measured = hold_out_measures(study.loop.fit(answers, cold_rng(study.seed, n)), held_out)
        kept = ("hold_out_accuracy", "hold_out_low", "hold_out_high")
        measures |= {f"{sort}_{key}": measured[key] for key in kept if key in measured}
    return measures


def _halves(
    study: Study, answered: list[Answered], answers: Answers, rounds: list[Round], seconds: float
) -> dict[str, float]:
    """How far maps of half the people agree, whenever the answers have grown by half and a fit does not take long."""
    before = max((round.n_answers for round in rounds if SPLIT_HALF in round.measures), default=0)
    enough = len(answers) >= max(FEWEST_ANSWERS, _GROWN * before)
    if study.kind == "label" or not enough or seconds > _LONGEST_HALVED_S:
        return {}
    train = [pair for pair in answered if pair.question.purpose == "train"]
    halved = halve(train, answers, study.loop, study.seed, _SPLITS)
    return {} if halved is None else split_half_measures(halved)


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
    embedding = study.loop.map_of(belief).astype(float)
    whole, draws = to_numpy(belief.embedding).astype(float), belief.draws_of(np.arange(len(embedding)))
    model: dict[str, Any] = {"embedding": embedding}
    model["plane"] = plane_of(whole) if draws is None else map_of(belief, 2)
    if draws is not None:
        model["spread"] = spread_of(to_numpy(draws).astype(float), whole)
    model["findings"] = findings_of(belief, embedding.shape[1], study.loop.dims).to_json()
    model["people"] = _log_losses(belief, study, answered)
    return model


def _log_losses(belief: Belief, study: Study, answered: list[Answered]) -> Mapping[str, float]:
    """Mean surprise at each person's answers, in nats."""
    if belief.response is None:
        return {}
    pairs = [pair for pair in answered if pair.answer.response is not None and pair.question.purpose != "practice"]
    if not pairs:
        return {}
    answers = study.answers_of(pairs)
    embedding = to_numpy(belief.embedding).astype(float)
    losses = -response_log_probs(embedding, answers.queries, answers.responses, study.kind, belief.response)
    people = np.array([pair.answer.respondent for pair in pairs])
    return {str(name): float(losses[people == name].mean()) for name in np.unique(people)}


def hold_out_measures(belief: Belief, held_out: Answers) -> dict[str, float]:
    """Accuracy on answers that never train, with its 95 % interval; nothing where there are none."""
    if not len(held_out):
        return {}
    if held_out.kind == "label":  # of a comparison of models, which all are tested on the same labels
        expected = class_probs(belief, held_out.queries[:, 0]).argmax(axis=1)
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


def length_measures(belief: Belief, study: Study) -> dict[str, float]:
    """What the best questions of each number of candidates would tell; nothing where the belief has no draws."""
    if study.kind != "nearest" or belief.draws is None:
        return {}
    nats = nats_by_length(belief, default_rng(study.seed))
    return {f"{NATS}{length}": value for length, value in nats.items()}


# --- who makes them --------------------------------------------------------------------------------


class ColdFitter(Protocol):
    """Makes one cold fit at a time."""

    pause: float  # while answers keep coming, so many times as long as a fit took passes before the next

    def start(self, study: Study, queue: int) -> bool:
        """Begin a cold fit; False where another is still being made."""
        ...

    def finished(self) -> ColdFit | None:
        """The fit that has ended since this was asked last."""
        ...

    def stop(self) -> None: ...


class InlineFitter:
    """Fits made on the spot: for a storage that only this process can see."""

    pause = 10.0

    def __init__(self, storage: LiveStorage) -> None:
        self._storage = storage
        self._made: ColdFit | None = None

    def start(self, study: Study, queue: int) -> bool:
        if self._made is not None:
            return False
        self._made = _fit_or_problem(self._storage, study, queue)
        return True

    def finished(self) -> ColdFit | None:
        made, self._made = self._made, None
        return made

    def stop(self) -> None: ...


class BackgroundFitter:
    """Fits made by a process of their own at a lower priority: neither people nor queues wait for a cold fit."""

    pause = 1.0

    def __init__(self, url: str, limits: FitLimits | None = None) -> None:
        self._url, self._limits = url, limits
        self._started_at = 0.0
        self._study: str | None = None  # whose fit is being made
        self._process: Any = None
        self._pipe: Any = None

    def start(self, study: Study, queue: int) -> bool:
        if self._study is not None:
            return False
        if self._process is None or not self._process.is_alive():
            self._pipe, other = (context := get_context("spawn")).Pipe()
            self._process = context.Process(
                target=_fit_on_demand, args=(self._url, other), name="cold fits", daemon=True
            )
            self._process.start()
            other.close()
        self._study, self._started_at = study.name, time.monotonic()
        self._pipe.send((study.name, queue))
        return True

    def finished(self) -> ColdFit | None:
        if self._study is None:
            return None
        if not self._pipe.poll() and self._process.is_alive():
            return self._stopped()
        try:
            made: ColdFit = self._pipe.recv()
        except (EOFError, OSError):
            made = ColdFit(self._study, problem="the process that fits it ended")
        self._study = None
        return made

    def _stopped(self) -> ColdFit | None:
        """A fit that took too much, and was ended; None where it may go on."""
        seconds = time.monotonic() - self._started_at
        problem = None if self._limits is None else self._limits.exceeded(self._process.pid, seconds)
        if problem is None:
            return None
        made = ColdFit(self._study or "", problem=problem, too_much=True)
        self._process.kill()
        self._process.join()
        self._study = None
        return made

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.join(5)


def _fit_on_demand(url: str, jobs: connection.Connection) -> None:
    """The process in the background: a cold fit for every name that comes, until whoever sends them is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(os, "nice"):
        os.nice(5)  # after people and queues; lower still, and a busy machine would never get to it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    storage: LiveStorage | None = None
    while True:
        try:
            name, queue = jobs.recv()
        except EOFError:
            return
        try:
            storage = storage or open_live_storage(url)
            made = _fit_or_problem(storage, load_study(storage, name), queue)
        except InfonnError as error:
            made = ColdFit(name, problem=str(error), passing=isinstance(error, StorageError))
        jobs.send(made)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _fit_or_problem(storage: LiveStorage, study: Study, queue: int) -> ColdFit:
    try:
        return fit_cold(storage, study, queue)
    except StorageError as error:
        return ColdFit(study.name, problem=str(error), passing=True)
    except Exception as error:
        log.error('study "%s" could not be fitted', study.name, exc_info=error)
        return ColdFit(study.name, problem=str(error) if isinstance(error, InfonnError) else repr(error))
