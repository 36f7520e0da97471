"""Which pictures to label first? Typical ones of different kinds, above, where chance shows some kinds twice."""

import sys

import numpy as np
from sklearn.datasets import load_digits

from infonn import create_study
from infonn.plots.look import new_figure, style

digits = load_digits()
names = [f"digit {i}" for i in range(600)]
study = create_study(
    names,
    features=digits.data[:600],
    task="labels",
    classes=[str(i) for i in range(10)],
    strategy="typicality",
    first=0,
    seed=1,
)
typical = [question.query[0] for question in study.ask(12)]
drawn = np.random.default_rng(0).choice(600, 12, replace=False)

with style():
    figure = new_figure(8.4, 2.0)
    for row, items in enumerate((typical, drawn)):
        for place, item in enumerate(items):
            axes = figure.add_subplot(2, 12, 12 * row + place + 1)
            axes.imshow(-digits.images[item], cmap="gray")
            axes.set_axis_off()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "first_labels.png", dpi=100)
print("kinds among the typical:", len(set(digits.target[typical])), "among the drawn:", len(set(digits.target[drawn])))
