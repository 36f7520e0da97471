"""Classifiers: they learn, a slice of a stack is what it would be alone, draws share their masks."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.learners.classifiers.augment import CropFlip, Warp
from infonn.learners.classifiers.cnn import CNN, PUBLISHED, STRONG
from infonn.learners.classifiers.cnn_layers import hidden, logits
from infonn.learners.classifiers.cnn_trained import normalised
from infonn.learners.classifiers.cnn_training import EarlyStopping
from infonn.learners.classifiers.convolutions import _Convolution, _Pooling, filtered
from infonn.learners.classifiers.heads import Head
from infonn.learners.classifiers.recipes import Recipe, Validation
from infonn.learners.classifiers.resnet import ResNet18, resnet18
from infonn.learners.classifiers.sklearn_classifier import SklearnClassifier, resample
from infonn.learners.classifiers.torch_classifier import ModuleClassifier, consistent_dropout
from infonn.learners.counter_random import hashed_uniform
from infonn.queries import Answers, no_answers


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def label_answers(items, classes):
    queries = np.full((len(items), 4), -1, np.int32)
    queries[:, 0] = items
    return Answers(queries, np.asarray(classes, np.int32), "label")


def blobs(rng, n=150, n_classes=3, dims=6):
    truth = np.arange(n) % n_classes
    return rng.normal(0, 3, (n_classes, dims))[truth] + rng.normal(0, 1, (n, dims)), truth


def pictures(n=60, size=20):
    """A bright spot at the left (class 0) or the right (class 1)."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    images = rng.integers(0, 60, (n, size, size))
    for i in range(n):
        column = (4 if truth[i] == 0 else size - 8) + rng.integers(-1, 2)
        images[i, 8:13, column : column + 4] = 220
    return images.astype(np.uint8), truth


def accuracy(log_probs, truth):
    return (np.asarray(log_probs).argmax(axis=-1) == truth).mean()


# --- heads and scikit-learn ------------------------------------------------------------------------------


def learners(features, n_classes):
    return {
        "logistic": SklearnClassifier(features, n_classes, members=3),
        "linear": Head(features, n_classes, hidden=0, members=3, steps=60, rate=0.05),
        "mlp": Head(features, n_classes, hidden=8, members=3, steps=60, rate=0.05),
    }


@pytest.mark.parametrize("name", ["logistic", "linear", "mlp"])
def test_heads_learn_and_give_proper_probabilities(rng, name):
    features, truth = blobs(rng)
    learner = learners(features, 3)[name]
    belief = learner.fit(label_answers(np.arange(30), truth[:30]), np.random.default_rng(0))
    rows = np.arange(30, 150)
    log_probs = belief.log_probs_of(rows)
    assert log_probs.shape == (3, 120, 3)
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=-1), 1, atol=1e-5)
    assert accuracy(log_probs.mean(axis=0), truth[rows]) > 0.9
    assert len(belief.embedding) == 150
    again = learner.fit(label_answers(np.arange(30), truth[:30]), np.random.default_rng(0))
    np.testing.assert_allclose(again.log_probs_of(rows), log_probs, atol=1e-6)


@pytest.mark.parametrize("name", ["logistic", "linear", "mlp"])
def test_heads_work_with_no_label_and_with_one_class(rng, name):
    features, _ = blobs(rng)
    learner = learners(features, 3)[name]
    nothing = learner.fit(no_answers(3, "label"), np.random.default_rng(0))
    assert np.isfinite(nothing.log_probs_of(np.arange(5))).all()
    one = learner.fit(label_answers([3, 4], [1, 1]), np.random.default_rng(0))
    assert (one.log_probs_of(np.array([3, 4])).mean(axis=0).argmax(axis=-1) == 1).all()


