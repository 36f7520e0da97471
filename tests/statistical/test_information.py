"""Information against Gauss-Hermite quadrature, exact to 1e-6 here.

Estimates from many seeds are compared with the exact value in standard errors of their mean: |z| < 5 with 40 seeds
raises a false alarm once in 80,000 runs (Student's t, 39 degrees of freedom).
"""

import itertools

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.maths.information import mutual_information
from infonn.maths.responses import ResponseSettings, nearest_log_probs, ranking_log_probs
from infonn.queries import draw_queries, no_answers
from infonn.selection.predictions import DistanceNoise, EmbeddingNoise

EMBEDDING = np.array([[0.0], [0.8], [-1.1], [1.7]])
SEEDS = 40
MOST_Z = 5.0


def exact_information(squared_of_normals, n_normals, settings, log_probs=nearest_log_probs, n_nodes=60):
    """By quadrature over independent standard normals: entropy of the mean answer less the mean entropy."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    points = np.array(list(itertools.product(nodes, repeat=n_normals)))
    shares = np.prod(list(itertools.product(weights / weights.sum(), repeat=n_normals)), axis=1)
    probs = np.exp(log_probs(squared_of_normals(points), settings))

    def h(p):
        return -(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1)

    return h(shares @ probs) - shares @ h(probs)


def estimates(predictor, query, settings, kind="nearest"):
    pool = np.array([query], np.int32)
    situation = Situation(pool, Belief(EMBEDDING, response=settings), no_answers(len(query) - 1, kind))
    return np.array([predictor(situation, np.random.default_rng(s)).information(pool)[0] for s in range(SEEDS)])


def z_score(values, exact):
    return abs(values.mean() - exact) / (values.std(ddof=1) / np.sqrt(len(values)) + 1e-6)


@pytest.mark.parametrize("method, n_draws", [("sobol", 1024), ("monte_carlo", 20_000)])
@pytest.mark.parametrize("settings", [ResponseSettings(1.0), ResponseSettings(0.5, 2.0, 0.2)])
@pytest.mark.parametrize("kind, n_candidates", [("nearest", 2), ("nearest", 3), ("ranking", 3)])
def test_drawn_distances_give_the_exact_information(method, n_draws, settings, kind, n_candidates):
    distances = abs(EMBEDDING[1 : 1 + n_candidates, 0])
    exact = exact_information(
        lambda normals: (distances + 0.6 * normals) ** 2,
        n_candidates,
        settings,
        ranking_log_probs if kind == "ranking" else nearest_log_probs,
    )
    values = estimates(DistanceNoise(0.6, None, n_draws, method), range(n_candidates + 1), settings, kind)
    assert z_score(values, exact) < MOST_Z
    assert abs(values - exact).max() < 0.02


@pytest.mark.parametrize("method, n_draws", [("sobol", 1024), ("monte_carlo", 20_000)])
@pytest.mark.parametrize("settings", [ResponseSettings(1.0), ResponseSettings(0.5, 2.0, 0.2)])
def test_drawn_embeddings_give_the_exact_information(method, n_draws, settings):
    exact = exact_information(
        lambda normals: ((EMBEDDING[1:3, 0] + 0.5 * normals[:, 1:]) - 0.5 * normals[:, :1]) ** 2, 3, settings
    )
    values = estimates(EmbeddingNoise(0.5, None, n_draws, method), (0, 1, 2), settings)
    assert z_score(values, exact) < MOST_Z


def test_the_correction_takes_most_of_the_bias_of_few_draws(rng):
    """Bias is 1/S of the score: 20,000 sets of 8 draws put 0.06 of it into one standard error of either mean."""
    settings, distances = ResponseSettings(1.0), abs(EMBEDDING[1:4, 0])
    exact = exact_information(lambda normals: (distances + 0.6 * normals) ** 2, 3, settings)
    log_probs = nearest_log_probs((distances + 0.6 * rng.standard_normal((8, 20_000, 3))) ** 2, settings)
    plain, corrected = mutual_information(log_probs).mean(), mutual_information(log_probs, corrected=True).mean()
    assert plain < exact
    assert abs(corrected - exact) < 0.4 * abs(plain - exact)


def test_default_draws_are_more_exact_than_a_thousand_free_ones_for_each_query(rng):
    """Root mean squared errors over 300 queries and 10 seeds; the ratio is near 0.5 and varies by less than 0.1."""
    embedding = rng.standard_normal((40, 3))
    pool = draw_queries(300, 40, 3, rng)
    situation = Situation(pool, Belief(embedding, response=ResponseSettings(1.0)), no_answers(3))

    def scores(seed, *settings):
        return DistanceNoise(1.0, None, *settings)(situation, np.random.default_rng(seed)).information(pool)

    exact = scores(99, 2**15)
    ours = np.sqrt(np.mean([(scores(seed) - exact) ** 2 for seed in range(10)]))
    distances = np.linalg.norm(embedding[pool[:, 1:]] - embedding[pool[:, :1]], axis=-1)
    free = mutual_information(
        nearest_log_probs((distances + rng.standard_normal((1000, 300, 3))) ** 2, ResponseSettings(1.0))
    )
    assert ours < 0.8 * np.sqrt(np.mean((free - exact) ** 2))
