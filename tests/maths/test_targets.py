"""What a label tells of other labels, against listing every pair of labels."""

import numpy as np

from infonn.maths.pairs import target_information
from infonn.maths.targets import label_target_information, merged_classes


def tables(rng, n_draws=12, n=7, t=5, k=4):
    return (rng.dirichlet(np.ones(k), (n_draws, m)).astype(np.float32) for m in (n, t))


def listed(probs, targets, weights):
    """Mutual information of each label with each target's label, pair by pair."""
    found = np.zeros(probs.shape[1])
    for i in range(probs.shape[1]):
        for j in range(targets.shape[1]):
            joint = np.einsum("s,sa,sb->ab", weights, probs[:, i].astype(float), targets[:, j].astype(float))
            apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
            found[i] += (joint * np.log(joint / apart)).sum() / targets.shape[1]
    return found


def test_it_is_the_plain_target_information(rng):
    probs, targets = tables(rng)
    plain = target_information(np.log(probs.astype(float)), np.log(targets.astype(float)))
    np.testing.assert_allclose(label_target_information(probs, targets), plain, atol=2e-6)


def test_weights_of_draws_count(rng):
    probs, targets = tables(rng)
    weights = rng.dirichlet(np.ones(12))
    np.testing.assert_allclose(
        label_target_information(probs, targets, weights), listed(probs, targets, weights), atol=2e-6
    )


def test_merged_classes_keep_the_likeliest_and_tell_at_most_as_much(rng):
    probs, targets = tables(rng, k=15)
    few = merged_classes(probs, 5)
    assert few.shape == (12, 7, 5)
    np.testing.assert_allclose(few.sum(axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(few[:, 3, 0], probs[:, 3, probs[:, 3].mean(axis=0).argmax()])
    whole = label_target_information(probs, targets)
    assert (label_target_information(few, targets) <= whole + 1e-6).all()
    assert merged_classes(probs, 20) is probs
