"""How sure is the map? Every draw of the posterior is a map of its own; together they are clouds."""

import sys

import numpy as np

from infonn import Answers
from infonn.learners.posterior.learner import Posterior
from infonn.oracles.distances import DistanceOracle
from infonn.plots.look import COLOURS, new_figure, style
from infonn.queries import draw_queries

rng = np.random.default_rng(5)
truth = rng.normal(size=(8, 2))


def turned(draw: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A draw moved, turned and sized to lie on `like`: answers say nothing about these."""
    centred, target = draw - draw.mean(axis=0), like - like.mean(axis=0)
    left, _, right = np.linalg.svd(centred.T @ target)
    size = (centred @ left @ right * target).sum() / (centred**2).sum()
    return size * centred @ left @ right + like.mean(axis=0)


with style():
    figure = new_figure(8.4, 3.0)
    for axes, n in zip(figure.subplots(1, 3), (20, 80, 320)):
        queries = draw_queries(n, 8, 3, np.random.default_rng(6))
        answers = Answers(queries, DistanceOracle(truth).answer(queries, rng))
        belief = Posterior(8, dims=2, n_chains=60).fit(answers, np.random.default_rng(0))
        draws = np.array([turned(draw, truth) for draw in belief.draws])
        for item in range(8):
            axes.scatter(*draws[:, item].T, s=5, alpha=0.35, color=COLOURS[item % len(COLOURS)])
        axes.scatter(*truth.T, marker="+", color="black")
        axes.set(title=f"{n} answers", xlim=(-3, 3), ylim=(-3, 3), xticks=[], yticks=[])
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "uncertainty.png", dpi=100)
