"""Shared draws: normal, repeatable, and many columns never run in step."""

import numpy as np
import pytest
from scipy import stats

import infonn.maths.draws as module
from infonn.maths.draws import normal_draws


@pytest.mark.parametrize("method", ["sobol", "monte_carlo"])
def test_the_same_generator_gives_the_same_draws(method):
    first = normal_draws(64, 5, np.random.default_rng(1), method)
    assert first.shape == (64, 5)
    np.testing.assert_array_equal(first, normal_draws(64, 5, np.random.default_rng(1), method))
    assert not np.array_equal(first, normal_draws(64, 5, np.random.default_rng(2), method))


def test_every_sobol_column_has_one_point_in_each_of_n_equal_parts():
    uniform = stats.norm.cdf(normal_draws(128, 40, np.random.default_rng(0)))
    np.testing.assert_array_equal(np.sort((uniform * 128).astype(int), axis=0), np.tile(np.arange(128)[:, None], 40))


def test_two_sobol_columns_fill_every_box_as_scrambled_nets_do():
    """The first two dimensions are a (0, 7, 2)-net in base 2: one point in each of 128 boxes of any shape."""
    uniform = stats.norm.cdf(normal_draws(128, 2, np.random.default_rng(0)))
    for bits in range(8):
        boxes = (uniform * [2**bits, 2 ** (7 - bits)]).astype(int)
        assert len(np.unique(boxes, axis=0)) == 128


def test_a_scrambled_point_is_uniform():
    """Over seeds one point's coordinates are uniform: Kolmogorov-Smirnov p above 1e-4, so 1 false alarm in 10,000."""
    points = [normal_draws(4, 3, np.random.default_rng(seed))[2, 1] for seed in range(500)]
    assert stats.kstest(points, "norm").pvalue > 1e-4


@pytest.mark.parametrize("n_draws", [1, 2, 3, 100, 1000])
def test_any_number_of_draws_is_finite(n_draws):
    draws = normal_draws(n_draws, 3, np.random.default_rng(0))
    assert draws.shape == (n_draws, 3)
    assert np.isfinite(draws).all()


def test_more_columns_than_sobol_dimensions_do_not_run_in_step(monkeypatch):
    monkeypatch.setattr(module, "SOBOL_DIMENSIONS", 3)
    draws = normal_draws(256, 8, np.random.default_rng(0))
    correlation = np.corrcoef(draws.T) - np.eye(8)
    assert abs(correlation).max() < 0.3  # 4.8 standard errors of independent columns
    assert abs(np.corrcoef(abs(draws).T) - np.eye(8)).max() < 0.3


def test_more_items_than_sobol_knows_dimensions_work():
    assert normal_draws(4, module.SOBOL_DIMENSIONS + 5, np.random.default_rng(0)).shape == (4, 21206)


def test_no_columns_are_no_draws():
    assert normal_draws(8, 0, np.random.default_rng(0)).shape == (8, 0)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match='Draws by "halton" are unknown. Known: "sobol", "monte_carlo"'):
        normal_draws(8, 2, np.random.default_rng(0), "halton")
