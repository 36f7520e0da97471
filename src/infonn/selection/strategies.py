"""The named pairs of criterion and batch rule. The first line of each docstring is what `infonn strategies` shows.

All but `random` take the same settings of the batch: `per_reference` (the best query of every reference first),
`n_best` (so many informative ones, the rest at random) and `power` (beta of the power noise).
"""

from __future__ import annotations

from infonn.framework import Predictor, Strategy
from infonn.maths.draws import DEFAULT_DRAWS, DrawMethod
from infonn.selection.batches import OneOrMany, batch_rule, best
from infonn.selection.criteria import Entropy, Information, Random
from infonn.selection.predictions import BestDraws, DistanceNoise, EmbeddingNoise

BATCH_POWER = 8.0  # beta of info_nn's power noise; 4 to 8 did best in published logs of PowerBALD


def random() -> Strategy:
    """Queries drawn from the pool at random: the baseline."""
    return Strategy(Random(), best)


def info_nn(
    sigma: float | None = None,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    per_reference: bool = False,
    n_best: int | None = None,
    power: float | None = BATCH_POWER,
) -> Strategy:
    """The answer is expected to tell most: by the belief's own draws, or else by drawn distances.

    Power noise keeps a batch from asking one thing many times; a single query is always the best one.
    """
    rule = OneOrMany(batch_rule(per_reference, n_best, power))
    return Strategy(Information(), rule, BestDraws(sigma, mu, n_draws))


def info_nn_distances(
    sigma: float | None = None,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    method: DrawMethod = "sobol",
    per_reference: bool = False,
    n_best: int | None = None,
    power: float | None = None,
) -> Strategy:
    """Info-NN as published, with distances drawn from N(D, sigma^2)."""
    return _informative(DistanceNoise(sigma, mu, n_draws, method), per_reference, n_best, power)


def info_nn_embedding(
    sigma: float = 1.0,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    method: DrawMethod = "sobol",
    per_reference: bool = False,
    n_best: int | None = None,
    power: float | None = None,
) -> Strategy:
    """Info-NN as published, with noise N(0, sigma^2) on every coordinate of the embedding."""
    return _informative(EmbeddingNoise(sigma, mu, n_draws, method), per_reference, n_best, power)


def info_ranking(
    sigma: float | None = None,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    method: DrawMethod = "sobol",
    per_reference: bool = False,
    n_best: int | None = None,
    power: float | None = None,
) -> Strategy:
    """InfoTuple (Canal et al. 2020): the full order of the candidates is expected to tell most."""
    return _informative(DistanceNoise(sigma, mu, n_draws, method, kind="ranking"), per_reference, n_best, power)


def entropy(
    sigma: float | None = None,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    per_reference: bool = False,
    n_best: int | None = None,
    power: float | None = None,
) -> Strategy:
    """The mean answer is most uncertain, be it for want of knowledge or because the question is a toss-up."""
    return Strategy(Entropy(), batch_rule(per_reference, n_best, power), BestDraws(sigma, mu, n_draws))


def _informative(predictor: Predictor, per_reference: bool, n_best: int | None, power: float | None) -> Strategy:
    return Strategy(Information(), batch_rule(per_reference, n_best, power), predictor)
