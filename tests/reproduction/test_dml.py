"""The paper's deep metric learning figures in miniature: orderings over paired seeds."""

import pytest

from infonn.experiments.paper import dml_food73, dml_synthetic
from infonn.experiments.paper.deep_metric import ACCURACY, RANDOM_NN, RANDOM_TRIPLETS, compare
from infonn.experiments.sweep import Plan
from infonn.experiments.trial import run_setups


@pytest.mark.slow
@pytest.mark.parametrize(("module", "changes"), [(dml_food73, {}), (dml_synthetic, {"corrupted": 0.0})])
def test_per_query_nn_answers_teach_more_than_triplets(module, changes):
    """Not with corrupted answers: a wrong NN answer is two wrong triplets at once."""
    small = {"methods": (RANDOM_NN, RANDOM_TRIPLETS), "n_train": 4000, "n_test": 4000, "rounds": 10}
    settings = {**module.PAPER, **small, **changes}
    setups = [setup for trial in range(10) for setup in module.build(Plan(settings), trial)]
    assert compare(run_setups(setups), RANDOM_NN, RANDOM_TRIPLETS, ACCURACY, "queries").mean > 0
