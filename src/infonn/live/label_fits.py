"""A label study fitted: class probabilities of every item, and how accurate they are on the items without a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.beliefs import Belief
from infonn.contracts.storage import Answered
from infonn.errors import StudyError
from infonn.learners.classifiers.bayes_logistic import BayesLogistic, Posterior
from infonn.learners.classifiers.calibrated import left_out_log_probs
from infonn.loop import cold_rng
from infonn.maths.calibration import learn_temperature, tempered
from infonn.maths.forecast import Forecast, forecast
from infonn.maths.holdout import AccuracyEstimate, estimate_accuracy
from infonn.maths.prediction import plane_of
from infonn.queries import Answers, last_labels
from infonn.study import Study

FEWEST_TO_CALIBRATE = 20  # hold-out labels; with fewer the labels that train are left out in turn
PREFIXES = (0.2, 0.35, 0.5, 0.7, 0.85, 1.0)  # shares of the labels after which the accuracy is measured again
LARGE = 1 << 21  # numbers up to which a stored model keeps the whole embedding
KEPT_DIMS = 16  # of a larger one
FOLDS = 5  # of the hold-out
_CHUNK = 1 << 14


@dataclass(frozen=True)
class LabelFit:
    """What the labels taught: `probs` (items, classes) are calibrated, `accuracy` is that on items without a label.

    `learned` are the labels that `belief` knows: `train`, and of a quick learner those of the hold-out too. What these
    test then are fits that know all labels but a fifth of the hold-out's. Whoever chooses items must not know them.
    """

    belief: Belief
    classes: tuple[str, ...]
    learned: Answers
    train: Answers
    held_out: Answers
    temperature: float
    probs: FloatArray
    accuracy: AccuracyEstimate

    @property
    def labels(self) -> dict[int, int]:
        """Item -> class, as people said."""
        return {
            int(item): int(label)
            for answers in (self.train, self.held_out)
            for item, label in zip(answers.queries[:, 0], answers.responses)
        }

    @property
    def knows_two_classes(self) -> bool:
        """Of one class all items would be, for all it knows."""
        return len(np.unique(self.learned.responses)) > 1

    def measures(self) -> dict[str, float]:
        """What a round of a live study keeps; nothing of an accuracy that is not known yet."""
        estimate = self.accuracy
        if estimate.accuracy is None or estimate.low is None or estimate.high is None:
            return {"n_hold_out": float(estimate.n_held_out)}
        found = {"hold_out_accuracy": estimate.accuracy, "hold_out_low": estimate.low, "hold_out_high": estimate.high}
        return {"n_hold_out": float(estimate.n_held_out), **found}


def fit_labels(study: Study, answered: Sequence[Answered] | None = None) -> LabelFit:
    """A cold fit of a label study's answers; by default of those on record."""
    if study.kind != "label":
        raise StudyError(f'Study "{study.name}" asks no labels, so it predicts no classes.')
    pairs = study.storage.answers(study.name, None) if answered is None else answered
    return fit_sides(study, *sides(study, pairs))


def fit_sides(study: Study, train: Answers, held_out: Answers) -> LabelFit:
    """A cold fit of labels to learn from and of those held out, which were drawn at random."""
    crossed = isinstance(study.learner, BayesLogistic)
    learned = train.joined(held_out) if crossed else train
    belief = study.loop.fit(learned, cold_rng(study.seed, len(learned)))
    classes = tuple(option.label for option in study.task.options(np.zeros(1, np.int32)))
    tested = held_out.queries[:, 0]
    foreseen = left_out(study, train, held_out) if crossed else class_probs(belief, tested)
    temperature = _temperature(study, foreseen, learned, held_out)
    probs = class_probs(belief, np.arange(study.task.n_items), temperature)
    foreseen = _tempered(foreseen, temperature)
    accuracy = _accuracy(probs, foreseen, learned, held_out)
    return LabelFit(belief, classes, learned, train, held_out, temperature, probs, accuracy)


def left_out(study: Study, train: Answers, held_out: Answers) -> FloatArray:
    """Class probabilities of the hold-out items, each by a fit that knows all labels but a fifth of the hold-out's."""
    n = len(held_out)
    if not n:
        return np.empty((0, 0), np.float32)
    fold = cold_rng(study.seed, n).permutation(n) % min(FOLDS, n)
    parts: list[FloatArray | None] = [None] * n
    for number in np.unique(fold):
        told = train.joined(held_out.take(fold != number))
        belief = study.loop.fit(told, cold_rng(study.seed, len(told)))
        rows = np.flatnonzero(fold == number)
        for row, probs in zip(rows, class_probs(belief, held_out.queries[rows, 0])):
            parts[row] = probs
    return np.array(parts, np.float32)


def sides(study: Study, answered: Sequence[Answered]) -> tuple[Answers, Answers]:
    """Labels to learn from, and hold-out labels of items of which neither they nor a copy is learned from."""
    train, held_out = (
        study.answers_of([pair for pair in answered if pair.question.purpose == purpose])
        for purpose in ("train", "hold_out")
    )
    original = getattr(study.task, "original", None)
    learned, tested = (answers.queries[:, 0] for answers in (train, held_out))
    if original is not None:
        learned, tested = original[learned], original[tested]
    return train, held_out.take(~np.isin(tested, learned))


