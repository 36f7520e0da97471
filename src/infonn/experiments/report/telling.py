"""The ten figures that tell most, for the top of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Image = TypeVar("Image")


@dataclass(frozen=True)
class Telling:
    """A figure of an experiment by its name, and what to see in it."""

    experiment: str
    figure: str
    caption: str


TELLING: Sequence[Telling] = (
    Telling("dml-food73", "accuracy", "Dishes: Info-NN and random NN queries learn alike; the batch methods trail."),
    Telling(
        "dml-synthetic", "accuracy", "A hidden metric, a quarter of the answers wrong: the methods lie close together."
    ),
    Telling(
        "mnist-published", "accuracy", "MNIST as published: Info-NN-3 above the paper's baselines, PowerBALD above it."
    ),
    Telling("mnist", "accuracy", "MNIST with a stronger recipe: training is worth more than choosing."),
    Telling("cifar10", "accuracy", "CIFAR-10: every criterion above random, MaxEntropy and K-Center ahead."),
    Telling("svhn", "accuracy", "House numbers, the small piece that can be had freely."),
    Telling("mds-random", "mds-random", "MDS as printed: choosing helps in two dimensions, and not in five."),
    Telling("mds-ranking", "mds-ranking", "MDS: rankings tell more, query by query."),
    Telling(
        "beyond-food73", "beyond-food73", "Beyond the paper: another learner needs a fraction of the answers (dishes)."
    ),
    Telling("beyond-mds", "beyond-mds", "Beyond the paper: the same for points without features."),
)


def told(images: Mapping[str, Sequence[Image]]) -> list[tuple[Telling, Image]]:
    """Those of the ten that were drawn, with their pictures; files are named "place-figure"."""
    found = []
    for telling in TELLING:
        for image in images.get(telling.experiment, ()):
            if str(image).rsplit("/", 1)[-1].rsplit(".", 1)[0].partition("-")[2] == telling.figure:
                found.append((telling, image))
    return found
