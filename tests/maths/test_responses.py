"""The response model beside its formula, and where formulas overflow."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from infonn.maths.responses import ResponseSettings, nearest_log_probs, ranking_log_probs

distances = arrays(float, 4, elements=st.floats(0, 1e6))
settings = st.builds(
    ResponseSettings, mu=st.floats(1e-6, 100), sharpness=st.floats(0.1, 20), lapse=st.sampled_from([0.0, 0.1, 0.9])
)


@pytest.mark.parametrize(
    "part, bad",
    [
        ("mu", 0.0),
        ("mu", -1.0),
        ("mu", math.nan),
        ("mu", math.inf),
        ("sharpness", 0.0),
        ("sharpness", math.inf),
        ("lapse", 1.0),
        ("lapse", -0.1),
    ],
)
def test_settings_that_make_no_sense_are_refused(part, bad):
    with pytest.raises(ValueError, match=f"{part} is {bad}"):
        ResponseSettings(**{"mu": 1.0, part: bad})


def test_nearest_is_the_papers_equation():
    squared = np.array([1.0, 4.0, 9.0])
    weights = 1 / (squared + 0.5)
    np.testing.assert_allclose(np.exp(nearest_log_probs(squared, ResponseSettings(0.5))), weights / weights.sum())


def test_sharpness_and_lapse_by_hand():
    squared = np.array([0.0, 3.0])
    weights = np.array([1.0, 4.0**-2])
    expected = 0.8 * weights / weights.sum() + 0.1
    np.testing.assert_allclose(np.exp(nearest_log_probs(squared, ResponseSettings(1.0, 2.0, 0.2))), expected)


@given(distances, settings)
def test_rankings_are_chains_of_choices(d, s):
    weights = (d**2 + s.mu) ** -s.sharpness
    got = np.exp(ranking_log_probs(d**2, s))
    for prob, order in zip(got, itertools.permutations(range(4))):
        chain, left = 1.0, list(order)
        while len(left) > 1 and chain > 0:
            chain *= np.exp(nearest_log_probs(d[left] ** 2, ResponseSettings(s.mu, s.sharpness)))[0]
            left = left[1:]
        assert prob == pytest.approx((1 - s.lapse) * chain + s.lapse / 24, abs=1e-9)
    assert got.sum() == pytest.approx(1)
    assert weights.shape == (4,)


@given(distances, settings)
def test_probabilities_sum_to_one_and_go_with_their_candidates(d, s):
    log_probs = nearest_log_probs(d**2, s)
    assert np.isfinite(log_probs).all()
    assert np.exp(log_probs).sum() == pytest.approx(1)
    np.testing.assert_allclose(nearest_log_probs(d[::-1] ** 2, s), log_probs[::-1], atol=1e-9)
    nearer = np.argsort(d, kind="stable")
    assert (np.diff(log_probs[nearer]) <= 1e-9).all()


@pytest.mark.parametrize("squared", [[0.0, 0.0, 0.0], [1e300, 1e300, 1e300], [0.0, 1e300, 1.0]])
@pytest.mark.parametrize("function", [nearest_log_probs, ranking_log_probs])
def test_equal_zero_and_huge_distances_stay_finite(squared, function):
    assert np.isfinite(function(np.array(squared), ResponseSettings(1e-5, 2.0))).all()


@given(settings)
def test_padding_has_probability_zero_and_changes_no_other(s):
    squared = np.array([1.0, 2.0, 5.0])
    padded = nearest_log_probs(np.append(squared, np.inf), s)
    assert padded[3] == -np.inf
    np.testing.assert_allclose(padded[:3], nearest_log_probs(squared, s))


@given(distances, settings)
def test_torch_gives_the_same(d, s):
    import torch

    for function in (nearest_log_probs, ranking_log_probs):
        np.testing.assert_allclose(function(torch.as_tensor(d**2), s).numpy(), function(d**2, s), atol=1e-9)
