"""Intervals of shares against known values."""

import pytest

from infonn.maths.intervals import wilson_interval


def test_wilson_intervals_are_the_textbook_ones():
    assert wilson_interval(8, 10) == pytest.approx((0.49016, 0.94332), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.27754), abs=1e-4)
    assert wilson_interval(0, 0) == (0.0, 1.0)
