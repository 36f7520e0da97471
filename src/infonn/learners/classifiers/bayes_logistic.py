"""Bayesian logistic regression: softmax regression on the features, with draws from its posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator, default_rng

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.learners.classifiers.rows import Rows, rows_of
from infonn.maths.softmax import learn_scale, log_softmax, weight_draws
from infonn.maths.threads import one_thread
from infonn.queries import Answers

SCALES = (1.0, 4.0, 16.0)  # of the prior, in deviations of a class's logit over items


@dataclass(frozen=True)
class BayesLogistic:
    """Softmax regression with a normal prior whose scale the labels choose; its draws are Laplace's.

    The embedding is the features, with `scale` each with mean 0 and deviation 1 over all items. Draws of the belief
    are where items lie among the classes: a drawn logit for each class, less their mean.
    """

    features: FloatArray
    n_classes: int
    n_draws: int = 64
    scale: bool = True
    scales: Sequence[float] = SCALES

    def __post_init__(self) -> None:
        if self.features is None:
            raise DataError("A classifier needs features of the items: numeric columns of items.csv, or a .npy file.")

    @cached_property
    def rows(self) -> Rows:
        """The features as the regression sees them."""
        return rows_of(self.features, self.scale)

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """From scratch; without any label all classes are alike, and draws come from the prior."""
        seed = int(rng.integers(2**63))
        rows = self.rows
        inputs = rows.inputs(answers.queries[:, 0]).astype(float)
        with one_thread():
            scale, weights = learn_scale(inputs, answers.responses, self.n_classes, self.scales)
        posterior = Posterior(rows, inputs, weights, scale, self.n_draws, seed)
        state = {"weights": weights, "scale": np.array(scale)}
        return Belief(rows.embedding, posterior.places, posterior, state=state)

    def predict_log_probs(self, belief: Belief, rows: IntArray) -> FloatArray:
        """Class log-probabilities of items, (rows, classes)."""
        assert isinstance(belief.class_log_probs, Posterior)
        return belief.class_log_probs.point(rows)


@dataclass(frozen=True)
class Posterior:
    """Class log-probabilities by draw, (draws, rows, classes); drawn when somebody first asks for draws."""

    rows: Rows
    labelled_inputs: FloatArray
    weights: FloatArray  # (inputs, classes), the most probable
    scale: float
    n_draws: int
    seed: int

    def __call__(self, rows: IntArray) -> FloatArray:
        return log_softmax(self._logits(rows))

    def places(self, rows: IntArray) -> FloatArray:
        """Logits less their mean over the classes: (draws, rows, classes)."""
        logits = self._logits(rows)
        logits -= logits.mean(axis=-1, keepdims=True)
        return logits

    def point(self, rows: IntArray) -> FloatArray:
        """The most probable weights' log-probabilities, (rows, classes)."""
        return log_softmax(self.rows.times(rows, self.weights))

    def point_of(self, features: FloatArray) -> FloatArray:
        """The same for items that are not among these, from their features: (n, columns) -> (n, classes)."""
        return log_softmax(self.rows.inputs_of(features) @ np.asarray(self.weights, np.float32))

    @cached_property
    def _draws(self) -> FloatArray:
        with one_thread():
            return weight_draws(self.labelled_inputs, self.weights, self.scale, self.n_draws, default_rng(self.seed))

    def _logits(self, rows: IntArray) -> FloatArray:
        flat = self.rows.times(rows, self._draws.reshape(len(self.weights), -1))
        return np.ascontiguousarray(flat.reshape(len(rows), self.n_draws, -1).transpose(1, 0, 2))
