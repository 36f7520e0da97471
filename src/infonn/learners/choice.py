"""Several learners side by side; the one that foresaw the answers best has the say.

Every learner predicts each answer before it sees it, so the score is a held-out likelihood that costs nobody an
answer, and no setting has to be guessed: whether features describe the items well enough is for the answers to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import FloatArray
from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.learners.posterior import FORESEEN, EmbedderName, Posterior
from infonn.queries import Answers

CHOSEN = "chosen"


@dataclass(frozen=True)
class Choice:
    """The belief of the posterior under which the answers were likeliest before they were seen.

    The state keeps the chains of all, so that the say may change as answers come.
    """

    learners: tuple[Posterior, ...]

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """The belief of the learner that foresees best, fitted beside the others."""
        seeds = rng.integers(2**63, size=len(self.learners))
        beliefs = [
            learner.fit(answers, default_rng(seed), _part(start, place))
            for place, (learner, seed) in enumerate(zip(self.learners, seeds))
        ]
        states = [belief.state or {} for belief in beliefs]
        best = int(np.argmax([state[FORESEEN] for state in states]))
        kept = {f"{place}.{name}": value for place, state in enumerate(states) for name, value in state.items()}
        chosen = beliefs[best]
        return Belief(chosen.embedding, chosen.draws, response=chosen.response, state={**kept, CHOSEN: np.array(best)})

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

    With features and no `embedder`, a linear metric of the features and a free embedding are fitted side by side.
    """

    def made(own: FloatArray | None, kind: EmbedderName) -> Posterior:
        return Posterior(n_items, own, dims, kind, mu, sharpness, lapse, prior_scale, n_chains, moves, leaps)

    if embedder is not None or features is None:
        return made(features, embedder or "free")
    return Choice((made(features, "linear"), made(None, "free")))


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
