"""Is choosing questions worth it? Info-NN beside random questions, on the same people and the same seeds."""

import sys

import numpy as np

from infonn import compare
from infonn.plots.look import style

points = np.random.default_rng(3).normal(size=(14, 2))  # where the items lie in truth
comparison = compare(
    points,
    strategies=["info_nn", "random"],
    learners={"posterior": {"name": "posterior", "dims": 2, "n_chains": 16}},
    answers=80,
    batch=10,
    trials=4,
)
print(comparison.table())
with style():
    comparison.figure().savefig(sys.argv[1] if len(sys.argv) > 1 else "chosen_or_random.png", dpi=100)
