"""Seconds and nats of questions by their length."""

import numpy as np
import pytest

from infonn.datasets.eggs import alien_eggs
from infonn.maths.pace import SECONDS_PER_ITEM, Pace, fastest, paces, seconds_per_answer


def test_without_recorded_times_every_item_shown_costs_the_same():
    assert seconds_per_answer(2, {}) == pytest.approx(3 * SECONDS_PER_ITEM)
    assert seconds_per_answer(5, {}) == pytest.approx(6 * SECONDS_PER_ITEM)


def test_the_stated_seconds_are_those_of_people():
    assert seconds_per_answer(2, {}) == pytest.approx(np.nanmedian(alien_eggs().response_times_s), abs=0.01)


def test_recorded_times_count_and_the_nearest_stands_in_for_the_rest():
    recorded = {2: 2.0, 5: 3.0}
    assert seconds_per_answer(2, recorded) == 2.0
    assert seconds_per_answer(5, recorded) == 3.0
    assert seconds_per_answer(3, recorded) == pytest.approx(2.0 * 4 / 3)
    assert seconds_per_answer(7, recorded) == pytest.approx(3.0 * 8 / 6)


def test_the_fastest_length_brings_most_nats_in_a_minute():
    measured = paces({2: 0.3, 3: 0.5, 6: 0.6}, {3: 2.0})
    assert [pace.candidates for pace in measured] == [2, 3, 6]
    assert [pace.recorded for pace in measured] == [False, True, False]
    assert measured[1].nats_per_minute == pytest.approx(15.0)
    assert fastest(measured) == measured[1]
    assert fastest([Pace(2, 1.0, 2.0), Pace(3, 1.5, 3.0)]).candidates == 2
