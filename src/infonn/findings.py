"""What people are told about a study: how far to trust its map, what features are worth, what more answers would add.

The numbers come from elsewhere; here is the one home of the sentences, and of the limits at which they are said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infonn.beliefs import Belief
from infonn.maths.forecast import MORE, PAYS, Gain
from infonn.maths.pace import Pace, fastest

CHAINS_DISAGREE = 3.0
"""R-hat from which on chains are said to disagree. It is that of a fit's last 80 moves or fewer, over twelve distances
and the likelihood, so it lies between 1.2 and 2.5 in studies whose maps are as good as the answers allow."""

WORTH_SAYING = 1.05  # another length is recommended where it brings so many times as much in a minute


@dataclass(frozen=True)
class Findings:
    """What a fit says about itself; None where its learner does not know."""

    columns: int  # of the map
    asked_for: int | None = None  # columns that the learner was told to have
    feature_share: float | None = None  # of the variance of the map
    r_hat: float | None = None

    @property
    def chains_disagree(self) -> bool:
        return self.r_hat is not None and self.r_hat > CHAINS_DISAGREE

    @property
    def sentences(self) -> list[str]:
        """The columns, what features are worth, and whether the chains disagree, as far as it is known."""
        columns = f"{self.columns} column{'' if self.columns == 1 else 's'}"
        told = [f"The map has {columns}, {'as asked for' if self.asked_for else 'as many as the answers support'}."]
        if self.feature_share is not None:
            told.append(f"Features explain {percent(self.feature_share)} of the map.")
        return told + self.warnings

    @property
    def warnings(self) -> list[str]:
        if not self.chains_disagree:
            return []
        return [
            f"The chains disagree (R-hat {self.r_hat:.1f}, and it should be below {CHAINS_DISAGREE:g}): another fit of "
            "the same answers may give another map. More answers help."
        ]

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Findings:
        return Findings(**values)


def findings_of(belief: Belief, columns: int, asked_for: int | None = None) -> Findings:
    """What the state of a belief says: `feature_share` of each chain, and the chains' `r_hat`."""
    state = belief.state or {}
    share, r_hat = state.get("feature_share"), state.get("r_hat")
    return Findings(
        columns,
        asked_for,
        None if share is None else float(np.mean(share)),
        None if r_hat is None else float(r_hat),
    )


@dataclass(frozen=True)
class Outlook:
    """What 100 more answers would add; `gain` is None where that cannot be told yet."""

    gain: Gain | None
    measured_by: str  # what the accuracies come from
    waiting: str = ""  # why nothing can be told

    @property
    def stop(self) -> bool:
        """Whether it no longer pays to ask on: the rule of `maths.forecast`."""
        return self.gain is not None and self.gain.stop

    @property
    def sentences(self) -> list[str]:
        if self.gain is None:
            return [self.waiting]
        return [*gain_sentences(self.gain), f"Accuracy is measured by {self.measured_by}."]


# --- more answers ----------------------------------------------------------------------------------------------


def gain_sentences(gain: Gain) -> list[str]:
    """What the next answers are expected to add; and, where that is too little, that one could stop."""
    interval = f"{_points(gain.low)} to {_points(gain.high)}"
    expected = f"{MORE} more answers are expected to add {_points(gain.expected)} percentage points ({interval})."
    if not gain.stop:
        return [expected]
    return [expected, f"You could stop: they almost surely add less than {_worth()}."]


def length_sentences(measured: Sequence[Pace], candidates: int) -> list[str]:
    """Which number of candidates brings most in a minute, beside the study's own; nothing where that is not known."""
    own = next((pace for pace in measured if pace.candidates == candidates), None)
    if own is None:
        return []
    best = fastest(measured)
    times = (
        f"an answer {'took' if own.recorded else 'is taken to need'} {own.seconds:.1f} s with {candidates} candidates"
    )
    rest = "" if best.recorded else ", and other lengths are taken to need time in proportion to the items shown"
    if best.nats_per_minute < WORTH_SAYING * own.nats_per_minute:
        own_pace = f"{own.nats_per_minute:.1f} nats"
        alike = f"No other number of candidates would tell much more in a minute than {candidates} ({own_pace})"
        return [f"{alike}: {times}{rest}."]
    compared = f"{best.nats_per_minute:.1f} nats against {own.nats_per_minute:.1f} with {candidates}"
    return [f"Questions with {best.candidates} candidates would tell most in a minute: {compared}; {times}{rest}."]


def percent(share: float, digits: int = 0) -> str:
    """As the pages write it: 0.123 -> "12 %"."""
    return f"{100 * share:.{digits}f} %"


def _points(share: float) -> str:
    return f"{100 * max(0.0, share):.1f}"


def _worth() -> str:
    return f"{100 * PAYS:.0f} percentage point{'' if PAYS == 0.01 else 's'}"
