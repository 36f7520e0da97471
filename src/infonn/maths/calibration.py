"""Probabilities that mean what they say: one temperature, learned from labels the classifier had not seen."""

from __future__ import annotations

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.maths.softmax import log_softmax

FEWEST = 10  # labels below which probabilities are left as they are
RANGE = (0.05, 20.0)  # of temperatures


def learn_temperature(log_probs: FloatArray, labels: IntArray) -> float:
    """The temperature at which `log_probs` (n, classes) foresee `labels` (n,) best; 1 where these are too few.

    Above 1 the classifier was too sure, below 1 not sure enough. One label beforehand says that it was right as it is.
    """
    if len(labels) < FEWEST:
        return 1.0
    from scipy.optimize import minimize_scalar  # slow to import, and pages do not need it

    def loss(log_temperature: float) -> float:
        log_likely = tempered(log_probs, float(np.exp(log_temperature)))[np.arange(len(labels)), labels]
        return float(-log_likely.sum() + log_temperature**2)

    found = minimize_scalar(loss, bounds=tuple(np.log(RANGE)), method="bounded")
    return float(np.exp(found.x))


def tempered(log_probs: FloatArray, temperature: float) -> FloatArray:
    """Log-probabilities divided by a temperature, and made to add up to 1 again: the likeliest class stays."""
    return log_softmax(np.asarray(log_probs, float) / temperature)
