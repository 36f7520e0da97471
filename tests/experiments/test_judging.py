"""One rule for every verdict: enough trials, every interval, and None where they cannot tell."""

import numpy as np
import pytest

from infonn.experiments import judging
from infonn.experiments.trial import Curve
from infonn.maths.paired import paired_difference

ABOVE = paired_difference(np.arange(6) + 1.0, np.zeros(6))
UNSURE = paired_difference([3.0, -2.0, 3.0, -2.0, 0.5], np.zeros(5))
BELOW = paired_difference(np.zeros(6), np.arange(6) + 1.0)
FEW = paired_difference([1.0, 2.0], [0.0, 0.0])


@pytest.mark.parametrize(
    ("differences", "holds"),
    [
        ({"a": ABOVE}, True),
        ({"a": ABOVE, "b": UNSURE}, None),
        ({"a": ABOVE, "b": BELOW}, False),
        ({"a": FEW}, None),
        ({"a": ABOVE, "b": None}, None),
        ({}, None),
    ],
)
def test_a_claim_needs_trials_and_an_interval(differences, holds) -> None:
    assert judging.above(differences)[0] is holds


def test_margins_are_for_means() -> None:
    assert judging.within({"a": ABOVE}, 3.5)[0] is True
    assert judging.within({"a": BELOW}, 3.4)[0] is False
    assert judging.not_below({"a": BELOW}, 3.4)[0] is False
    assert judging.not_below({"a": ABOVE}, 0.0)[0] is True
    assert judging.within({"a": FEW}, 10)[0] is judging.not_below({"a": FEW}, 10)[0] is None


def test_evidence_says_how_many_trials_and_a_nameless_difference_stands_alone() -> None:
    entry = {"mean": 3.5, "low": pytest.approx(2.2, abs=0.2), "high": pytest.approx(4.8, abs=0.2), "wins": 1.0}
    assert judging.above({"": ABOVE})[1] == entry | {"trials": 6}
    assert judging.above({"a": ABOVE, "b": None})[1] == {
        "a": entry | {"trials": 6},
        "b": {"mean": None, "low": None, "high": None, "wins": None, "trials": 0},
    }


def curve(trial: int, queries: list[int], values: list[float]) -> Curve:
    return Curve("a", "b", {}, trial, trial, queries, [2 * n for n in queries], {"m": values})


def test_methods_are_compared_where_both_have_answers_after_the_start() -> None:
    ours = [curve(0, [20, 30, 40, 50], [0.0, 0.3, 0.4, 0.9])]
    theirs = [curve(0, [20, 40], [0.0, 0.2]), curve(1, [20, 40], [0.0, 0.2])]
    assert judging.compare(ours, theirs, "m").mean == pytest.approx((0.2 + 0.2) / 2)  # at 30, interpolated, and at 40
    assert judging.compare(ours, theirs, "m", low=35).mean == pytest.approx(0.2)
    assert judging.compare(ours, theirs, "m", "triplets", high=60).mean == pytest.approx(0.2)
    assert judging.compare(ours, theirs, "m", low=60) is None
    assert judging.compare(ours, theirs[1:], "m") is None
