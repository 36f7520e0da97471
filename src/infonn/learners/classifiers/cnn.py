"""The paper's network for MNIST as a learner: many studies trained as one stack, Monte-Carlo dropout as draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray, same_contents
from infonn.beliefs import Belief
from infonn.errors import DataError, MissingPartError
from infonn.queries import Answers

try:
    import torch
except ImportError as error:  # pragma: no cover - torch is there wherever the tests run
    raise MissingPartError('This network needs PyTorch: pip install "infonn[deep]".') from error

from torch import Tensor

from infonn.learners.classifiers.augment import Warp
from infonn.learners.classifiers.cnn_layers import FILTERS, HIDDEN, KEEP, Sizes
from infonn.learners.classifiers.cnn_trained import Trained, normalised
from infonn.learners.classifiers.cnn_training import Training
from infonn.learners.classifiers.recipes import Recipe, Validation

STRONG = Recipe(steps=800, rate=3e-3, smoothing=0.05, augment=Warp(), average=0.98)
PUBLISHED = Recipe(epochs=250, rate=1e-3, cosine=False, average=None, patience=10)


@dataclass(frozen=True)
class CNN:
    """A stack of small convolutional classifiers; the hidden layer of 128 is the embedding.

    `images` (items, height, width[, channels]) are bytes. `n_draws` dropout masks are drawn with every fit and
    shared by all items. `recipe` STRONG is our default; PUBLISHED is the paper's, and needs `validation` items.
    """

    images: IntArray
    n_classes: int = 10
    recipe: Recipe = STRONG
    n_draws: int = 50
    validation: Validation | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.images.ndim not in (3, 4) or min(self.images.shape[1:3]) < 16:
            raise DataError(
                f"Images have shape {self.images.shape}; (items, height, width), at least 16 x 16, is right."
            )
        if self.recipe.optimiser != "adam":
            raise DataError(f'Optimiser "{self.recipe.optimiser}" is not for this network; it trains with adam.')
        if self.recipe.patience is not None and self.validation is None:
            raise DataError("This recipe stops early, so it needs validation items with their labels.")

    # --- fitting ---------------------------------------------------------------------------------------

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """One classifier, from scratch: `start` is not looked at."""
        return self.fit_many([answers], [rng], [start])[0]

    def stacks_with(self, other: object) -> bool:
        return same_contents(self, other)

    def fit_many(
        self,
        answers: Sequence[Answers],
        rngs: Sequence[Generator],
        starts: Sequence[Belief | None],
        learners: Sequence[object] = (),
    ) -> list[Belief]:
        """Studies with equally many labels are trained side by side."""
        weights: dict[int, Tensor] = {}
        limit = 128 if self.device.startswith("cuda") else 16
        for size in sorted({len(study) for study in answers}):
            rows = [row for row, study in enumerate(answers) if len(study) == size]
            for first in range(0, len(rows), limit):
                stack = rows[first : first + limit]
                initial = torch.stack([self._sizes.initial(rngs[row]) for row in stack]).to(self.device)
                seeds = torch.tensor([int(rngs[row].integers(2**62)) for row in stack], device=self.device)
                trained = self._train(initial, [answers[row] for row in stack], seeds) if size else initial
                weights.update(zip(stack, trained))
        return [self._belief(weights[row], rngs[row]) for row in range(len(answers))]

    def _train(self, initial: Tensor, answers: Sequence[Answers], seeds: Tensor) -> Tensor:
        items = torch.tensor(np.stack([study.queries[:, 0] for study in answers]).astype(np.int64))
        labels = torch.tensor(np.stack([study.responses for study in answers]).astype(np.int64), device=self.device)
        pictures = normalised(self._pixels[items.to(self.device)], self._scale)
        validation = self._validation if self.recipe.patience is not None else None
        return Training(self._sizes, self.recipe, initial, pictures, labels, seeds, validation).run()

    # --- what a trained network says ---------------------------------------------------------------------

    def _belief(self, weights: Tensor, rng: Generator) -> Belief:
        masks = [torch.tensor(rng.random((self.n_draws, n)) < KEEP, device=self.device) for n in (*FILTERS, HIDDEN)]
        network = Trained(self._sizes, self._scale, self._pixels, weights, masks)
        state = {"weights": weights.cpu().numpy(), "masks": torch.cat(masks, 1).cpu().numpy()}
        return Belief(network.embedding, class_log_probs=network, state=state)

    def predict_log_probs(self, belief: Belief, images: IntArray) -> FloatArray:
        """Class log-probabilities of new pictures without dropout: (n, classes)."""
        assert belief.state is not None
        weights = torch.tensor(belief.state["weights"], device=self.device)
        pixels = _as_pixels(images, self.device)
        return Trained(self._sizes, self._scale, pixels, weights, []).point_of(pixels).cpu().numpy()

    @cached_property
    def _sizes(self) -> Sizes:
        height, width, *channels = self.images.shape[1:]
        return Sizes(height, width, channels[0] if channels else 1, self.n_classes)

    @cached_property
    def _pixels(self) -> Tensor:
        return _as_pixels(self.images, self.device)

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """Mean and deviation of the pixels, for normalising."""
        sample = self.images[:: max(1, len(self.images) // 5000)].astype(np.float32)
        return float(sample.mean()), float(sample.std()) or 1.0

    @cached_property
    def _validation(self) -> tuple[Tensor, Tensor]:
        assert self.validation is not None
        labels = torch.tensor(np.asarray(self.validation.labels, np.int64), device=self.device)
        return normalised(_as_pixels(self.validation.images, self.device), self._scale), labels


def _as_pixels(images: IntArray, device: str) -> Tensor:
    """(n, height, width, channels) on the device, as bytes."""
    pixels = torch.tensor(np.ascontiguousarray(images), device=device)
    return pixels[..., None] if pixels.ndim == 3 else pixels
