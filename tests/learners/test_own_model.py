"""A model of one's own as a learner, and probabilities that mean what they say."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from infonn.errors import DataError
from infonn.learners.classifiers.bayes_logistic import BayesLogistic
from infonn.learners.classifiers.calibrated import calibrated_log_probs, left_out_log_probs
from infonn.learners.classifiers.own_model import own_model
from infonn.queries import Answers, no_answers


def label_answers(items, classes):
    queries = np.full((len(items), 4), -1, np.int32)
    queries[:, 0] = items
    return Answers(queries, np.asarray(classes, np.int32), "label")


@pytest.fixture
def blobs(rng):
    truth = np.arange(200) % 3
    return (rng.normal(0, 2, (3, 6))[truth] + rng.normal(0, 1, (200, 6))).astype(np.float32), truth


@pytest.mark.parametrize("model", [RandomForestClassifier(20), GaussianNB, "sklearn.naive_bayes:GaussianNB"])
def test_a_classifier_of_scikit_learn_as_object_class_or_name(blobs, model):
    features, truth = blobs
    belief = own_model(features, 3, model).fit(label_answers(np.arange(40), truth[:40]), np.random.default_rng(0))
    rows = np.arange(40, 200)
    assert (belief.class_log_probs.point(rows).argmax(axis=1) == truth[rows]).mean() > 0.8
    assert belief.log_probs_of(rows).shape == (5, 160, 3)


def test_a_torch_module_as_object_or_class(blobs):
    import torch

    class Small(torch.nn.Module):
        def __init__(self, n_features, n_classes):
            super().__init__()
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(n_features, 16), torch.nn.ReLU(), torch.nn.Linear(16, n_classes)
            )

        def forward(self, x):
            return self.layers(x)

    features, truth = blobs
    for model in (Small, Small(6, 3)):
        belief = own_model(features, 3, model).fit(label_answers(np.arange(40), truth[:40]), np.random.default_rng(0))
        rows = np.arange(40, 200)
        assert (belief.class_log_probs.point(rows).argmax(axis=1) == truth[rows]).mean() > 0.8
        assert belief.embedding.shape == (200, 16)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("GaussianNB", "is not of the form module:Class"),
        ("no.such.module:Thing", "the module no.such.module cannot be imported"),
        ("sklearn.svm:NoSuch", "the module sklearn.svm has no NoSuch"),
        (LinearSVC(), "LinearSVC is no classifier: it needs fit and predict_proba"),
        (3, "int is no classifier"),
    ],
)
def test_what_is_no_model_gets_a_sentence(blobs, model, sentence):
    with pytest.raises(DataError, match=sentence):
        own_model(blobs[0], 3, model)


# --- probabilities ---------------------------------------------------------------------------------------


def test_left_out_predictions_come_from_fits_without_them(blobs):
    features, truth = blobs
    answers = label_answers(np.arange(31), [*truth[:30], 2])
    answers.responses[30] = 3  # the only one of its class
    log_probs, labels = left_out_log_probs(BayesLogistic(features, 4), answers, np.random.default_rng(0))
    assert len(log_probs) == len(labels) == 30
    assert (log_probs.argmax(axis=1) == labels).mean() > 0.7


def test_calibrated_probabilities_are_as_sure_as_right(rng):
    truth = np.arange(1200) % 2
    features = np.concatenate([truth[:, None] + rng.normal(0, 1, (1200, 1)), rng.normal(size=(1200, 30))], axis=1)
    learner = BayesLogistic(features.astype(np.float32), 2, scales=(50.0,))  # a prior that makes it far too sure
    answers = label_answers(np.arange(150), truth[:150])
    belief, rows = learner.fit(answers, np.random.default_rng(0)), np.arange(150, 1200)
    raw = np.exp(belief.class_log_probs.point(rows))
    told = np.exp(calibrated_log_probs(learner, belief, answers, rows, np.random.default_rng(1)))
    right = (told.argmax(axis=1) == truth[rows]).mean()
    assert abs(told.max(axis=1).mean() - right) < 0.06
    assert raw.max(axis=1).mean() > right + 0.1
    np.testing.assert_array_equal(told.argmax(axis=1), raw.argmax(axis=1))


def test_without_labels_probabilities_stay_as_they_are(blobs):
    learner = BayesLogistic(blobs[0], 3)
    belief = learner.fit(no_answers(3, "label"), np.random.default_rng(0))
    told = calibrated_log_probs(learner, belief, no_answers(3, "label"), np.arange(5), np.random.default_rng(0))
    np.testing.assert_allclose(told, np.log(1 / 3), atol=1e-6)
