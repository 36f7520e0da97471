"""Temperature: learned where the classifier was too sure, and 1 where it was right."""

import numpy as np
import pytest

from infonn.maths.calibration import learn_temperature, tempered
from infonn.maths.softmax import log_softmax


def answered(rng, n, sharper):
    """Labels drawn from probabilities, and a classifier whose logits are `sharper` times those."""
    logits = rng.normal(0, 2, (n, 4))
    probs = np.exp(log_softmax(logits))
    labels = (rng.random((n, 1)) > np.cumsum(probs, axis=1)).sum(axis=1).clip(max=3)
    return log_softmax(sharper * logits), labels


@pytest.mark.parametrize("sharper", [0.5, 1.0, 3.0])
def test_the_temperature_undoes_what_made_it_too_sure(rng, sharper):
    log_probs, labels = answered(rng, 3000, sharper)
    assert learn_temperature(log_probs, labels) == pytest.approx(sharper, rel=0.15)


def test_few_labels_change_nothing(rng):
    log_probs, labels = answered(rng, 9, 3.0)
    assert learn_temperature(log_probs, labels) == 1.0


def test_tempered_probabilities_add_up_and_keep_the_likeliest_class(rng):
    log_probs, _ = answered(rng, 50, 2.0)
    softer = tempered(log_probs, 2.5)
    np.testing.assert_allclose(np.exp(softer).sum(axis=1), 1)
    assert (softer.argmax(axis=1) == log_probs.argmax(axis=1)).all()
    np.testing.assert_allclose(tempered(log_probs, 1.0), log_probs, atol=1e-9)
