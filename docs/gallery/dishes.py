"""73 dishes as people taste them: a map from 800 answers to "which of these tastes most like that one?"."""

import sys

import numpy as np

from infonn.datasets.food import TASTES, food73
from infonn.estimators import Embedding
from infonn.plots.look import new_figure, style
from infonn.plots.maps import project
from infonn.queries import draw_from_triplets

food = food73()
answers = draw_from_triplets(food.triplets, 800, 3, np.random.default_rng(0))
model = Embedding("posterior", n_items=73, random_state=0).fit(answers.queries, answers.responses)
places = project(model.embedding_, "tsne")

with style():
    figure = new_figure(7.0, 5.4)
    axes = figure.subplots()
    for taste, name in enumerate(TASTES):
        mine = food.tastes.argmax(axis=1) == taste
        axes.scatter(*places[mine].T, s=34, label=name)
    for item in range(0, 73, 4):
        axes.annotate(food.names[item], places[item], xytext=(4, 3), textcoords="offset points", fontsize=7)
    axes.legend(title="strongest taste", fontsize=8)
    axes.set_axis_off()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "dishes.png", dpi=100)
