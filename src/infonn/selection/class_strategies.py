"""The named strategies for labels. The first line of each docstring is what `infonn strategies` shows."""

from __future__ import annotations

from typing import Literal

from infonn.contracts.loop import Strategy
from infonn.maths.draws import DEFAULT_DRAWS, DrawMethod
from infonn.maths.joint import MAX_CONFIGURATIONS
from infonn.selection.batches import PowerNoise, best
from infonn.selection.class_batches import Badge, Clustered, KCenter, Typical
from infonn.selection.class_criteria import ClassEntropy, Margin
from infonn.selection.class_predictions import ClassDistanceNoise, ClassDraws
from infonn.selection.criteria import Information, Random
from infonn.selection.joint import JointInformation


def info_nn(
    n_classes: int | None = None,
    clusters: bool = True,
    switch: int | None = 10,
    sigma: float | None = None,
    mu: float | None = None,
    n_draws: int = DEFAULT_DRAWS,
    method: DrawMethod = "sobol",
    pairs: Literal["labelled", "all"] = "labelled",
) -> Strategy:
    """Info-NN-m: the label tells most about where the item lies among labelled ones, best of every cluster."""
    predictor = ClassDistanceNoise(sigma, mu, n_draws, method, pairs)
    return Strategy(Information(), Clustered(n_classes, switch) if clusters else best, predictor)


def entropy() -> Strategy:
    """MaxEntropy: the predicted class is most uncertain."""
    return Strategy(ClassEntropy(), best)


def margin() -> Strategy:
    """The two most likely classes are closest."""
    return Strategy(Margin(), best)


def bald() -> Strategy:
    """BALD: draws of the classifier disagree most about the class."""
    return Strategy(Information(), best, ClassDraws())


def batch_bald(max_configurations: int = MAX_CONFIGURATIONS) -> Strategy:
    """BatchBALD: the labels of the batch together tell most about the classifier."""
    return Strategy(Information(), JointInformation(max_configurations), ClassDraws())


def power_bald(beta: float = 4.0) -> Strategy:
    """PowerBALD: BALD with chances in proportion to score^beta, which keeps batches diverse at no cost."""
    return Strategy(Information(), PowerNoise(beta), ClassDraws())


def k_center() -> Strategy:
    """K-Center: items farthest from all labelled and chosen ones."""
    return Strategy(Random(), KCenter())


def badge() -> Strategy:
    """BADGE: k-means++ seeds among the gradients of the last layer."""
    return Strategy(Random(), Badge())


def typicality(neighbours: int = 20) -> Strategy:
    """Typical items of the largest clusters without a label: a start that needs no label."""
    return Strategy(Random(), Typical(neighbours))