def class_probs(belief: Belief, items: IntArray, temperature: float = 1.0) -> FloatArray:
    """Class probabilities of items by the one prediction that the belief has for each: (items, classes) float32."""
    parts = []
    for first in range(0, len(items), _CHUNK):
        rows = items[first : first + _CHUNK]
        point = getattr(belief.class_log_probs, "point", None)
        if point is not None:
            log_probs = to_numpy(point(rows))
        else:
            drawn = belief.log_probs_of(rows)
            if drawn is None:
                raise StudyError("This learner gives no class probabilities. Use a classifier, such as bayes_logistic.")
            log_probs = np.logaddexp.reduce(to_numpy(drawn), axis=0)
        parts.append(np.exp(tempered(log_probs, temperature)).astype(np.float32))
    return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)


def _temperature(study: Study, foreseen: FloatArray, learned: Answers, held_out: Answers) -> float:
    """By the hold-out, a random sample; where it is too small and fits are quick, by labels left out in turn."""
    if len(np.unique(learned.responses)) < 2:
        return 1.0
    if len(held_out) >= FEWEST_TO_CALIBRATE:
        return learn_temperature(_log(foreseen), held_out.responses)
    if not isinstance(study.learner, BayesLogistic):
        return 1.0
    return learn_temperature(*left_out_log_probs(study.learner, learned, cold_rng(study.seed, len(learned))))


def _tempered(probs: FloatArray, temperature: float) -> FloatArray:
    return np.exp(tempered(_log(probs), temperature)) if probs.size else probs


def _log(probs: FloatArray) -> FloatArray:
    found: FloatArray = np.log(np.maximum(probs, 1e-12))
    return found


def _accuracy(probs: FloatArray, foreseen: FloatArray, learned: Answers, held_out: Answers) -> AccuracyEstimate:
    rest = np.ones(len(probs), bool)
    rest[learned.queries[:, 0]] = False
    rest[held_out.queries[:, 0]] = False
    if not len(held_out):
        return AccuracyEstimate(0)
    right = foreseen.argmax(axis=1) == held_out.responses
    return estimate_accuracy(right, foreseen.max(axis=1), probs[rest].max(axis=1))


# --- what more labels would add ----------------------------------------------------------------------------


def label_forecast(study: Study, fitted: LabelFit) -> Forecast | None:
    """Where the accuracy is going: the classifier of fewer labels, in the order they came, on the same hold-out."""
    n_labels = len(fitted.train)
    counts = np.unique([max(2, int(share * n_labels)) for share in PREFIXES])
    if len(fitted.held_out) < FEWEST_TO_CALIBRATE or len(counts) < 3 or not fitted.knows_two_classes:
        return None
    tested = fitted.held_out.queries[:, 0]
    shares = []
    for count in counts:
        train = fitted.train.take(slice(0, int(count)))
        belief = study.loop.fit(train, cold_rng(study.seed, len(train)))
        shares.append(float((class_probs(belief, tested).argmax(axis=1) == fitted.held_out.responses).mean()))
    held_out = np.full(len(counts), len(tested))
    return forecast(counts, np.array(shares), held_out, 1 / len(fitted.classes), 2 * n_labels + 50)


# --- what a live study keeps -------------------------------------------------------------------------------


def label_model(fitted: LabelFit) -> dict[str, Any]:
    """A fit as it is stored: probabilities, labels, a plane to draw the items in, and weights where it has some."""
    embedding = reduced(to_numpy(fitted.belief.embedding))
    model = {
        "embedding": embedding,
        "plane": plane_of(embedding.astype(float)),
        "labelled": np.column_stack(last_labels(fitted.learned)),
        "held_out": np.column_stack(last_labels(fitted.held_out)),
        "probs": fitted.probs,
        "people": {},
    }
    linear = linear_weights(fitted)
    return model if linear is None else {**model, "coefficients": linear[0], "intercept": linear[1]}


def reduced(embedding: FloatArray) -> FloatArray:
    """A large embedding on its first principal axes, found on some thousand items; a small one as it is."""
    if embedding.size <= LARGE:
        return embedding.astype(float)
    step = max(1, len(embedding) // 4000)
    sample = np.asarray(embedding[::step], np.float32)
    mean = sample.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((sample - mean).T))
    axes = axes[:, ::-1][:, :KEPT_DIMS].astype(np.float32)
    parts = [
        (np.asarray(embedding[i : i + _CHUNK], np.float32) - mean) @ axes for i in range(0, len(embedding), _CHUNK)
    ]
    return np.concatenate(parts)


def linear_weights(fitted: LabelFit) -> tuple[FloatArray, FloatArray] | None:
    """(columns, classes) and (classes,): features times the first plus the second are calibrated logits.

    None where the classifier is no linear one.
    """
    posterior = fitted.belief.class_log_probs
    if not isinstance(posterior, Posterior):
        return None
    rows, weights = posterior.rows, np.asarray(posterior.weights, float)
    coefficients = rows.raw_factor.astype(float)[:, None] * weights[:-1]
    intercept = weights[-1] - rows.raw_mean.astype(float) @ coefficients
    return coefficients / fitted.temperature, intercept / fitted.temperature
