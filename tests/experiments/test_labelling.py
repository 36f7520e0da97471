"""Labelling experiments: balanced starts, claims worked out by hand, and one run of each in miniature."""

import numpy as np
import pytest

from infonn.datasets.images import Pictures
from infonn.experiments.paper import cifar10, digits, labelling, mnist
from infonn.experiments.paper.labelling import (
    ACCURACY,
    balanced,
    compare,
    labels_table,
    labels_to,
    median_labels_to,
    not_below,
    outperforms,
    strategy_named,
    target_claim,
)
from infonn.experiments.sweep import run_experiment
from infonn.experiments.table import EXPERIMENTS, experiment_named
from infonn.experiments.trial import Curve

RECIPE = labelling.STRONG


def curve(method, trial, values, start=30, step=10):
    queries = [start + step * i for i in range(len(values))]
    return Curve(method, RECIPE, {}, trial, trial, queries, [0] * len(values), {ACCURACY: list(values)})


def test_a_balanced_start_has_equally_many_of_each_class_and_none_left_out(rng):
    labels = rng.integers(0, 5, 200)
    without = np.arange(100)
    chosen = balanced(labels, 4, rng, without)
    assert np.bincount(labels[chosen]).tolist() == [4] * 5
    assert chosen.min() >= 100
    assert len(set(chosen.tolist())) == 20


def test_labels_to_a_target_count_the_first_ones():
    rising = curve("a", 0, [0.5, 0.7, 0.9, 0.9, 0.95])
    assert labels_to(rising, 0.8) == pytest.approx(45)
    assert labels_to(rising, 0.99) == np.inf
    assert median_labels_to([rising, curve("a", 1, [0.5] * 5), curve("a", 2, [0.9] * 5)], 0.8) == pytest.approx(45)


def test_claims_follow_from_the_curves():
    curves = [curve("good", t, [0.5, 0.8 + t / 100, 0.9]) for t in range(5)]
    curves += [curve("bad", t, [0.5, 0.7 + t / 100, 0.8]) for t in range(5)]
    difference = compare(curves, RECIPE, "good", "bad")
    assert difference.mean == pytest.approx(0.1)
    assert outperforms(curves, RECIPE, "good", ["bad"])[0] is True
    assert outperforms(curves, RECIPE, "bad", ["good"])[0] is False
    assert outperforms(curves, RECIPE, "good", ["bad", "missing"])[0] is None
    assert outperforms(curves[:1] + curves[5:6], RECIPE, "good", ["bad"])[0] is None  # one trial cannot tell
    assert not_below(curves, RECIPE, "bad", "good", 0.11)[0] is True
    assert not_below(curves, RECIPE, "bad", "good", 0.05)[0] is False
    assert target_claim(curves, RECIPE, 0.75, 45, "x", "text").holds is True
    assert target_claim(curves, RECIPE, 0.95, 200, "x", "text").holds is False
    assert "never" in labels_table(curves, (0.75, 0.95))


def test_methods_are_named_by_what_they_compare():
    assert strategy_named("Info-NN-5", 10, 10)[1] == 5
    assert strategy_named("Info-NN-3", 10, 10)[0] != strategy_named("Info-NN-3, no clusters", 10, 10)[0]


def test_every_labelling_experiment_is_in_the_table_and_has_both_presets():
    names = [
        "mnist",
        "mnist-published",
        "mnist-clustering",
        "mnist-query-length",
        "mnist-selected",
        "cifar10",
        "cifar10-query-length",
    ]
    for name in [*names, "svhn", "digits"]:
        assert name in EXPERIMENTS
        experiment = experiment_named(name)
        assert experiment.name == name
        assert {"smoke", "paper"} <= set(experiment.presets)


