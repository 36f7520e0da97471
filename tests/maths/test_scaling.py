"""Scaling against scikit-learn's, and what constant columns become."""

import numpy as np
from sklearn.preprocessing import StandardScaler

from infonn.maths.scaling import column_scaling, scaled


def test_columns_are_scaled_as_scikit_learn_scales_them(rng) -> None:
    known, new = rng.normal(3, 2, (20, 4)), rng.normal(size=(5, 4))
    scaler = StandardScaler().fit(known)
    np.testing.assert_allclose(scaled(known), scaler.transform(known), atol=1e-12)
    np.testing.assert_allclose(scaled(new, like=known), scaler.transform(new), atol=1e-12)


def test_a_constant_column_becomes_zero_and_single_precision_stays(rng) -> None:
    features = np.column_stack([np.full(6, 7.0), rng.normal(size=6)]).astype(np.float32)
    assert column_scaling(features)[1][0] == 1
    assert scaled(features)[:, 0].tolist() == [0] * 6
    assert scaled(features).dtype == np.float32
