"""Deep metric learning: trials as one stack beside one after another, and picking a batch from a large pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from infonn.bench.entries import Comparison
from infonn.experiments.paper import dml_synthetic
from infonn.experiments.paper.deep_metric import INFO_NN, RANDOM_NN
from infonn.experiments.sweep import Plan
from infonn.experiments.trial import Setup, run_setups

N_TRIALS = 20


def dml_stack() -> Comparison:
    """20 trials of random NN queries, Mahalanobis, 5 rounds of 25 epochs: one stack against one after another."""
    setups = _setups(RANDOM_NN, N_TRIALS, {"rounds": 5, "n_train": 2000, "n_test": 500, "epochs": 25})
    one_by_one = setups[:2]
    return Comparison(
        lambda: run_setups(setups),
        "one trial after another",
        lambda: [run_setups([setup]) for setup in one_by_one],
        len(one_by_one) / len(setups),
    )


def dml_select() -> Comparison:
    """A batch of 10 from 20,000 queries by Info-NN-embedding, 100 draws, best query of every reference first."""
    setup = _setups(INFO_NN, 1, {})[0]
    assert not isinstance(setup.first, int)
    first = setup.first
    belief = setup.learner.fit(first, np.random.default_rng(0))

    def select() -> object:
        rng = np.random.default_rng(1)
        return setup.loop.choose(belief, first, first.queries, setup.size, rng)

    return Comparison(select)


def _setups(method: str, trials: int, changes: dict[str, int]) -> Sequence[Setup]:
    settings = {**dml_synthetic.PAPER, **changes, "methods": (method,)}
    return [setup for trial in range(trials) for setup in dml_synthetic.build(Plan(settings), trial)]
