"""Fitting MDS: every gradient step in one kernel, beside torch autograd."""

from __future__ import annotations

import numpy as np
from numpy.random import default_rng

from infonn.bench.entries import Comparison
from infonn.maths.comparisons import comparison_loss
from infonn.maths.kernels.comparisons import descend
from infonn.maths.responses import ResponseSettings
from infonn.queries import draw_queries

STEPS, STEP, MU = 500, 0.5, 1.0
PART = 100  # steps the baseline takes


def mds_fit() -> Comparison:
    """500 gradient steps on 1,000 comparisons of 100 items in 5 dimensions, against torch on the CPU."""
    import torch

    rng = default_rng(0)
    start, triplets = rng.random((100, 5)), draw_queries(1000, 100, 2, rng)

    def by_autograd() -> object:
        points = torch.tensor(start, requires_grad=True)
        rows, settings = torch.tensor(triplets.astype(np.int64)), ResponseSettings(MU)
        for _ in range(PART):
            (gradient,) = torch.autograd.grad(comparison_loss(points, rows, settings), points)
            with torch.no_grad():
                points -= STEP * gradient
        return points

    return Comparison(
        lambda: descend(start, triplets, MU, STEPS, STEP),
        "torch autograd on the CPU",
        by_autograd,
        PART / STEPS,
    )
