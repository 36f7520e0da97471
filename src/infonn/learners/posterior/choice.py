"""Several learners side by side; one that foresees the answers clearly better takes the say from the first.

Every learner foresees each answer from the others (its chains, weighted as if they had not seen it), so the score is
a held-out likelihood that costs nobody an answer, and no setting has to be guessed: whether features describe the
items well enough is for the answers to say. A small lead is chance: the say changes at 100 to 1. A learner that has
fallen hopelessly behind is not fitted any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import FloatArray
from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.learners.posterior.learner import EmbedderName, Posterior
from infonn.queries import Answers

CHOSEN = "chosen"
LEAD = math.log(100)  # nats by which another must foresee the answers better to take the say
HOPELESS = math.log(1e9)  # nats behind the one that has it


@dataclass(frozen=True)
class Choice:
    """The belief of the posterior that foresees the answers best.

    The first has the say until another leads clearly. The state keeps the chains of all that may still take it.
    """

    learners: tuple[Posterior, ...]
    effort: float = 1.0  # of each of them

    def with_effort(self, effort: float) -> Choice:
        """The same with this share of the moves."""
        return replace(self, effort=effort)

    def with_dims(self, dims: int) -> Choice:
        """The same with at most so many dimensions."""
        return replace(self, learners=tuple(learner.with_dims(dims) for learner in self.learners))

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """The belief of the learner that has the say, fitted beside those that may still take it."""
        had, places = self._standing(start)
        seeds = rng.integers(2**63, size=len(self.learners))
        beliefs = {
            place: self._learner(place).fit(answers, default_rng(seeds[place]), _part(start, place)) for place in places
        }
        states = {place: belief.state or {} for place, belief in beliefs.items()}
        nats = {place: self.learners[place].foreseen(belief, answers) for place, belief in beliefs.items()}
        best = max(nats, key=lambda place: nats[place])
        chosen = best if nats[best] - nats[had] > LEAD else had
        hoping = [place for place in places if nats[chosen] - nats[place] < HOPELESS]
        kept = {f"{place}.{name}": value for place in hoping for name, value in states[place].items()}
        belief = beliefs[chosen]
        return Belief(
            belief.embedding, belief.draws, response=belief.response, state={**kept, CHOSEN: np.array(chosen)}
        )

    def _learner(self, place: int) -> Posterior:
        learner = self.learners[place]
        return learner if self.effort == 1 else replace(learner, effort=self.effort)

    def _standing(self, start: Belief | None) -> tuple[int, list[int]]:
        """Who has the say, and who is still fitted; the first and all at the beginning."""
        everyone = list(range(len(self.learners)))
        if start is None or start.state is None or CHOSEN not in start.state:
            return 0, everyone
        kept = {name.split(".")[0] for name in start.state}
        return int(start.state[CHOSEN]), [place for place in everyone if str(place) in kept]

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
