"""People who have arrived and not answered yet: whoever only knocks takes no chosen questions from those who answer."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from infonn.contracts.storage import Serving

FIRST_LEASE_S = 120.0  # time for the first answer, after which its question goes to somebody else


class Newcomers:
    """How questions are dealt to people without an answer: few, for a short time, and chosen ones to `most` people.

    Whoever comes when that many hold chosen questions gets one random one, and chosen ones from the first answer on."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._until: dict[str, dict[str, float]] = defaultdict(dict)  # study -> newcomer -> when the lease is over
        self._lock = threading.Lock()

    def serving(self, study: str, person: str, serving: Serving) -> Serving:
        lease_s = min(serving.lease_s, FIRST_LEASE_S)
        if self._may_hold_chosen(study, person, lease_s):
            return replace(serving, lease_s=lease_s)
        return replace(
            serving, lease_s=lease_s, at_random=1.0, ahead=1
        )  # each is a row that only strangers made us keep

    def answered(self, study: str, person: str) -> None:
        """This person is no newcomer any more."""
        with self._lock:
            self._until[study].pop(person, None)

    def _may_hold_chosen(self, study: str, person: str, lease_s: float) -> bool:
        if self._most <= 0:
            return True
        with self._lock:
            now, holders = self._clock(), self._until[study]
            if person not in holders and len(holders) >= self._most:
                for name in [name for name, until in holders.items() if until <= now]:
                    del holders[name]
            if person in holders or len(holders) < self._most:
                holders[person] = now + lease_s
                return True
            return False