def test_a_stack_of_heads_is_what_each_is_alone(rng):
    features, truth = blobs(rng)
    learner = Head(features, 3, hidden=5, members=2, steps=20)
    studies = [label_answers(np.arange(i, i + 20), truth[i : i + 20]) for i in (0, 40)]
    studies.append(label_answers(np.arange(7), truth[:7]))  # another size
    stacked = learner.fit_many(studies, [np.random.default_rng(i) for i in range(3)], [None] * 3)
    for i, study in enumerate(studies):
        alone = learner.fit(study, np.random.default_rng(i))
        np.testing.assert_allclose(stacked[i].embedding, alone.embedding, atol=1e-5)


def test_head_predicts_new_features(rng):
    features, truth = blobs(rng)
    learner = Head(features, 3, members=2, steps=60)
    belief = learner.fit(label_answers(np.arange(30), truth[:30]), np.random.default_rng(0))
    assert accuracy(learner.predict_log_probs(belief, features[100:]), truth[100:]) > 0.85


def test_any_sklearn_classifier_will_do_and_others_are_refused(rng):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.svm import LinearSVC

    features, truth = blobs(rng)
    answers = label_answers(np.arange(30), truth[:30])
    forest = SklearnClassifier(features, 3, RandomForestClassifier(5), members=2)
    first, second = (forest.fit(answers, np.random.default_rng(1)).log_probs_of(np.arange(9)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(DataError, match="LinearSVC has no predict_proba"):
        SklearnClassifier(features, 3, LinearSVC()).fit(answers, np.random.default_rng(1))


def test_resampling_keeps_every_class(rng):
    labels = np.array([0, 0, 0, 0, 2, 1, 1])
    for _ in range(20):
        assert np.bincount(labels[resample(labels, rng)]).tolist() == [4, 2, 1]


# --- random numbers and augmentation -----------------------------------------------------------------------


def test_hashed_numbers_are_uniform_independent_and_a_slice_is_what_it_is_alone():
    seeds = torch.tensor([3, 4, 5])
    numbers = hashed_uniform(seeds, torch.tensor(7), 20_000).numpy()
    # Standard errors: 0.002 of the mean, 0.007 of a correlation; five of them, so a false alarm in a million.
    assert np.abs(numbers.mean(axis=1) - 0.5).max() < 0.01
    assert np.abs(np.corrcoef(numbers) - np.eye(3)).max() < 0.036
    later = hashed_uniform(seeds, torch.tensor(8), 20_000).numpy()
    assert abs(np.corrcoef(numbers[0], later[0])[0, 1]) < 0.036
    assert abs(np.corrcoef(numbers[0, 1:], numbers[0, :-1])[0, 1]) < 0.036
    np.testing.assert_array_equal(hashed_uniform(seeds[1:2], torch.tensor(7), 20_000)[0], numbers[1])


def test_augmentation_moves_pictures_a_little_and_keeps_their_shape():
    images, _ = pictures(8, 28)
    x = torch.tensor(images[:, None].astype(np.float32))
    u = torch.rand(8, Warp().numbers, generator=torch.Generator().manual_seed(0))
    still = Warp(degrees=0, shift=0, scale=0, shear=0, bend=0)(x, u)
    np.testing.assert_allclose(still, x, atol=1e-2)
    moved = Warp()(x, u)
    assert moved.shape == x.shape
    assert 1 < (moved - x).abs().mean() < 40
    colour = x.expand(-1, 3, -1, -1)
    crop = CropFlip()(colour, torch.full((8, 5), 0.5))  # no shift; mirrored from 0.5 on
    np.testing.assert_array_equal(crop, colour.flip(-1))
    crop = CropFlip(cutout=6)(colour, torch.full((8, 5), 0.49))
    assert (crop == 0).sum() >= 8 * 3 * 36


# --- the convolutional network -------------------------------------------------------------------------------


@pytest.mark.parametrize("n, size", [(3, 12), (8, 13)])
def test_stacked_convolution_and_pooling_are_torchs_own(n, size):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, n, size, size, 4, generator=generator, dtype=torch.double, requires_grad=True)
    weight = torch.randn(2, 25 * 4, 6, generator=generator, dtype=torch.double, requires_grad=True)
    bias = torch.randn(2, 1, 6, generator=generator, dtype=torch.double, requires_grad=True)
    ours = _Pooling.apply(_Convolution.apply(x, weight, bias))  # as on a GPU
    theirs = filtered(x, weight, bias)  # on a CPU
    torch.testing.assert_close(ours, theirs)
    for a, b in zip(
        torch.autograd.grad((ours**2).sum(), (x, weight, bias)),
        torch.autograd.grad((theirs**2).sum(), (x, weight, bias)),
    ):
        torch.testing.assert_close(a, b)


FAST = replace(STRONG, steps=12, batch=16)


def test_cnn_learns_where_the_spot_is_and_draws_disagree():
    images, truth = pictures()
    learner = CNN(images, 2, replace(FAST, steps=25, augment=None), n_draws=9)
    belief = learner.fit(label_answers(np.arange(20), truth[:20]), np.random.default_rng(0))
    rows = np.arange(20, 60)
    assert accuracy(learner.predict_log_probs(belief, images[20:]), truth[20:]) > 0.9
    new = learner.predict_log_probs(belief, images[20:])
    np.testing.assert_allclose(belief.class_log_probs.point(rows), new, atol=1e-5)
    draws = belief.log_probs_of(rows)
    assert draws.shape == (9, 40, 2)
    np.testing.assert_allclose(np.exp(draws).sum(-1), 1, atol=1e-5)
    assert draws.std(axis=0).max() > 1e-3
    np.testing.assert_allclose(belief.log_probs_of(rows[5:9]), draws[:, 5:9], atol=1e-5)  # the same masks for all
    assert belief.embedding.shape == (60, 128)


def test_draws_are_the_network_with_its_masks_in_place():
    images, truth = pictures(10)
    learner = CNN(images, 2, replace(FAST, steps=2), n_draws=11)
    belief = learner.fit(label_answers(np.arange(6), truth[:6]), np.random.default_rng(0))
    network = belief.class_log_probs
    x = normalised(network.pixels, network.scale)[None]
    for draw in (0, 10):
        masks = [mask[draw][None, None].expand(1, 10, -1) for mask in network.masks]
        last = logits(network.layers, hidden(network.layers, x, masks) * masks[2])
        plain = torch.log_softmax(last, -1)[0]
        np.testing.assert_allclose(belief.log_probs_of(np.arange(10))[draw], plain, atol=1e-5)


def test_a_stack_of_cnns_is_what_each_is_alone():
    images, truth = pictures()
    learner = CNN(images, 2, replace(FAST, steps=3), n_draws=2)
    studies = [label_answers(np.arange(i, i + 8), truth[i : i + 8]) for i in (0, 10, 20)]
    studies[1] = label_answers(np.arange(5), truth[:5])
    stacked = learner.fit_many(studies, [np.random.default_rng(i) for i in range(3)], [None] * 3)
    for i, study in enumerate(studies):
        alone = learner.fit(study, np.random.default_rng(i))
        np.testing.assert_allclose(stacked[i].embedding, alone.embedding, atol=1e-4)


def test_the_published_recipe_stops_early_and_wants_validation_items():
    images, truth = pictures()
    with pytest.raises(DataError, match="validation"):
        CNN(images, 2, PUBLISHED)
    recipe = replace(PUBLISHED, epochs=15, batch=16, patience=2)
    learner = CNN(images, 2, recipe, n_draws=2, validation=Validation(images[40:], truth[40:]))
    belief = learner.fit(label_answers(np.arange(20), truth[:20]), np.random.default_rng(0))
    assert accuracy(belief.class_log_probs.point(np.arange(20, 60)), truth[20:]) > 0.9


def test_early_stopping_waits_for_losses_that_rise_in_a_row():
    stopping = EarlyStopping(2, 2, torch.zeros(2, 1))
    losses = [(3.0, 3.0), (2.0, 4.0), (2.5, 5.0), (1.0, 0.0), (1.5, 0.0), (1.6, 0.0)]
    stopped = [stopping.after_epoch(torch.tensor(loss), torch.full((2, 1), float(i))) for i, loss in enumerate(losses)]
    assert stopped == [False, False, False, False, False, True]
    assert stopping.weights[:, 0].tolist() == [5.0, 2.0]  # each as it was when it stopped


def test_pictures_too_small_for_the_network_are_refused():
    with pytest.raises(DataError, match="16 x 16"):
        CNN(np.zeros((5, 8, 8), np.uint8), 2)


# --- torch modules ---------------------------------------------------------------------------------------------


def small_module():
    from torch import nn

    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_any_module_learns_and_its_named_layer_is_the_embedding(rng, optimiser):
    features, truth = blobs(rng)
    recipe = Recipe(steps=120, batch=16, rate=0.02, optimiser=optimiser, warmup=0.1, weight_decay=1e-4)
    learner = ModuleClassifier(features, small_module, "1", 3, recipe, n_draws=7)
    answers = label_answers(np.arange(40), truth[:40])
    belief = learner.fit(answers, np.random.default_rng(0))
    rows = np.arange(40, 150)
    assert accuracy(belief.class_log_probs.point(rows), truth[rows]) > 0.85
    assert belief.embedding.shape == (150, 16)
    draws = belief.log_probs_of(rows)
    assert draws.shape == (7, 110, 3)
    np.testing.assert_allclose(belief.log_probs_of(rows[3:6]), draws[:, 3:6], atol=1e-6)
    again = ModuleClassifier(features, small_module, "1", 3, recipe, n_draws=7).fit(answers, np.random.default_rng(0))
    np.testing.assert_allclose(again.embedding, belief.embedding, atol=1e-5)


def test_an_earlier_belief_still_speaks_for_itself_after_the_next_fit(rng):
    features, truth = blobs(rng)
    learner = ModuleClassifier(features, small_module, "1", 3, Recipe(steps=5), n_draws=2)
    first = learner.fit(label_answers(np.arange(20), truth[:20]), np.random.default_rng(0))
    said = first.class_log_probs.point(np.arange(9))
    learner.fit(label_answers(np.arange(40), truth[:40]), np.random.default_rng(1))
    np.testing.assert_array_equal(first.class_log_probs.point(np.arange(9)), said)


def test_an_unknown_layer_is_refused_with_the_known_ones():
    with pytest.raises(DataError, match='no layer "body"'):
        ModuleClassifier(np.zeros((4, 6)), small_module, "body", 3)


def test_consistent_dropout_is_one_mask_for_all_inputs():
    module = torch.nn.Sequential(torch.nn.Dropout(0.5)).eval()
    with consistent_dropout(module, 1):
        out = module(torch.ones(50, 30))
    assert (out == out[0]).all()
    assert set(out.unique().tolist()) == {0.0, 2.0}
    assert (module(torch.ones(2, 3)) == 1).all()


def test_resnet_runs_on_a_cpu_and_gives_draws_from_its_features():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (12, 32, 32, 3), dtype=np.uint8)
    recipe = Recipe(steps=2, batch=4, rate=0.05, optimiser="sgd", augment=CropFlip(cutout=8))
    learner = resnet18(images, 10, recipe, n_draws=3, width=8)
    belief = learner.fit(label_answers(np.arange(6), np.arange(6)), np.random.default_rng(0))
    assert isinstance(belief, Belief)
    assert belief.embedding.shape == (12, 64)
    assert belief.log_probs_of(np.arange(5)).shape == (3, 5, 10)
    assert learner.predict_log_probs(belief, images[:3]).shape == (3, 10)
    assert sum(p.numel() for p in ResNet18().parameters()) == 11_173_962  # the usual ResNet-18 for CIFAR-10
