"""Training losses on squared distances. Likelihoods come from `maths.responses`, the one home of the response model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from infonn.maths.responses import ResponseSettings, option_log_probs
from infonn.queries import Answers, Kind, split_into_triplets

if TYPE_CHECKING:
    from torch import Tensor

PRIOR_ANSWERS = 10.0  # the weight of the given lapse rate where one is fitted
PAPER_RESPONSE = ResponseSettings(mu=1e-5)  # the paper's mu for every deep metric learning experiment
UNIT_RESPONSE = ResponseSettings(mu=1.0)


class Loss(Protocol):
    """What one comparison costs, given the squared distances that its options go by."""

    @property
    def response(self) -> ResponseSettings:
        """How the learned embedding is to be read by criteria."""
        ...

    def comparisons(self, answers: Answers) -> Answers:
        """The rows trained on: the answers themselves, or the triplets they imply."""
        ...

    def __call__(self, squared_distances: Tensor, comparisons: Comparisons, lapse: Tensor) -> Tensor:
        """(slices, rows, candidates) -> (slices, rows)."""
        ...


@dataclass(frozen=True)
class Comparisons:
    """What was chosen in each row: `responses` (slices, rows), and what kind of question the rows are."""

    responses: Tensor
    kind: Kind = "nearest"


@dataclass(frozen=True)
class Hinge:
    """Triplet loss as published: max(0, margin + d^2(near) - d^2(far)), summed over triplets."""

    margin: float = 1.0
    response: ResponseSettings = PAPER_RESPONSE

    def comparisons(self, answers: Answers) -> Answers:
        """Triplets (reference, near, far): the chosen candidate stands first."""
        triplets = split_into_triplets(answers)
        return Answers(triplets, np.zeros(len(triplets), np.int32))

    def __call__(self, squared_distances: Tensor, comparisons: Comparisons, lapse: Tensor) -> Tensor:
        return (self.margin + squared_distances[..., 0] - squared_distances[..., 1]).clamp(min=0)


TRIPLET_HINGE = Hinge()


@dataclass(frozen=True)
class Likelihood:
    """-log P(response) under the Plackett-Luce response model, with a lapse rate that is given or fitted.

    The fitted lapse rate is the answers' own: once an epoch it becomes the expected share of random answers (EM), with
    the weight of `PRIOR_ANSWERS` answers on the given one, so that few answers cannot drive it to 0 or 1.
    """

    response: ResponseSettings = UNIT_RESPONSE
    fit_lapse: bool = False

    def comparisons(self, answers: Answers) -> Answers:
        return answers

    def __call__(self, squared_distances: Tensor, comparisons: Comparisons, lapse: Tensor) -> Tensor:
        # (slices, 1, 1) against (slices, rows, options); a lapse rate of exactly 0 changes nothing.
        settings, lapses = replace(self.response, lapse=0.0), lapse[:, None, None]
        all_options = option_log_probs(squared_distances, settings, comparisons.kind, lapses)
        return -all_options.gather(-1, comparisons.responses[..., None])[..., 0]

    def expected_lapse(
        self, squared_distances: Tensor, comparisons: Comparisons, weights: Tensor, lapse: Tensor
    ) -> Tensor:
        """The share of answers that look random, given the current lapse rate: (slices,)."""
        honest = (1 - lapse[:, None]).log() - self(squared_distances, comparisons, lapse * 0)
        random = 1 - (honest + self(squared_distances, comparisons, lapse)).exp().clamp(max=1)
        total = (random * weights).sum(1) + PRIOR_ANSWERS * max(self.response.lapse, 0.05)
        return total / (weights.sum(1) + PRIOR_ANSWERS)
