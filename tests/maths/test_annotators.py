"""Several people's labels as one, against plain loops and against a known truth."""

import numpy as np
import pytest

from infonn.maths.annotators import PRIOR_RIGHT, PRIOR_WRONG, dawid_skene, majority


def votes(rng, n_items=60, accuracies=(0.9, 0.9, 0.3), n_classes=3):
    """Everybody labels everything; who errs names another class at random."""
    truth = rng.integers(0, n_classes, n_items)
    items = np.repeat(np.arange(n_items), len(accuracies))
    people = np.tile(np.arange(len(accuracies)), n_items)
    right = rng.random(len(items)) < np.array(accuracies)[people]
    labels = np.where(right, truth[items], (truth[items] + rng.integers(1, n_classes, len(items))) % n_classes)
    return truth, items, people, labels


def plain_dawid_skene(items, people, labels, n_classes, rounds=60):
    """The same turns, one vote at a time."""
    probs = {i: np.zeros(n_classes) for i in sorted(set(items.tolist()))}
    for i, label in zip(items, labels):
        probs[i][label] += 1
    probs = {i: p / p.sum() for i, p in probs.items()}
    for _ in range(rounds):
        confusion = {}
        for person in set(people.tolist()):
            counts = np.full((n_classes, n_classes), PRIOR_WRONG)
            np.fill_diagonal(counts, PRIOR_RIGHT)
            for i, j, label in zip(items, people, labels):
                if j == person:
                    counts[:, label] += probs[i]
            confusion[person] = counts / counts.sum(axis=1, keepdims=True)
        shares = np.sum(list(probs.values()), axis=0) + PRIOR_WRONG
        shares /= shares.sum()
        new = {}
        for i in probs:
            likely = shares.copy()
            for other, j, label in zip(items, people, labels):
                if other == i:
                    likely = likely * confusion[j][:, label]
            new[i] = likely / likely.sum()
        probs = new
    return np.array([probs[i] for i in sorted(probs)])


def test_the_majority_is_the_most_frequent_label():
    items = np.array([7, 7, 7, 2, 2])
    resolved = majority(items, np.array([0, 1, 2, 0, 1]), np.array([1, 1, 0, 2, 0]), 3)
    assert resolved.items.tolist() == [2, 7]
    assert resolved.labels.tolist() == [0, 1]  # a tie goes to the first class
    np.testing.assert_allclose(resolved.probs, [[0.5, 0, 0.5], [1 / 3, 2 / 3, 0]])


def test_a_persons_last_label_counts():
    resolved = majority(np.array([0, 0]), np.array([3, 3]), np.array([0, 1]), 2)
    assert resolved.labels.tolist() == [1]


def test_dawid_and_skene_is_the_plain_loop(rng):
    _, items, people, labels = votes(rng, 25)
    resolved = dawid_skene(items, people, labels, 3)
    np.testing.assert_allclose(resolved.probs, plain_dawid_skene(items, people, labels, 3), atol=1e-4)
    np.testing.assert_allclose(resolved.confusion.sum(axis=2), 1)


def test_dawid_and_skene_learns_whom_to_trust(rng):
    truth, items, people, labels = votes(rng, 300, (0.95, 0.95, 0.4, 0.4, 0.4))
    by_model, by_votes = (f(items, people, labels, 3) for f in (dawid_skene, majority))
    assert (by_model.labels == truth).mean() > (by_votes.labels == truth).mean() + 0.05
    own = by_model.confusion[:, np.arange(3), np.arange(3)].mean(axis=1)
    assert own[:2] == pytest.approx([0.95, 0.95], abs=0.06)
    assert (own[2:] < 0.6).all()


def test_somebody_who_swaps_two_classes_is_understood(rng):
    truth, items, people, labels = votes(rng, 300, (0.9, 0.9, 1.0))
    swapped = people == 2
    labels[swapped] = np.array([1, 0, 2])[labels[swapped]]
    resolved = dawid_skene(items, people, labels, 3)
    assert (resolved.labels == truth).mean() > 0.97
    assert resolved.confusion[2, 0, 1] > 0.9


def test_no_labels_are_no_obstacle():
    none = np.empty(0, np.int64)
    assert len(dawid_skene(none, none, none, 3).labels) == 0
