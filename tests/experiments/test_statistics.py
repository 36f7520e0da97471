"""Numbers that claims rest on, against values worked out by hand."""

import numpy as np
import pytest

from infonn.errors import DataError
from infonn.experiments.statistics import (
    answers_ratio,
    answers_to_target,
    mean_level,
    median_answers,
    paired_curves,
    paired_difference,
    pick,
    quartiles,
    series,
    value_at,
)
from infonn.experiments.trial import Curve


def curve(values, trial=0, method="a", queries=None, **settings):
    queries = queries or [20 + 10 * i for i in range(len(values))]
    return Curve(method, "mds", settings, trial, trial, queries, [2 * n for n in queries], {"tau": list(values)})


def test_the_target_counts_from_the_shared_start_and_is_interpolated() -> None:
    # running median of 3: .0 .2 .4 .6 .8 .8; the target .5 lies half way between the points at 20 and 30 answers
    assert answers_to_target(curve([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), "tau", 0.5) == pytest.approx(25)


def test_a_lucky_round_does_not_reach_the_target_and_a_dip_of_one_round_does_not_lose_it() -> None:
    assert answers_to_target(curve([0, 0.9, 0, 0, 0.9, 0.9, 0.9]), "tau", 0.5) > 30
    assert answers_to_target(curve([0.9, 0.9, 0.9, 0, 0.9, 0.9]), "tau", 0.5) == 0


def test_a_curve_that_falls_below_again_has_not_arrived() -> None:
    assert answers_to_target(curve([0.9, 0.9, 0.9, 0.1, 0.1, 0.9, 0.9]), "tau", 0.5) == pytest.approx(45)
    assert answers_to_target(curve([0.9, 0.9, 0.9, 0.1, 0.1]), "tau", 0.5) == np.inf


def test_trials_that_never_arrive_count_as_infinite() -> None:
    fast, slow, never = curve([0, 1, 1, 1]), curve([0, 0, 1, 1]), curve([0, 0, 0, 0])
    assert median_answers([fast, slow, never], "tau", 0.5) == answers_to_target(slow, "tau", 0.5)
    assert median_answers([slow, never], "tau", 0.5) == np.inf
    assert answers_ratio([never], [slow], "tau", 0.5) == np.inf
    assert answers_ratio([slow], [never], "tau", 0.5) == 0
    assert np.isnan(answers_ratio([never], [never], "tau", 0.5))


def test_paired_difference_uses_the_pairs() -> None:
    noise = np.random.default_rng(1).normal(size=20)
    better = paired_difference(noise + 0.1, noise)
    assert better.mean == pytest.approx(0.1)
    assert better.above
    assert better.wins == 1
    assert paired_difference(noise, noise + 0.1).below
    unclear = paired_difference(noise, np.zeros(20))
    assert not unclear.above
    assert not unclear.below
    with pytest.raises(DataError, match="one number per trial"):
        paired_difference([], [])


def test_bootstrap_interval_covers_as_promised() -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(200):
        sample = paired_difference(rng.normal(0.3, 1, 30), np.zeros(30), n_resamples=500)
        covered += sample.low <= 0.3 <= sample.high
    assert covered > 175  # 95 % of 200 is 190, sd 3; a percentile interval of 30 covers about 93 %


def test_curves_are_picked_by_method_and_settings_in_order_of_trials() -> None:
    curves = [curve([1, 2], trial=1, C=3), curve([3, 4], trial=0, C=3), curve([5, 6], C=4), curve([7, 8], method="b")]
    assert series(pick(curves, "a", C=3), "tau").tolist() == [[3, 4], [1, 2]]
    assert len(pick(curves)) == 4
    with pytest.raises(DataError, match="equally many"):
        series([curve([1]), curve([1, 2])], "tau")


def test_pairs_are_matched_by_trial() -> None:
    first, second = paired_curves(
        [curve([1], trial=2), curve([2], trial=0)], [curve([3], trial=2), curve([4], trial=1)]
    )
    assert [c.trial for c in first] == [c.trial for c in second] == [2]


def test_levels_and_values_along_a_curve() -> None:
    example = curve([0.0, 0.2, 0.4])
    assert mean_level(example, "tau") == pytest.approx(0.3)
    assert value_at(example, "tau", 25) == pytest.approx(0.1)
    assert value_at(example, "tau", 60, axis="triplets") == pytest.approx(0.2)
    assert np.isnan(value_at(example, "tau", 1000))
    low, middle, high = quartiles(np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]))
    assert (low[0], middle[0], high[0]) == (2, 3, 4)
