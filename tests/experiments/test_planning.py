"""Answers to a target, simulated: both strategies on the same studies, and honest about what was not reached."""

import math

import numpy as np
import pytest

from infonn.errors import InfonnError
from infonn.experiments.planning import (
    ACTIVE,
    MEASURE,
    RANDOM,
    Wanted,
    counts_of,
    estimate,
    gain_at,
    plan_paces,
    run_plan,
    saving,
)
from infonn.experiments.trial import Curve


def curve(method: str, values: list[float]) -> Curve:
    return Curve(method, "mds", {}, 0, 0, [20 + 10 * i for i in range(len(values))], [], {MEASURE: values})


def test_answers_include_the_random_start() -> None:
    reached = curve(ACTIVE, [0.6, 0.7, 0.8, 0.9, 0.9, 0.9])
    assert counts_of([reached, curve(RANDOM, [0.6] * 6)], ACTIVE, 0.8).tolist() == [40]


def test_a_trial_that_never_gets_there_counts_as_infinite() -> None:
    counts = counts_of([curve(RANDOM, [0.6] * 6), curve(RANDOM, [0.9] * 6)], RANDOM, 0.8)
    assert counts.tolist() == [math.inf, 20]
    assert estimate(np.array([30.0, math.inf, 10.0, 20.0])).median == 20
    assert estimate(np.array([30.0, math.inf, math.inf])).high == math.inf


def test_the_saving_is_a_ratio_of_medians_inside_its_interval() -> None:
    active, random = np.array([50.0, 60, 70, 55, 65]), np.array([100.0, 120, 140, 110, 130])
    found = saving(active, random)
    assert found is not None
    assert found.ratio == pytest.approx(0.5)
    assert found.low <= found.ratio <= found.high


def test_no_saving_is_claimed_beyond_what_was_simulated() -> None:
    assert saving(np.array([50.0, 60, 70]), np.array([math.inf, math.inf, 90])) is None
    assert saving(np.array([50.0, 60]), np.array([100.0, 90])) is None  # no interval from two trials


def test_trials_end_at_the_target_and_repeat_with_the_seed() -> None:
    wanted = Wanted(n_items=8, n_dims=1, candidates=2, noise=0.0, target=0.7)
    curves = run_plan(wanted, trials=2)
    assert [(c.method, c.trial) for c in curves] == [(ACTIVE, 0), (RANDOM, 0), (ACTIVE, 1), (RANDOM, 1)]
    assert curves[0].queries[0] == curves[1].queries[0]
    assert curves[0].measures[MEASURE][0] == curves[1].measures[MEASURE][0]  # same points, start and people
    assert all(c.queries[-1] <= wanted.most_answers + wanted.batch for c in curves)
    assert run_plan(wanted, trials=1)[0].measures == curves[0].measures


def test_no_trial_is_begun_when_the_time_is_over() -> None:
    wanted = Wanted(n_items=8, n_dims=1, candidates=2, noise=0.0, target=0.7)
    assert {c.trial for c in run_plan(wanted, trials=50, seconds=0.0)} == {0}


def test_the_gain_of_100_more_answers_falls_along_the_curve() -> None:
    rising = [curve(ACTIVE, [0.5 + 0.4 * (1 - math.exp(-i / 6)) for i in range(30)]) for _ in range(3)]
    early, late = (gain_at([*rising, curve(RANDOM, [0.5] * 9)], ACTIVE, n) for n in (60, 300))
    assert early is not None
    assert late is not None
    assert early.expected > late.expected
    assert early.low <= early.expected <= early.high
    never = gain_at(rising, ACTIVE, math.inf)  # the target was not reached: from the last point on
    assert never is not None
    assert never.n_answers == 310


def test_every_length_that_the_items_allow_has_its_pace() -> None:
    wanted = Wanted(n_items=6, n_dims=1, candidates=2)
    measured = plan_paces(wanted)
    assert [pace.candidates for pace in measured] == [2, 3, 4, 5]
    assert all(pace.nats > 0 and not pace.recorded for pace in measured)
    assert measured == plan_paces(wanted)


@pytest.mark.parametrize(
    "settings, sentence",
    [
        ({"noise": 1.0}, "Noise is 1.0"),
        ({"target": 0.4}, "The target is 0.4"),
        ({"candidates": 10}, "need 11 items, and there are 10"),
        ({"n_items": 4, "candidates": 2}, "4 items give 12 different questions with 2 candidates: ask them all"),
    ],
)
def test_impossible_wishes_get_one_sentence(settings, sentence) -> None:
    with pytest.raises(InfonnError, match=sentence):
        Wanted(**{"n_items": 10, **settings})
