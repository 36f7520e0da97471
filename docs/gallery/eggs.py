"""Alien eggs lie on a line from spiky to smooth. 500 people's answers, and no word about it, bring the line back."""

import sys

import numpy as np

from infonn.datasets.eggs import alien_eggs
from infonn.learners.posterior.learner import Posterior
from infonn.plots.look import COLOURS, new_figure, style

eggs = alien_eggs()
answers = eggs.chosen_by("RandomSampling").take(slice(500))
belief = Posterior(30, dims=1, n_chains=32).fit(answers, np.random.default_rng(0))
places = belief.embedding[:, 0] * np.sign(np.corrcoef(belief.embedding[:, 0], eggs.smoothness)[0, 1])

with style():
    figure = new_figure(4.6, 3.6)
    axes = figure.subplots()
    axes.scatter(eggs.smoothness, places, color=COLOURS[0])
    axes.set(xlabel="how smooth the egg was made", ylabel="where people's answers put it")
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "eggs.png", dpi=100)
print(f"correlation {np.corrcoef(eggs.smoothness, places)[0, 1]:.3f}")
