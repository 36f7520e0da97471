"""Where would a dish lie that nobody was asked about? By its taste, among the dishes that people compared."""

import sys

import numpy as np

from infonn.datasets.food import food73
from infonn.learners.posterior.learner import Posterior
from infonn.plots.look import COLOURS, GREY, new_figure, style
from infonn.queries import draw_from_triplets

food = food73()
answers = draw_from_triplets(food.triplets, 600, 3, np.random.default_rng(0))
learner = Posterior(73, food.tastes, embedder="linear", n_chains=32)
belief = learner.fit(answers, np.random.default_rng(0))
sorbet = learner.embed(belief, np.array([[0, 0, 0.25, 0, 0.75, 0]]))[0]  # salty, savory, sour, bitter, sweet, spicy
nearest = np.linalg.norm(belief.embedding - sorbet, axis=1).argsort()[:5]

with style():
    figure = new_figure(6.0, 4.4)
    axes = figure.subplots()
    axes.scatter(*belief.embedding[:, :2].T, s=16, color=GREY)
    axes.scatter(*belief.embedding[nearest, :2].T, s=26, color=COLOURS[1])
    for item, place in zip(nearest, belief.embedding[nearest, :2]):
        axes.annotate(food.names[item], place, xytext=(5, 3), textcoords="offset points", fontsize=8)
    axes.scatter(*sorbet[:2], s=90, marker="*", color=COLOURS[0])
    axes.annotate("mango sorbet", sorbet[:2], xytext=(9, -22), textcoords="offset points", color=COLOURS[0])
    axes.set_axis_off()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "new_dish.png", dpi=100)
print("nearest to a mango sorbet:", ", ".join(food.names[item] for item in nearest[:3]))
