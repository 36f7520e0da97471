"""Several learners side by side; the one that foresaw the answers best has the say.

Every learner predicts each answer before it sees it, so the score is a held-out likelihood that costs nobody an
answer, and no setting has to be guessed: whether features describe the items well enough is for the answers to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import FloatArray
from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.learners.posterior import FORESEEN, FREE_DIMS, EmbedderName, Posterior
from infonn.queries import Answers

CHOSEN = "chosen"
BEHIND = 0.1  # nats an answer; a learner that foresees so much worse than the best is fitted no more
LEAD = (
    0.2  # nats an answer over the root of their number, which is luck: by so much must each learner lead the one before
)


@dataclass(frozen=True)
class Choice:
    """The belief of the posterior under which the answers were likeliest before they were seen.

    The first learner is the simplest, and others must lead it by more than luck. The state keeps the chains of all,
    so that the say may change as answers come.
    """

    learners: tuple[Posterior, ...]

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """The belief of the learner that foresees best, fitted beside the others."""
        seeds = rng.integers(2**63, size=len(self.learners))
        starts = [_part(start, place) for place in range(len(self.learners))]
        before = [None if own is None or own.state is None else float(own.state[FORESEEN]) for own in starts]
        best = max((value for value in before if value is not None), default=0.0)
        states: list[Mapping[str, FloatArray]] = []
        chosen, foreseen, place = starts[0], -np.inf, 0
        lead = LEAD / math.sqrt(max(1, len(answers)))
        for learner, seed, own, value in zip(self.learners, seeds, starts, before):
            if own is not None and own.state is not None and value is not None and value < best - BEHIND:
                states.append(own.state)  # it rests
                continue
            belief = learner.fit(answers, default_rng(seed), own)
            assert belief.state is not None
            states.append(belief.state)
            value = float(belief.state[FORESEEN]) - (lead if len(states) > 1 else 0.0)
            if value > foreseen:
                chosen, foreseen, place = belief, value, len(states) - 1
        assert chosen is not None
        kept = {f"{i}.{name}": value for i, state in enumerate(states) for name, value in state.items()}
        return Belief(chosen.embedding, chosen.draws, response=chosen.response, state={**kept, CHOSEN: np.array(place)})

    def embed(self, belief: Belief, features: FloatArray) -> FloatArray:
        """Where new items lie beside those of `belief.embedding`, where it goes by features."""
        place = int(_state(belief)[CHOSEN])
        learner, own = self.learners[place], _part(belief, place)
        if learner.features is None or own is None:
            raise DataError(
                "The answers are described better without the features, so new items cannot be placed. "
                'Use embedder="hybrid".'
            )
        return learner.embed(own, features)


def posterior(
    n_items: int,
    features: FloatArray | None = None,
    dims: int | None = None,
    embedder: EmbedderName | None = None,
    mu: float | None = None,
    sharpness: float | None = None,
    lapse: float | None = None,
    prior_scale: float | None = None,
    n_chains: int = 48,
    moves: int = 10,
    leaps: int = 8,
) -> Posterior | Choice:
    """Chains that sample embedding and response model: many draws, and settings that the answers choose.

    With features and no `embedder`, three are fitted side by side: a linear metric of the features, the features with
    an offset for every item, and an embedding that ignores them.
    """

    def made(own: FloatArray | None, kind: EmbedderName, dims: int | None = dims) -> Posterior:
        return Posterior(n_items, own, dims, kind, mu, sharpness, lapse, prior_scale, n_chains, moves, leaps)

    if embedder is not None or features is None:
        return made(features, embedder or "free")
    hybrid = made(features, "hybrid", dims or FREE_DIMS)
    return Choice((made(features, "linear"), hybrid, made(None, "free")))


def _part(belief: Belief | None, place: int) -> Belief | None:
    """The belief of one learner out of a choice's."""
    if belief is None or belief.state is None or CHOSEN not in belief.state:
        return None
    lead = f"{place}."
    own = {name.removeprefix(lead): value for name, value in belief.state.items() if name.startswith(lead)}
    return Belief(belief.embedding, state=own)


def _state(belief: Belief) -> Mapping[str, FloatArray]:
    if belief.state is None or CHOSEN not in belief.state:
        raise DataError("This belief is no choice between learners; fit it with the learner that embeds.")
    return belief.state
