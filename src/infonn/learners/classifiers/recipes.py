"""How a classifier is trained: settings only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infonn.arrays import IntArray


@dataclass(frozen=True)
class Recipe:
    """Training from scratch, in a fixed number of steps, on nothing but the labelled items.

    `steps` is the number of batches; with `epochs` instead it follows from the labels there are. `average` is the
    decay of the running mean of weights that is kept at the end (None keeps the last weights). `augment` moves the
    pictures of a batch. With `patience` training stops after so many epochs in a row, each with a higher loss on the
    validation items than the one before; those items are labels spent.
    """

    steps: int = 800
    epochs: int | None = None
    batch: int = 64
    rate: float = 2e-3
    optimiser: str = "adam"  # or "sgd": Nesterov, momentum 0.9
    weight_decay: float = 0.0
    cosine: bool = True
    warmup: float = 0.0  # share of the steps over which the rate grows from 0
    smoothing: float = 0.0  # of the labels
    average: float | None = 0.98
    augment: Any = None
    patience: int | None = None

    def n_steps(self, n_labels: int) -> int:
        """Batches in all, for so many labels."""
        return self.steps if self.epochs is None else self.epochs * self.steps_per_epoch(n_labels)

    def steps_per_epoch(self, n_labels: int) -> int:
        """Batches that see every label once."""
        return -(-n_labels // self.batch)


@dataclass(frozen=True)
class Validation:
    """Labelled items that training looks at to know when to stop. They cost labels: say so in results."""

    images: IntArray
    labels: IntArray = field(repr=False)
