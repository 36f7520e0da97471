"""Scoring queries by information: ours beside the way the paper's code does it.

The baselines take one query at a time and one `np.random.normal` call per candidate (Info-NN-distances), one draw
and one query at a time (Info-NN-embedding, Alg. 1), or one permutation at a time (rankings).
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.bench.entries import Comparison, Target
from infonn.contracts.loop import Predictor, Situation
from infonn.maths.responses import ResponseSettings
from infonn.queries import all_queries, draw_queries, no_answers
from infonn.selection.criteria import Information
from infonn.selection.predictions import DistanceNoise, EmbeddingNoise

MU = 1.0
SIGMA = 1.0


def info_nn_distances() -> Comparison:
    """20,000 length-3 queries of 73 items, 1,024 draws on both sides."""
    embedding, queries = _items_and_queries(73, 3)
    part = queries[:1000]
    return Comparison(
        lambda: score(embedding, queries, DistanceNoise(SIGMA, MU, 1024)),
        "one query at a time, one np.random.normal per candidate",
        lambda: distances_one_by_one(embedding, part, 1024),
        len(part) / len(queries),
    )


def info_nn_default() -> Comparison:
    """The same queries, default draws, against 1,000 independent draws; and the error of both."""
    embedding, queries = _items_and_queries(73, 3)
    part = queries[:1000]

    def errors() -> dict[str, float]:
        exact = score(embedding, part, DistanceNoise(SIGMA, MU, 2**15), seed=1)
        ours = np.mean([_rmse(score(embedding, part, DistanceNoise(SIGMA, MU), seed), exact) for seed in range(2, 12)])
        return {"rmse": float(ours), "baseline_rmse": _rmse(distances_one_by_one(embedding, part, 1000), exact)}

    return Comparison(
        lambda: score(embedding, queries, DistanceNoise(SIGMA, MU)),
        "one query at a time, 1,000 independent draws",
        lambda: distances_one_by_one(embedding, part, 1000),
        len(part) / len(queries),
        errors,
        (Target("ratio", 1500, at_least=True), Target("rmse", 0.0017)),
    )


def info_nn_embedding() -> Comparison:
    """20,000 length-3 queries of 100 items in 10 dimensions, 100 draws."""
    embedding, queries = _items_and_queries(100, 10)
    part = queries[:200]
    return Comparison(
        lambda: score(embedding, queries, EmbeddingNoise(SIGMA, MU, 100)),
        "one draw and one query at a time (Alg. 1)",
        lambda: embedding_one_by_one(embedding, part, 100),
        len(part) / len(queries),
    )


def ranking_c4() -> Comparison:
    """All rankings of 4 of 19 items for one reference, 1,000 draws."""
    embedding, _ = _items_and_queries(20, 2)
    queries = all_queries(20, 4)
    queries = queries[queries[:, 0] == 0]
    part = queries[:100]
    return Comparison(
        lambda: score(embedding, queries, DistanceNoise(SIGMA, MU, 1000, kind="ranking")),
        "one query and one permutation at a time",
        lambda: rankings_one_by_one(embedding, part, 1000),
        len(part) / len(queries),
    )


def score(embedding: FloatArray, queries: IntArray, predictor: Predictor, seed: int = 0) -> FloatArray:
    """Nats of each query, draws included: what a strategy computes before it picks."""
    rng = default_rng(seed)
    belief = Belief(embedding, response=ResponseSettings(MU))
    situation = Situation(queries, belief, no_answers(queries.shape[1] - 1))
    situation = Situation(queries, belief, situation.answers, predictor(situation, rng))
    return Information()(queries, situation, rng)


def _items_and_queries(n_items: int, n_dims: int, n_queries: int = 20_000) -> tuple[FloatArray, IntArray]:
    rng = default_rng(2023)
    return rng.standard_normal((n_items, n_dims)), draw_queries(n_queries, n_items, 3, rng)


def _rmse(scores: FloatArray, exact: FloatArray) -> float:
    return float(np.sqrt(np.mean((scores - exact) ** 2)))


# --- as the paper's code does it -----------------------------------------------------------------------


def distances_one_by_one(embedding: FloatArray, queries: IntArray, n_draws: int) -> FloatArray:
    """Info-NN-distances, Alg. 2: normal distances of their own for each query and candidate."""
    np.random.seed(0)  # noqa: NPY002
    scores = []
    for reference, *candidates in queries:
        distances = np.stack(
            [
                np.abs(np.random.normal(np.linalg.norm(embedding[reference] - embedding[item]), SIGMA, n_draws))  # noqa: NPY002
                for item in candidates
            ],
            axis=1,
        )
        weights = 1 / (distances**2 + MU)
        probs = weights / weights.sum(axis=1, keepdims=True)
        given_draw = -(probs * np.log(probs)).sum(axis=1)
        mean = probs.mean(axis=0)
        scores.append(-(mean * np.log(mean)).sum() - given_draw.mean())
    return np.array(scores)


def embedding_one_by_one(embedding: FloatArray, queries: IntArray, n_draws: int) -> FloatArray:
    """Info-NN-embedding, Alg. 1: for each drawn embedding, for each query."""
    np.random.seed(0)  # noqa: NPY002
    summed = np.zeros((len(queries), queries.shape[1] - 1))
    given_draw = np.zeros(len(queries))
    for _ in range(n_draws):
        drawn = embedding + np.random.normal(0, SIGMA, embedding.shape)  # noqa: NPY002
        for row, (reference, *candidates) in enumerate(queries):
            distances = np.linalg.norm(drawn[candidates] - drawn[reference], axis=1)
            weights = 1 / (distances**2 + MU)
            probs = weights / weights.sum()
            summed[row] += probs
            given_draw[row] -= (probs * np.log(probs)).sum()
    mean = summed / n_draws
    return -(mean * np.log(mean)).sum(axis=1) - given_draw / n_draws


def rankings_one_by_one(embedding: FloatArray, queries: IntArray, n_draws: int) -> FloatArray:
    """InfoTuple on drawn distances: every order of every query by itself."""
    np.random.seed(0)  # noqa: NPY002
    scores = []
    for reference, *candidates in queries:
        distances = np.stack(
            [
                np.random.normal(np.linalg.norm(embedding[reference] - embedding[item]), SIGMA, n_draws)  # noqa: NPY002
                for item in candidates
            ],
            axis=1,
        )
        weights = 1 / (distances**2 + MU)
        of_mean, given_draw = 0.0, 0.0
        for order in permutations(range(len(candidates))):
            prob = np.ones(n_draws)
            for first in range(len(order) - 1):
                prob = prob * weights[:, order[first]] / weights[:, list(order[first:])].sum(axis=1)
            of_mean -= prob.mean() * np.log(prob.mean())
            given_draw -= (prob * np.log(prob)).mean()
        scores.append(of_mean - given_draw)
    return np.array(scores)
