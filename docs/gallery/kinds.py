"""What to ask? The nearest of three, the order of three, or the odd one of three, by the number of questions."""

import sys

import numpy as np

from infonn import Answers
from infonn.learners.posterior.learner import Posterior
from infonn.maths.accuracy import triplet_accuracy
from infonn.oracles.distances import DistanceOracle
from infonn.plots.look import new_figure, style
from infonn.queries import draw_queries

truth = np.random.default_rng(2).normal(size=(20, 2))
test = draw_queries(2000, 20, 2, np.random.default_rng(9))
far_first = DistanceOracle(truth).answer(test, np.random.default_rng(0)) == 1
test[far_first] = test[far_first][:, [0, 2, 1]]  # reference, near, far

with style():
    figure = new_figure(5.6, 3.6)
    axes = figure.subplots()
    for kind, candidates in (("nearest", 3), ("ranking", 3), ("odd_one_out", 2)):
        accuracies = []
        for n in (20, 50, 100, 200):
            queries = draw_queries(n, 20, candidates, np.random.default_rng(1))
            answers = Answers(queries, DistanceOracle(truth, kind).answer(queries, np.random.default_rng(0)), kind)
            belief = Posterior(20, dims=2, n_chains=24).fit(answers, np.random.default_rng(0))
            accuracies.append(triplet_accuracy(belief.embedding, test))
        axes.plot((20, 50, 100, 200), accuracies, marker="o", label=kind.replace("_", " "))
    axes.set(xlabel="random questions answered", ylabel="accuracy on other triplets")
    axes.legend()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "kinds.png", dpi=100)
