"""How many answers were given at random? The model learns that beside the map, and the map is the better for it."""

import sys

import numpy as np

from infonn import Answers, ResponseSettings
from infonn.learners.posterior.learner import Posterior
from infonn.oracles.distances import DistanceOracle
from infonn.plots.look import COLOURS, new_figure, style
from infonn.queries import draw_queries

truth = np.random.default_rng(4).normal(size=(15, 2))
told = []
for share in (0.0, 0.1, 0.2, 0.3, 0.4):
    for seed in range(3):
        queries = draw_queries(400, 15, 3, np.random.default_rng(seed))
        person = DistanceOracle(truth, response=ResponseSettings(mu=0.01, sharpness=4.0, lapse=share))
        answers = Answers(queries, person.answer(queries, np.random.default_rng(seed)))
        belief = Posterior(15, dims=2, n_chains=24).fit(answers, np.random.default_rng(0))
        told.append((share, belief.response.lapse))

with style():
    figure = new_figure(4.6, 3.6)
    axes = figure.subplots()
    axes.plot((0, 0.4), (0, 0.4), color="grey", linewidth=1)
    axes.scatter(*np.array(told).T, color=COLOURS[0])
    axes.set(xlabel="share of answers given at random", ylabel="what the model says, from 400 answers")
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "lapses.png", dpi=100)
