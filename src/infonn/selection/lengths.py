"""How much the best questions of each length would tell: what the number of candidates is chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from infonn.beliefs import Belief
from infonn.contracts.loop import Situation
from infonn.queries import Kind, draw_queries, no_answers
from infonn.selection.criteria import Information
from infonn.selection.predictions import BestDraws

LENGTHS = (2, 3, 4, 5, 6)  # candidates; longer questions do not fit on a telephone
DRAWN, BEST = 5_000, 10  # questions drawn of each length; of so many the mean counts


def nats_by_length(
    belief: Belief, rng: Generator, kind: Kind = "nearest", lengths: Sequence[int] = LENGTHS
) -> dict[int, float]:
    """Nats of the best of many random questions, for every number of candidates that the items allow."""
    n_items = len(belief.embedding)
    nats = {}
    for length in lengths:
        if length >= n_items:
            break
        pool = draw_queries(DRAWN, n_items, length, rng)
        situation = Situation(pool, belief, no_answers(length, kind))
        situation = replace(situation, predict=BestDraws()(situation, rng))
        nats[length] = float(np.sort(Information()(pool, situation, rng))[-BEST:].mean())
    return nats
