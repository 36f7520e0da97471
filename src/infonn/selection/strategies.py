"""The named pairs of criterion and batch rule. The first line of each docstring is what `infonn strategies` shows.

All but `random` take the settings of the batch, too: see `BatchSettings`.
"""

from __future__ import annotations

from typing import Unpack

from infonn.contracts.loop import Strategy
from infonn.maths.draws import DEFAULT_DRAWS, DrawMethod
from infonn.selection.batches import BatchSettings, OneOrMany, batch_rule, best
from infonn.selection.criteria import Entropy, Information, Random
from infonn.selection.predictions import BestDraws, DistanceNoise, EmbeddingNoise
from infonn.selection.search import SwapSearch

BATCH_POWER = 8.0  # beta of info_nn's power noise; 4 to 8 did best in published logs of PowerBALD


def random() -> Strategy:
    """Queries drawn from the pool at random: the baseline."""
    return Strategy(Random(), best)


def info_nn(
    sigma: float | None = None,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    search: bool = False,
    **batch: Unpack[BatchSettings],
) -> Strategy:
    """The answer is expected to tell most: by the belief's own draws, or else by drawn distances.

    Power noise, unless `power` says otherwise, keeps a batch from asking one thing many times; a single query is
    always the best one. With `search`, queries beyond a drawn pool are looked for, too.
    """
    rule = OneOrMany(batch_rule(**(BatchSettings(power=BATCH_POWER) | batch)))
    return Strategy(Information(), rule, BestDraws(sigma, mu, n_draws), SwapSearch() if search else None)


def info_nn_distances(
    sigma: float | None = None,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    method: DrawMethod = "sobol",
    **batch: Unpack[BatchSettings],
) -> Strategy:
    """Info-NN as published, with distances drawn from N(D, sigma^2)."""
    return Strategy(Information(), batch_rule(**batch), DistanceNoise(sigma, mu, n_draws, method))


def info_nn_embedding(
    sigma: float = 1.0,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    method: DrawMethod = "sobol",
    **batch: Unpack[BatchSettings],
) -> Strategy:
    """Info-NN as published, with noise N(0, sigma^2) on every coordinate of the embedding."""
    return Strategy(Information(), batch_rule(**batch), EmbeddingNoise(sigma, mu, n_draws, method))


def info_ranking(
    sigma: float | None = None,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    method: DrawMethod = "sobol",
    **batch: Unpack[BatchSettings],
) -> Strategy:
    """InfoTuple (Canal et al. 2020): the full order of the candidates is expected to tell most."""
    return Strategy(Information(), batch_rule(**batch), DistanceNoise(sigma, mu, n_draws, method, kind="ranking"))


def entropy(
    sigma: float | None = None,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    **batch: Unpack[BatchSettings],
) -> Strategy:
    """The mean answer is most uncertain: for lack of knowledge, or because the question is a toss-up."""
    return Strategy(Entropy(), batch_rule(**batch), BestDraws(sigma, mu, n_draws))
