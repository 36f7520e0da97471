import numpy as np
from numpy.random import default_rng

from infonn.maths.cross_validation import grouped_folds, one_standard_error


def test_a_group_is_in_one_fold_and_folds_are_even() -> None:
    groups = default_rng(0).integers(0, 40, 200)
    folds = grouped_folds(groups, 5, default_rng(1))
    assert all(len(set(folds[groups == group])) == 1 for group in np.unique(groups))
    sizes = np.bincount(folds, minlength=5)
    assert sizes.max() - sizes.min() <= np.bincount(groups).max()


def test_the_simplest_setting_within_one_standard_error_is_chosen() -> None:
    losses = np.array([[1.0, 1.2, 1.1], [0.52, 0.62, 0.66], [0.45, 0.55, 0.65], [0.5, 0.6, 0.7]])
    chosen, means, errors = one_standard_error(losses)
    # by hand: the least mean is 0.55 with deviation 0.1, so up to 0.55 + 0.1 / sqrt(3) = 0.6077 will do
    np.testing.assert_allclose(means, [1.1, 0.6, 0.55, 0.6])
    np.testing.assert_allclose(errors[2], 0.1 / np.sqrt(3))
    assert chosen == 1


def test_a_clear_winner_is_chosen() -> None:
    assert one_standard_error(np.array([[1.0, 1.1], [0.2, 0.3], [0.1, 0.11]]))[0] == 2
