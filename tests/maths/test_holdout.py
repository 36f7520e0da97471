"""An accuracy that is true: which items are held out, and whether the interval holds the truth."""

import numpy as np
import pytest
from scipy.stats import binomtest

from infonn.contracts.loop import Situation
from infonn.experiments.labels.sets import SETS
from infonn.learners.classifiers.bayes_logistic import BayesLogistic
from infonn.maths.holdout import (
    AccuracyEstimate,
    copy_groups,
    draw_hold_out,
    estimate_accuracy,
    hold_out_due,
    without_copies,
)
from infonn.queries import Answers
from infonn.selection.class_strategies import margin


def bare(items):
    queries = np.full((len(items), 3), -1, np.int32)
    queries[:, 0] = items
    return queries


def simulated_study(name, seed, n_held_out, n_labels):
    """The truth on the rest, the estimate, and Wilson's interval, after a study that chose its labels by margin."""
    rng = np.random.default_rng([seed, 5])
    data = SETS[name](np.random.default_rng([seed, 77]))
    features, truth = data.features[: data.n_pool], data.labels[: data.n_pool]
    learner = BayesLogistic(features, data.n_classes)
    held_out = draw_hold_out(np.arange(data.n_pool), np.empty(0, np.int64), n_held_out, rng)
    free = np.setdiff1d(np.arange(data.n_pool), held_out)
    chosen = rng.choice(free, 20, replace=False)
    while True:
        answers = Answers(bare(chosen), truth[chosen].astype(np.int32), "label")
        belief = learner.fit(answers, rng)
        rest = np.setdiff1d(free, chosen)
        if len(chosen) >= n_labels:
            break
        pool = bare(rest)
        chosen = np.concatenate([chosen, rest[margin().select(Situation(pool, belief, answers), 20, rng)]])
    probs = np.exp(belief.class_log_probs.point(np.arange(data.n_pool)))
    right, sure = probs.argmax(axis=1) == truth, probs.max(axis=1)
    estimate = estimate_accuracy(right[held_out], sure[held_out], sure[rest])
    wilson = binomtest(int(right[held_out].sum()), n_held_out).proportion_ci(method="wilson")
    return right[rest].mean(), estimate, wilson


def coverage_and_width(studies):
    holds = np.mean([estimate.low <= truth <= estimate.high for truth, estimate, _ in studies])
    widths = [(estimate.high - estimate.low) / (w.high - w.low) for _, estimate, w in studies]
    return holds, max(widths)


def test_the_interval_holds_the_truth_after_labels_were_chosen():
    studies = [simulated_study("digits", seed, 100, 60) for seed in range(20)]
    holds, widest = coverage_and_width(studies)
    assert holds >= 0.85  # of 20; below by chance in fewer than 1 of 50 runs, and the seeds are fixed
    assert widest <= 1.2


@pytest.mark.slow
@pytest.mark.parametrize("n_held_out", [30, 300])
def test_the_interval_holds_the_truth_in_nine_of_ten_studies_over_the_panel(n_held_out):
    small = ("digits", "overlap", "50 blobs", "near copies")
    few = (*small, "rare classes", "breast cancer")  # with 300 held out these would have no rest to speak of
    names = few if n_held_out == 30 else small
    studies = [simulated_study(names[seed % len(names)], seed, n_held_out, 100) for seed in range(200)]
    holds, widest = coverage_and_width(studies)
    assert 0.90 <= holds <= 0.99
    assert widest <= 1.2


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
        assert n_held_out == -(-n_labels // 5)
    assert hold_out_due(100, 0, 10) == 10  # it catches up, and never takes more than there are
    assert hold_out_due(10, 9, 10) == 0


def test_copies_stay_on_one_side(rng):
    features = np.repeat(rng.normal(size=(30, 4)), 3, axis=0)  # every picture three times
    groups = copy_groups(features)
    assert len(set(groups.tolist())) == 30
    assert (groups[::3] == groups[1::3]).all()
    taken = np.array([0, 4, 8])  # copies 0, 1 and 2
    chosen = draw_hold_out(groups, taken, 10, rng)
    assert len(chosen) == len(set(groups[chosen].tolist())) == 10
    assert not set(groups[chosen]) & set(groups[taken])
    rest = without_copies(groups, np.arange(90), chosen)
    assert len(rest) == 60
    assert len(draw_hold_out(groups, taken, 100, rng)) == 27  # there are no more


def test_hold_out_items_are_drawn_evenly():
    groups = np.arange(6)
    drawn = [draw_hold_out(groups, np.array([5]), 2, np.random.default_rng(seed)) for seed in range(500)]
    counts = np.bincount(np.concatenate(drawn), minlength=6)
    assert counts[5] == 0
    assert np.abs(counts[:5] - 200).max() < 5 * np.sqrt(500 * 0.4 * 0.6)  # five standard errors


def test_copies_are_told_apart_from_what_only_resembles_them(rng):
    features = np.concatenate([rng.normal(size=(1, 5))] * 2 + [rng.normal(size=(1, 5))])
    features[1] *= 1 + 1e-9
    assert copy_groups(features).tolist() == [0, 0, 1]
    assert copy_groups(np.zeros((3, 2))).tolist() == [0, 0, 0]
    assert copy_groups(features + np.array([[0.0], [1e-3], [0.0]])).tolist() == [0, 1, 2]
