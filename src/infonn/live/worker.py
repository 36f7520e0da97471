"""Keeps live studies fitted and their queues of questions full, so that nobody waits for a fit."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable

import numpy as np

from infonn.contracts.storage import LiveStorage
from infonn.errors import InfonnError, StorageError
from infonn.live.cold_fits import ColdFitter, InlineFitter
from infonn.live.limits import FitLimits, is_paused, pause_note
from infonn.live.updating import SMALLEST_QUEUE, Updater
from infonn.records import StudyRecord
from infonn.specs.build import build_study

log = logging.getLogger("infonn.live.worker")

POLL_S = 0.05
TOOK_TOO_MUCH = 75  # how a worker ends whose study took too much; the next one leaves that study alone
FALLBACK_WARNING = 0.01  # share of fallback questions above which the log says so
_IDLE_S = 2.0  # without news for so long, a study is given back
_RETRY_S = 5.0  # after an error
_WATCH_S = 0.25  # between two looks at what a fit takes
_LONG_S = 3.0  # an update that lasts longer should not hold up other studies


class Worker:
    """Looks after every study of a storage, as far as no other worker does.

    A study is claimed while it is worked on, and the claim renewed by a heartbeat; it ends by itself when the worker
    dies. Idle studies are given back, so that several workers share the work; while one study takes long, the others
    are given back too. `fitter` makes the cold fits: by default this process does. With `limits`, a study whose fit
    takes too much is left alone for a while and this process ends: only so is its memory free again.
    """

    def __init__(
        self,
        storage: LiveStorage,
        claim_s: float = 15.0,
        name: str | None = None,
        fitter: ColdFitter | None = None,
        limits: FitLimits | None = None,
        end: Callable[[int], None] = os._exit,
    ) -> None:
        self.storage, self.claim_s, self.limits, self._end = storage, claim_s, limits, end
        self.fitter = fitter or InlineFitter(storage)
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._updaters: dict[str, Updater] = {}
        self._retry_at: dict[str, float] = {}
        self._lost: set[str] = set()  # claimed by another worker while this one was too busy to renew
        self._updated_at: dict[str, float] = {}
        self._mended: set[str] = set()  # taken up, and an error noted earlier not yet taken back
        self._warned_at = -np.inf
        self._at_work: tuple[str, float] | None = None  # the study that is being updated, and since when
        self._lock = threading.Lock()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set."""
        beat = threading.Thread(target=self._beat, args=(stop,), name="heartbeat", daemon=True)
        beat.start()
        watch = threading.Thread(target=self._watch, args=(stop,), name="watch", daemon=True)
        watch.start()
        while not stop.is_set():
            try:
                worked = self.turn()
            except StorageError as error:
                log.error("the storage failed, trying again: %s", error)
                stop.wait(1.0)
                continue
            if not worked:
                stop.wait(POLL_S)
        self.fitter.stop()
        beat.join()
        for name in list(self._updaters):
            self._give_back(name)

    def turn(self) -> bool:
        """Update every study once, those that waited longest first; whether there was anything to do."""
        worked = self._take_cold_fit()
        for record in sorted(self.storage.studies(), key=lambda record: self._updated_at.get(record.name, -np.inf)):
            if self._update(record):
                worked = True
                self._updated_at[record.name] = time.monotonic()
        return worked or self._compile_kernels()

    # --- inside ------------------------------------------------------------------------------------

    def _update(self, record: StudyRecord) -> bool:
        name = record.name
        if time.monotonic() < self._retry_at.get(name, -np.inf):
            return False
        if name in self._lost:
            self._forget(name)
        if name not in self._updaters and not self._take_up(record):
            return False
        updater = self._updaters[name]
        self._at_work = name, time.monotonic()
        try:
            worked = updater.update()
        except StorageError:
            raise
        except Exception as error:
            self._raised(name, error)
            return False
        finally:
            self._at_work = None
        if worked:
            self._warn_of_fallback(name)
        elif updater.settled and time.monotonic() - updater.active_at > _IDLE_S:
            self._give_back(name)
        return worked

    def _take_cold_fit(self) -> bool:
        """Note a cold fit that has ended; whether there was one."""
        made = self.fitter.finished()
        if made is None:
            return False
        if made.study in self._updaters:
            self._updaters[made.study].note(made)
        if made.passing:
            log.warning("a cold fit failed, trying again: %s", made.problem)
        elif made.problem:
            self._failed(made.study, made.problem, too_much=made.too_much)
        elif made.study in self._mended:
            self._mended.discard(made.study)
            self.storage.note(made.study, "error", None)
        return True

    def _compile_kernels(self) -> bool:
        """Compile what a new study needs, when no other study has to wait for it; whether there was one."""
        for name, updater in self._updaters.items():
            if updater.warm_belief is None and not updater.compiled:
                try:
                    updater.compile_kernels()
                except Exception as error:
                    self._raised(name, error)
                return True
        return False

    def _take_up(self, record: StudyRecord) -> bool:
        """Claim a study that needs work."""
        if not self._needs_work(record) or not self.storage.claim(record.name, self.name, self.claim_s):
            return False
        try:
            updater = Updater(self.storage, build_study(record.spec, self.storage), self.fitter)
        except StorageError:
            raise
        except Exception as error:
            self._raised(record.name, error)
            return False
        with self._lock:
            self._updaters[record.name] = updater
        self._mended.add(record.name)
        self._say_alive(record.name)
        return True

    def _needs_work(self, record: StudyRecord) -> bool:
        """Whether the study has answers to fit or a queue to fill; one that has ended, answers to fit."""
        notes = self.storage.notes(record.name)
        if is_paused(notes.get("paused"), record.spec):
            return False
        reported, found = notes.get("reported", {}), self.storage.revision(record.name)
        news = reported.get("revision") != list(found)
        if record.archived:
            return news and found[0] > 0
        full = min(SMALLEST_QUEUE, reported.get("queue", SMALLEST_QUEUE))  # a small pool fills no queue
        return news or self.storage.queue_depth(record.name) < full // 2

    def _raised(self, name: str, error: Exception) -> None:
        log.error('study "%s" could not be fitted', name, exc_info=error)
        self._failed(name, str(error) if isinstance(error, InfonnError) else f"{type(error).__name__}: {error}")

    def _failed(self, name: str, problem: str, too_much: bool = False) -> None:
        self.storage.note(name, "error", f"The model could not be fitted: {problem}")
        if too_much:
            self.storage.note(name, "paused", pause_note(self.storage.study(name).spec))
        self._retry_at[name] = time.monotonic() + _RETRY_S
        self._forget(name)
        self.storage.release(name, self.name)

    def _forget(self, name: str) -> None:
        with self._lock:
            self._updaters.pop(name, None)
            self._lost.discard(name)

    def _give_back(self, name: str) -> None:
        if name in self._updaters:
            self._forget(name)
            self.storage.release(name, self.name)

    def _watch(self, stop: threading.Event) -> None:
        """Look at what the update at work takes, and end the process where that is too much."""
        while not stop.wait(_WATCH_S):
            at_work = self._at_work
            if at_work is None or self.limits is None:
                continue
            name, since = at_work
            problem = self.limits.exceeded(os.getpid(), time.monotonic() - since)
            if problem is not None:
                log.error('study "%s": %s', name, problem)
                try:
                    self._failed(name, problem, too_much=True)
                    for other in list(self._updaters):
                        self._give_back(other)
                finally:
                    self.fitter.stop()
                    self._end(TOOK_TOO_MUCH)

    def _held_up(self) -> set[str]:
        """Studies that wait for another's long update: other workers may have them meanwhile."""
        at_work = self._at_work
        if at_work is None or time.monotonic() - at_work[1] < _LONG_S:
            return set()
        with self._lock:
            return set(self._updaters) - {at_work[0]} - self._lost

    def _beat(self, stop: threading.Event) -> None:
        """Renew the claims, and say that a worker is there."""
        while not stop.wait(self.claim_s / 4):
            try:
                for name in self._held_up():
                    self._lost.add(name)
                    self.storage.release(name, self.name)
                with self._lock:
                    held = set(self._updaters) - self._lost
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
