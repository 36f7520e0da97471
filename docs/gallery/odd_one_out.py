"""Which of three colours is the odd one? A ring of hues comes back from 150 answers, without a word about colour."""

import sys

import numpy as np
from matplotlib.colors import hsv_to_rgb

from infonn import ResponseSettings, create_study
from infonn.oracles.distances import DistanceOracle
from infonn.plots.look import new_figure, style

hues = np.arange(18) / 18
wheel = np.column_stack([np.cos(2 * np.pi * hues), np.sin(2 * np.pi * hues)])
person = DistanceOracle(wheel, "odd_one_out", ResponseSettings(mu=0.05, sharpness=2.0, lapse=0.03))

learner = {"name": "posterior", "dims": 2, "n_chains": 24}
study = create_study([f"hue {hue:.2f}" for hue in hues], kind="odd_one_out", learner=learner, first=30, seed=1)
list(study.run(person, rounds=6, size=20))
places = study.belief().embedding[:, :2]

with style():
    figure = new_figure(4.6, 4.6)
    axes = figure.subplots()
    axes.scatter(*places.T, s=330, c=hsv_to_rgb(np.column_stack([hues, np.full(18, 0.75), np.full(18, 0.92)])))
    axes.set_aspect("equal")
    axes.set_axis_off()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "odd_one_out.png", dpi=100)
