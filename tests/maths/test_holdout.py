"""An accuracy that is true: which items are held out, and whether the interval holds the truth."""

import numpy as np
import pytest
from scipy.stats import binomtest

from infonn.experiments.labels.accuracy import COVERED, WIDTH, WILSON, simulated_study
from infonn.experiments.labels.sets import SETS
from infonn.maths.holdout import AccuracyEstimate, copy_groups, estimate_accuracy, hold_out_due, originals


def test_the_interval_holds_the_truth_after_labels_were_chosen():
    studies = [simulated_study(SETS["overlap"](np.random.default_rng(seed)), 60, 40, seed) for seed in range(12)]
    assert np.mean([study[COVERED] for study in studies]) >= 0.75  # of 12; below by chance in 1 of 500 runs
    assert np.mean([study[WIDTH] for study in studies]) <= 1.2 * np.mean([study[WILSON] for study in studies])


@pytest.mark.slow
@pytest.mark.parametrize("n_held_out", [30, 300])
def test_the_interval_holds_the_truth_in_nine_of_ten_studies(n_held_out):
    names = ("digits", "overlap", "rare classes")
    sets = [SETS[names[seed % 3]](np.random.default_rng([seed, 5])) for seed in range(200)]
    studies = [simulated_study(data, n_held_out, 60, seed) for seed, data in enumerate(sets)]
    assert 0.90 <= np.mean([study[COVERED] for study in studies]) <= 0.99
    assert np.mean([study[WIDTH] for study in studies]) <= 1.2 * np.mean([study[WILSON] for study in studies])


def test_few_hold_out_labels_are_too_few_to_tell():
    estimate = estimate_accuracy(np.ones(19, bool), np.ones(19), np.ones(100))
    assert estimate == AccuracyEstimate(19)
    assert str(estimate) == (
        "It does not know yet how accurate it is: 19 labels of items drawn at random, and at least 20 are needed."
    )


def test_a_hold_out_like_the_rest_gives_wilsons_interval():
    right = np.arange(50) < 40
    estimate = estimate_accuracy(right, np.full(50, 0.8), np.full(10**6, 0.8))
    wilson = binomtest(40, 50).proportion_ci(method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((wilson.low, wilson.high), abs=1e-4)
    assert str(estimate).startswith("Accuracy on the unlabelled items: 80%, 95 % interval 67% to 89%")


def test_a_rest_it_is_surer_of_is_predicted_better():
    right = np.arange(50) < 40
    estimate = estimate_accuracy(right, np.full(50, 0.8), np.full(1000, 0.9))
    assert estimate.accuracy == pytest.approx(0.9)
    assert estimate.high <= 1


def test_a_share_of_all_labels_is_held_out():
    n_labels = n_held_out = 0
    for _ in range(40):
        due = hold_out_due(n_labels, n_held_out, 1)
        n_labels, n_held_out = n_labels + 1, n_held_out + due
        assert n_held_out == -(-n_labels // 3)  # so that 60 labels have the 20 that an accuracy needs
    assert hold_out_due(200, 20, 10) == 10  # it catches up, and never takes more than there are
    assert hold_out_due(95, 20, 5) == 0
    assert hold_out_due(100, 20, 5) == 1  # then a fifth
    assert hold_out_due(10, 0, 10, share=0.0) == 0


def test_copies_are_told_apart_from_what_only_resembles_them(rng):
    features = np.concatenate([rng.normal(size=(1, 5))] * 2 + [rng.normal(size=(1, 5))])
    features[1] *= 1 + 1e-9
    assert copy_groups(features).tolist() == [0, 0, 1]
    assert copy_groups(np.zeros((3, 2))).tolist() == [0, 0, 0]
    assert copy_groups(features + np.array([[0.0], [1e-3], [0.0]])).tolist() == [0, 1, 2]
    assert originals(copy_groups(features)).tolist() == [0, 0, 2]
