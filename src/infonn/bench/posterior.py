"""Posterior updates: one more answer, many answers, a network's last layer; and batches by joint information."""

from __future__ import annotations

from functools import lru_cache
from statistics import median
from time import perf_counter

import numpy as np
from numpy.random import default_rng

from infonn.arrays import IntArray
from infonn.beliefs import Belief
from infonn.bench.entries import Comparison
from infonn.learners.posterior.learner import Posterior
from infonn.maths.distances import query_squared_distances
from infonn.maths.information import mean_answer, mutual_information
from infonn.maths.joint import conditional_information, empty_joint, extended, greedy_joint_batch
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries

RESPONSE = ResponseSettings(1.0, 3.0, 0.05)


def posterior_update() -> Comparison:
    """One answer added to 200 of 100 items, 5 dimensions, 32 chains.

    `behind` is by how many nats a held-out answer is less likely after 200 such updates than after a long cold run.
    """
    learner, answers = Posterior(100, dims=5, n_chains=32), _answers(100, 5, 2400)
    start = learner.fit(answers.take(slice(0, 200)), default_rng(0))
    one_more = answers.take(slice(0, 201))

    def behind() -> dict[str, float]:
        belief = start
        for n in range(201, 401):
            belief = learner.fit(answers.take(slice(0, n)), default_rng(n), belief)
        train, held_out = answers.take(slice(0, 400)), answers.take(slice(400, None))
        cold = learner.fit(train, default_rng(1))
        for seed in range(40):
            cold = learner.fit(train, default_rng([2, seed]), cold)
        warm, long_cold = _held_out(belief, held_out), _held_out(cold, held_out)
        return {"held_out": warm, "held_out_cold": long_cold, "behind": long_cold - warm}

    return Comparison(lambda: learner.fit(one_more, default_rng(1), start), extra=behind)


def posterior_growth() -> Comparison:
    """One answer added to 10,000 of 300 items, 3 dimensions, 8 chains; `growth` is its time over that at 1,000."""
    learner, answers = Posterior(300, dims=3, n_chains=8), _answers(300, 3, 10_001)
    few = learner.fit(answers.take(slice(0, 1000)), default_rng(0))
    many = few
    for count in (2000, 5000, 10_000, 10_000):
        many = learner.fit(answers.take(slice(0, count)), default_rng(count), many)

    def at(start: Belief, n: int) -> Belief:
        return learner.fit(answers.take(slice(0, n)), default_rng(1), start)

    def growth() -> dict[str, float]:
        times: tuple[list[float], list[float]] = [], []
        for _ in range(5):
            for side, start, n in zip(times, (few, many), (1001, 10_001)):
                begun = perf_counter()
                at(start, n)
                side.append(perf_counter() - begun)
        accepted = {
            f"acceptance_{n}": float((at(s, n).state or {})["acceptance"]) for s, n in ((few, 1001), (many, 10_001))
        }
        return {"growth": median(times[1]) / median(times[0]), **accepted}

    return Comparison(lambda: at(many, 10_001), extra=growth)


def posterior_features() -> Comparison:
    """A cold fit of 500 answers about 100 items with 4,096 columns of features."""
    rng = default_rng(0)
    hidden = rng.standard_normal((100, 8))
    features = hidden @ rng.standard_normal((8, 4096)) + rng.standard_normal((100, 4096))
    queries = draw_queries(500, 100, 3, rng)
    answers = Answers(queries, DistanceOracle(hidden).answer(queries, rng))

    def share() -> dict[str, float]:
        belief = Posterior(100, features).fit(answers, default_rng(0))
        return {"feature_share": float(np.median((belief.state or {})["feature_share"]))}

    return Comparison(lambda: Posterior(100, features).fit(answers, default_rng(0)), extra=share)


def laplace_update() -> Comparison:
    """One answer about 10,000 items: the last layer's Laplace update against training the network again."""
    from infonn.learners.networks.laplace import Laplace
    from infonn.learners.networks.losses import Likelihood
    from infonn.learners.networks.network import Network

    rng = default_rng(0)
    features = rng.standard_normal((10_000, 10))
    queries = draw_queries(201, 10_000, 3, rng)
    answers = Answers(queries, DistanceOracle(features @ rng.standard_normal((10, 10))).answer(queries, rng))
    network = Network(features, (32, 48, 10), Likelihood(RESPONSE), epochs=100)
    learner = Laplace(network, n_draws=64)
    start = learner.fit(answers.take(slice(0, 200)), default_rng(0))
    return Comparison(
        lambda: learner.fit(answers, default_rng(1), start),
        "training the network again",
        lambda: network.fit(answers, default_rng(1)),
    )


def joint_batch() -> Comparison:
    """A joint batch of 10 from 60,000 queries, 64 draws; `same` says whether plain greedy picks the same of 2,000."""
    log_probs = _drawn_log_probs(60_000)
    information = mutual_information(log_probs)

    def lazily(logs: np.ndarray, told: np.ndarray) -> IntArray:
        return greedy_joint_batch(lambda rows: logs[:, rows], told, 10, default_rng(1), 1000)

    def same() -> dict[str, float]:
        few, told = log_probs[:, :2000], information[:2000]
        return {"same": float(np.array_equal(lazily(few, told), _greedily(few, told)))}

    return Comparison(lambda: lazily(log_probs, information), extra=same)


def _greedily(log_probs: np.ndarray, information: np.ndarray) -> list[int]:
    """Every term of every query, for every pick."""
    rng = default_rng(1)
    picked: list[int] = []
    joint = empty_joint(len(log_probs))
    for _ in range(10):
        terms = conditional_information(joint, log_probs) if picked else np.array(information)
        terms[picked] = -np.inf
        picked.append(int(np.argmax(terms)))
        joint = extended(joint, log_probs[:, picked[-1]], rng, 1000)
    return picked


def _drawn_log_probs(n_queries: int) -> np.ndarray:
    rng = default_rng(0)
    embedding = rng.standard_normal((200, 5))
    draws = embedding + 0.7 * rng.standard_normal((64, 200, 5))
    queries = draw_queries(n_queries, 200, 3, rng)
    return np.asarray(nearest_log_probs(query_squared_distances(draws, queries), RESPONSE), np.float32)


@lru_cache
def _answers(n_items: int, n_dims: int, n: int) -> Answers:
    rng = default_rng(0)
    queries = draw_queries(n, n_items, 3, rng)
    oracle = DistanceOracle(rng.standard_normal((n_items, n_dims)), response=ResponseSettings(0.1, 3.0, 0.05))
    return Answers(queries, oracle.answer(queries, rng))


def _held_out(belief: Belief, answers: Answers) -> float:
    """Mean log probability of answers nobody trained on, under the mean of the draws."""
    assert belief.response is not None
    squared = query_squared_distances(belief.draws, answers.queries)
    mean = mean_answer(nearest_log_probs(squared, belief.response))
    return float(mean[np.arange(len(answers)), answers.responses].mean())
