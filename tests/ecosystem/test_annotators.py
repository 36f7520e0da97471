"""Our Dawid-Skene beside crowd-kit's, on labels that several people gave to the same items."""

import numpy as np
import pytest

from infonn.maths.annotators import dawid_skene, majority

pytest.importorskip("crowdkit", reason="make test-ecosystem installs crowd-kit")


def votes(seed, n_items=200, n_people=6, n_classes=3):
    """Each item labelled by everybody; people err each in their own way."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_items)
    skill = rng.uniform(0.4, 0.95, n_people)
    rows = [
        (item, person, truth[item] if rng.random() < skill[person] else int(rng.integers(n_classes)))
        for item in range(n_items)
        for person in range(n_people)
    ]
    return truth, *(np.array(column) for column in zip(*rows))


@pytest.mark.parametrize("seed", range(3))
def test_both_resolve_nearly_all_items_alike_and_better_than_the_majority(seed):
    import pandas as pd
    from crowdkit.aggregation.classification.dawid_skene import DawidSkene

    truth, items, people, labels = votes(seed)
    ours = dawid_skene(items, people, labels, 3).labels
    table = pd.DataFrame({"task": items, "worker": people, "label": labels})
    theirs = DawidSkene(n_iter=100).fit_predict(table).sort_index().to_numpy()
    assert np.mean(ours == theirs) >= 0.97
    plain = majority(items, people, labels, 3).labels
    assert np.mean(ours == truth) >= np.mean(plain == truth) - 0.01
