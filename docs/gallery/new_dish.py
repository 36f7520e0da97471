"""Where would a dish lie that nobody was asked about? By its taste, among the dishes that people compared."""

import sys

import numpy as np

from infonn.datasets.food import food73
from infonn.estimators import Embedding
from infonn.plots.look import COLOURS, GREY, new_figure, style
from infonn.plots.maps import project
from infonn.queries import draw_from_triplets

food = food73()
answers = draw_from_triplets(food.triplets, 2000, 3, np.random.default_rng(0))
settings = {"layers": [12, 12, 12], "members": 8, "epochs": 60, "learning_rate": 0.01}
model = Embedding("network", features=food.tastes, settings=settings, random_state=0)
model.fit(answers.queries, answers.responses)
sorbet = model.transform(np.array([[0, 0, 0.25, 0, 0.75, 0]]))  # salty, savory, sour, bitter, sweet, spicy
nearest = np.linalg.norm(model.embedding_ - sorbet, axis=1).argsort()[:5]
plane = project(np.concatenate([model.embedding_, sorbet]), "pca")

with style():
    figure = new_figure(6.0, 4.4)
    axes = figure.subplots()
    axes.scatter(*plane[:-1].T, s=16, color=GREY)
    axes.scatter(*plane[nearest].T, s=26, color=COLOURS[1])
    for item, place in zip(nearest, plane[nearest]):
        axes.annotate(food.names[item], place, xytext=(5, 3), textcoords="offset points", fontsize=8)
    axes.scatter(*plane[-1], s=90, marker="*", color=COLOURS[0])
    axes.annotate("mango sorbet", plane[-1], xytext=(9, -22), textcoords="offset points", color=COLOURS[0])
    axes.set_axis_off()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "new_dish.png", dpi=100)
print("nearest to a mango sorbet:", ", ".join(food.names[item] for item in nearest[:3]))
