"""Paired differences: what an interval tells, and how many trials would tell more."""

import numpy as np
import pytest

from infonn.maths.paired import detectable, paired_difference, trials_to_decide


def test_an_interval_of_normal_differences_is_two_standard_errors_wide_either_way() -> None:
    differences = np.random.default_rng(3).normal(0.1, 1.0, 400)
    found = paired_difference(differences, np.zeros(400))
    error = differences.std(ddof=1) / 20
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.05)
    assert detectable(found.low, found.high) == pytest.approx(2.8 * error, rel=0.05)


def test_four_times_the_trials_find_half_the_difference() -> None:
    assert trials_to_decide(0.1, -0.1, 0.3, 10) == pytest.approx(82, abs=1)  # (2.8 / 1.96 * .2 / .1)^2 * 10
    assert trials_to_decide(0.05, -0.15, 0.25, 10) == pytest.approx(4 * 82, abs=4)
    assert trials_to_decide(-0.1, -0.3, 0.1, 10) == trials_to_decide(0.1, -0.1, 0.3, 10)
    assert trials_to_decide(0.0, -0.1, 0.1, 10) == float("inf")


def test_so_many_trials_decide_four_times_in_five() -> None:
    """The chance of a false alarm of this test, over 200 simulations: below 1 in 1,000."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=2000)
    first = paired_difference((noise - noise.mean()) / noise.std() + 0.4, np.zeros(2000))  # mean 0.4, deviation 1
    n = int(trials_to_decide(first.mean, first.low, first.high, first.n))
    assert n == pytest.approx((2.8 / 0.4) ** 2, abs=4)
    decided = [paired_difference(rng.normal(0.4, 1.0, n), np.zeros(n), 500).above for _ in range(200)]
    assert np.mean(decided) == pytest.approx(0.8, abs=0.1)
