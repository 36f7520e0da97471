"""Simulation-based calibration: studies drawn from the prior, and where the truth ranks among the draws.

If the chains sample the posterior, the rank of a true quantity among as many independent draws is uniform. Of the
ranks' mean and of their mean distance from the middle, each is allowed 4.5 standard errors: one check of a sampler that
is right fails with chance 7e-6, all ten of them together with less than 1e-4, and the seeds are fixed.
"""

import numpy as np
import pytest

from infonn.learners.posterior.learner import (
    LOG_SCALE,
    LOG_SHARPNESS,
    LOG_SPREAD,
    LOGIT_LAPSE,
    LOGIT_SHARE,
    Posterior,
)
from infonn.maths.distances import query_squared_distances
from infonn.maths.embedders import Layout, embed
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.queries import Answers, draw_queries

N_ITEMS, N_ANSWERS, N_CHAINS, N_DIMS = 7, 40, 19, 2
QUANTITIES = ("near distance", "far distance", "sharpness", "lapse", "share")


def simulated(rng: np.random.Generator) -> tuple[Posterior, Answers, np.ndarray]:
    """A learner, answers to random questions, and the true quantities; all drawn from the learner's prior."""
    learner = Posterior(N_ITEMS, rng.standard_normal((N_ITEMS, 2)), dims=N_DIMS, n_chains=N_CHAINS, leaps=6)
    layout = Layout(N_ITEMS, N_DIMS, learner.basis.factor.shape[1])
    parameters = rng.standard_normal(layout.n_parameters)
    priors = (LOG_SCALE, LOGIT_SHARE, LOG_SPREAD, LOG_SHARPNESS, LOGIT_LAPSE)
    for place, (mean, sd) in enumerate(priors, layout.scale):
        parameters[place] = mean + sd * parameters[place]
    places = embed(parameters, layout, learner.basis.factor)
    sharpness, lapse = np.exp(parameters[layout.sharpness]), 1 / (1 + np.exp(-parameters[layout.lapse]))
    queries = draw_queries(N_ANSWERS, N_ITEMS, 3, rng)
    squared = query_squared_distances(places, queries)
    chances = np.exp(nearest_log_probs(squared, ResponseSettings(1.0, sharpness, lapse)))
    responses = (rng.random(N_ANSWERS)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    return learner, Answers(queries, responses.astype(np.int32)), quantities(parameters[None], places[None])[0]


def quantities(parameters: np.ndarray, places: np.ndarray) -> np.ndarray:
    distances = np.linalg.norm(places[:, [1, 2]] - places[:, [0, 0]], axis=2)
    return np.column_stack([distances, parameters[:, [-2, -1, -4]]])  # sharpness, lapse and share by their logs


def ranks(n_studies: int, seed: int) -> np.ndarray:
    """(studies, quantities), in 0 to 1."""
    found = []
    for study in range(n_studies):
        rng = np.random.default_rng([seed, study])
        learner, answers, truth = simulated(rng)
        belief = learner.fit(answers, rng)
        drawn = quantities(belief.state["parameters"], belief.draws)
        found.append(((drawn < truth).sum(axis=0) + rng.random(len(truth))) / (N_CHAINS + 1))
    return np.array(found)


def check(found: np.ndarray) -> None:
    n = len(found)
    for name, own in zip(QUANTITIES, found.T):
        assert abs(own.mean() - 0.5) < 4.5 * np.sqrt(1 / 12 / n), name  # no bias
        assert abs(np.abs(own - 0.5).mean() - 0.25) < 4.5 * np.sqrt(1 / 48 / n), name  # neither too wide nor too sure


def test_true_distances_and_settings_rank_evenly_among_the_draws() -> None:
    check(ranks(20, 0))


@pytest.mark.slow
def test_true_distances_and_settings_rank_evenly_in_many_studies() -> None:
    check(ranks(200, 1))
