"""Features as a thin factor of their Gram matrix: what is scaled, what is kept, and where new items stand."""

import numpy as np
import pytest

from infonn.learners.posterior import feature_basis
from infonn.learners.posterior.feature_basis import FeatureBasis

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(12, 3), (6, 40)])
@pytest.mark.parametrize("scaling", ["columns", "none"])
def test_the_factor_gives_the_centred_gram_matrix_with_mean_diagonal_1(shape: tuple[int, int], scaling: str) -> None:
    features = RNG.standard_normal(shape) * np.arange(1, shape[1] + 1) + 5
    centred = features - features.mean(axis=0)
    if scaling == "columns":
        centred /= features.std(axis=0)
    gram = centred @ centred.T
    factor = FeatureBasis(features, scaling).factor
    np.testing.assert_allclose(factor @ factor.T, gram / np.trace(gram) * len(gram), atol=1e-8)
    assert factor.shape[1] == min(shape[1], shape[0] - 1)


def test_few_columns_have_units_of_their_own_and_many_share_one() -> None:
    few = RNG.standard_normal((30, 4)) * [1, 10, 100, 1000]
    np.testing.assert_array_equal(FeatureBasis(few).factor, FeatureBasis(few, "columns").factor)
    many = RNG.standard_normal((30, 60)) * RNG.uniform(0.1, 3, 60)
    np.testing.assert_array_equal(FeatureBasis(many).factor, FeatureBasis(many, "none").factor)
    many[:, 7] *= 1000  # this one alone is nearly all of the variance: it has another unit
    np.testing.assert_array_equal(FeatureBasis(many).factor, FeatureBasis(many, "columns").factor)


def test_of_many_directions_the_widest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_basis, "MOST_DIRECTIONS", 3)
    features = RNG.standard_normal((20, 60)) * np.r_[np.full(3, 30.0), np.full(57, 0.1)]
    factor = FeatureBasis(features).factor
    assert factor.shape == (20, 3)
    assert (factor**2).sum() / 20 == pytest.approx(1)
    centred = features - features.mean(axis=0)
    gram = centred @ centred.T / np.trace(centred @ centred.T) * 20
    np.testing.assert_allclose(factor @ factor.T, gram, atol=0.05)


def test_new_items_stand_where_known_ones_with_their_features_do() -> None:
    features = RNG.standard_normal((15, 5, 2))  # a small picture each
    basis = FeatureBasis(features)
    np.testing.assert_allclose(basis.of(features[:4]), basis.factor[:4], atol=1e-12)


def test_features_that_are_alike_say_nothing() -> None:
    assert FeatureBasis(np.full((7, 3), 0.1)).factor.shape == (7, 0)
    one_constant = np.column_stack([np.arange(7.0), np.full(7, 3.3)])
    assert FeatureBasis(one_constant).factor.shape == (7, 1)
