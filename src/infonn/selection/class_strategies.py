"""The named strategies for labels. The first line of each docstring is what `infonn strategies` shows."""

from __future__ import annotations

from infonn.contracts.loop import Strategy
from infonn.maths.draws import DEFAULT_DRAWS, DrawMethod
from infonn.maths.joint import MAX_CONFIGURATIONS
from infonn.selection.batches import PowerNoise, best
from infonn.selection.class_batches import Badge, Clustered, KCenter, PseudoLabels, Spread, Typical, TypicalFirst
from infonn.selection.class_criteria import ClassEntropy, LabelTargets, Margin
from infonn.selection.class_predictions import ClassDistanceNoise, ClassDraws, Pairs, PlaceDraws
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
    pairs: Pairs = "labelled",
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


def epig(n_targets: int = 100, candidates: int = 1000) -> Strategy:
    """EPIG: the label is expected to tell most of the labels of other items."""
    return Strategy(LabelTargets(n_targets, candidates), best)


def parbals(n_targets: int = 100, candidates: int = 1000, worlds: int = 4) -> Strategy:
    """ParBaLS: EPIG for batches, each pick as if labels drawn for the earlier ones were known."""
    return Strategy(LabelTargets(n_targets, candidates), PseudoLabels(worlds))


def info_nn_draws(clusters: bool = False, max_configurations: int = MAX_CONFIGURATIONS) -> Strategy:
    """Info-NN on draws: where the item lies among the labelled ones is drawn from the belief."""
    batch = Clustered() if clusters else JointInformation(max_configurations)
    return Strategy(Information(), batch, PlaceDraws())


def typical_margin(n_classes: int | None = None, spread: bool = True, per_class: int = 0) -> Strategy:
    """Typical items of different kinds first, then close calls between two classes that differ from each other."""
    return Strategy(Margin(), TypicalFirst(Spread() if spread else best, n_classes, per_class))


def margin_spread() -> Strategy:
    """The two most likely classes are closest, and no two items of a batch resemble each other."""
    return Strategy(Margin(), Spread())


def typicality(neighbours: int = 20) -> Strategy:
    """Typical items of the largest clusters without a label: a start that needs no label."""
    return Strategy(Random(), Typical(neighbours))
