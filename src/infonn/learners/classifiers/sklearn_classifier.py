"""Any scikit-learn classifier with `predict_proba` as a learner; its committee gives the draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.maths.scaling import column_scaling, scaled
from infonn.queries import Answers, check_labels

FLOOR = 1e-6  # no class is impossible because a classifier has not met it yet


def logistic_regression() -> Any:
    """Multinomial logistic regression, the default."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, max_iter=1000)


@dataclass(frozen=True)
class SklearnClassifier:
    """A committee of clones of `estimator` on the items' features; the embedding is the scaled features.

    The first member sees every label once and is the point prediction; the `members` of the committee each see a
    resample of the labels that keeps every class, and their predictions are the draws. `scale` gives each feature
    mean 0 and deviation 1 over all items.
    """

    features: FloatArray
    n_classes: int
    estimator: Any = None
    members: int = 10
    scale: bool = True

    def __post_init__(self) -> None:
        if self.features is None:
            raise DataError("A classifier needs features of the items: numeric columns of items.csv, or a .npy file.")

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """From scratch; with labels of one class only that class is predicted, with none all classes alike."""
        features = self._scaled
        items, labels = check_labels(answers).queries[:, 0], answers.responses
        fitted = [self._member(features[items], labels, rng)]
        for _ in range(self.members):
            rows = resample(labels, rng)
            fitted.append(self._member(features[items[rows]], labels[rows], rng))
        scaling = column_scaling(np.asarray(self.features)) if self.scale else None
        return Belief(features, class_log_probs=_Committee(features, tuple(fitted), self.n_classes, scaling))

    @cached_property
    def _scaled(self) -> FloatArray:
        """Once for all fits."""
        return scaled(self.features) if self.scale else np.asarray(self.features, np.float32)

    def _member(self, features: FloatArray, labels: IntArray, rng: Generator) -> Any:
        from sklearn.base import clone

        seed = int(rng.integers(2**31))
        seen = np.unique(labels)
        if len(seen) < 2:
            return _Constant(seen)
        model = clone(self.estimator) if self.estimator is not None else logistic_regression()
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        if not hasattr(model, "predict_proba"):
            raise DataError(f"{type(model).__name__} has no predict_proba; a classifier with probabilities is needed.")
        return model.fit(features, labels)

    def predict_log_probs(self, belief: Belief, rows: IntArray) -> FloatArray:
        """Class log-probabilities of items, (rows, classes)."""
        committee = belief.class_log_probs
        assert isinstance(committee, _Committee)
        return committee.point(rows)


@dataclass(frozen=True)
class _Constant:
    """Stands in where a classifier has nothing to tell apart."""

    classes_: IntArray

    def predict_proba(self, features: FloatArray) -> FloatArray:
        return np.ones((len(features), len(self.classes_)))


@dataclass(frozen=True)
class _Committee:
    """Class log-probabilities by member, row by row; `point` is the member that saw every label."""

    features: FloatArray
    fitted: Sequence[Any]
    n_classes: int
    scaling: tuple[FloatArray, FloatArray] | None  # mean and deviation of the features as they were given

    def __call__(self, rows: IntArray) -> FloatArray:
        members = self.fitted[1:] or self.fitted
        return np.stack([self._log_probs(model, rows) for model in members])

    def point(self, rows: IntArray) -> FloatArray:
        return self._log_probs(self.fitted[0], rows)

    def pipeline(self) -> Any:
        """The classifier that saw every label behind the scaling of its features, as scikit-learn's pipeline."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if self.scaling is None:
            return make_pipeline(self.fitted[0])
        scaler = StandardScaler()
        scaler.mean_, scaler.scale_ = (np.asarray(part, float) for part in self.scaling)
        scaler.var_, scaler.n_features_in_, scaler.n_samples_seen_ = (
            scaler.scale_**2,
            len(scaler.mean_),
            len(self.features),
        )
        return make_pipeline(scaler, self.fitted[0])

    def _log_probs(self, model: Any, rows: IntArray) -> FloatArray:
        probs = np.full((len(rows), self.n_classes), FLOOR, np.float32)
        if len(model.classes_):
            probs[:, np.asarray(model.classes_, np.int64)] += model.predict_proba(self.features[rows])
        return np.log(probs / probs.sum(axis=1, keepdims=True))


def resample(labels: IntArray, rng: Generator) -> IntArray:
    """Rows drawn with replacement within each class, so that no class is lost."""
    rows = [rng.choice(np.flatnonzero(labels == c), (labels == c).sum()) for c in np.unique(labels)]
    return np.concatenate(rows) if rows else np.empty(0, np.int64)