@pytest.fixture
def tiny(monkeypatch):
    """Two classes of pictures in place of the real ones: a spot at the left or the right."""

    def made(size, channels):
        rng = np.random.default_rng(0)
        labels = np.arange(400) % 10
        images = rng.integers(0, 80, (400, size, size, 3))
        for i in range(400):
            images[i, 4 + labels[i] : 9 + labels[i], 8:16] = 230
        images = images.astype(np.uint8) if channels == 3 else images[..., 0].astype(np.uint8)
        return Pictures(images[:300], labels[:300], images[300:], labels[300:], tuple("0123456789"))

    monkeypatch.setattr(mnist, "load", lambda name: made(20, 1))
    monkeypatch.setattr(cifar10, "load", lambda name: made(32, 3))
    caches = [mnist.data, mnist.learner, cifar10.data, cifar10.learner]
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def miniature(experiment, folder, **settings):
    rounds = {labelling.STRONG: 1, labelling.PUBLISHED: 1} if experiment.name.startswith("mnist") else 1
    small = {"trials": 1, "rounds": rounds, **settings}
    presets = {"mini": experiment.presets["smoke"] | small}
    object.__setattr__(experiment, "presets", {**experiment.presets, **presets})
    return run_experiment(experiment, "mini", folder=folder, say=lambda text: None)


def test_mnist_runs_under_both_recipes_and_goes_on_from_what_is_finished(tiny, tmp_path, monkeypatch):
    from dataclasses import replace

    from infonn.learners.classifiers import cnn

    monkeypatch.setattr(cnn, "PUBLISHED", replace(cnn.PUBLISHED, epochs=2))
    settings = {"recipes": (labelling.STRONG, labelling.PUBLISHED), "methods": mnist.METHODS, "steps": 3, "pool": None}
    results = miniature(mnist.EXPERIMENT, tmp_path, **settings)
    assert len(results["curves"]) == 2 * len(mnist.METHODS)
    first = {tuple(c["measures"][ACCURACY][:1]) for c in results["curves"] if c["learner"] == labelling.STRONG}
    assert len(first) == 1  # all methods start from the same labels and network
    assert [c["queries"] for c in results["curves"]] == [[30, 40]] * len(results["curves"])
    assert (tmp_path / "accuracy.png").exists()
    again = miniature(mnist.EXPERIMENT, tmp_path, **settings)
    assert again["curves"] == results["curves"]


def test_few_labels_are_trained_on_for_as_many_steps_as_many():
    piece, official = (cifar10.SVHN.settings(preset) for preset in ("paper", "official"))
    assert piece["recipes"] == (cifar10.FEW,)
    recipe = cifar10.few_pictures(piece["steps"])
    assert recipe.n_steps(100) == recipe.n_steps(500) == 600
    assert official["recipes"] == (labelling.STRONG,)  # the paper's sizes keep the recipe of CIFAR-10


def test_cifar10_shares_its_first_network_between_methods(tiny, tmp_path, monkeypatch):
    from infonn.learners.classifiers.torch_classifier import ModuleClassifier

    fitted, fit = [], ModuleClassifier._fit
    monkeypatch.setattr(
        ModuleClassifier, "_fit", lambda self, answers, rng: fitted.append(len(answers)) or fit(self, answers, rng)
    )
    results = miniature(cifar10.EXPERIMENT, tmp_path, pool=None, first=50, size=20, epochs=1)
    assert len(results["curves"]) == len(cifar10.METHODS)
    assert len({c["measures"][ACCURACY][0] for c in results["curves"]}) == 1
    assert fitted.count(50) == 1
    assert fitted.count(70) == len(cifar10.METHODS)


def test_digits_in_miniature(tmp_path):
    results = miniature(digits.EXPERIMENT, tmp_path, methods=digits.METHODS, members=2)
    assert len(results["curves"]) == len(digits.METHODS)
    assert all(0.4 < c["measures"][ACCURACY][-1] <= 1 for c in results["curves"])


def test_selected_items_lie_on_one_map(tiny, tmp_path):
    from infonn.experiments.paper import mnist_selected

    settings = {"steps": 2, "pool": None, "mapped": 60, "projection": "pca", "first": 30, "size": 6}
    results = miniature(mnist_selected.EXPERIMENT, tmp_path, **settings)
    curves = results["curves"]
    assert [c["method"] for c in curves] == list(mnist_selected.METHODS)
    assert all(c["measures"]["x"] == curves[0]["measures"]["x"] for c in curves)
    assert [sum(c["measures"]["chosen"]) for c in curves] == [6, 6, 6]
    assert (tmp_path / "selected.png").exists()
