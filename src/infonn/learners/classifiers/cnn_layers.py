"""The layers of the paper's network for MNIST: their sizes, their weights in one row, and what they compute.

Two convolutions of 5 x 5 (32 and 64 filters), each followed by dropout, max-pooling and ReLU; a hidden layer of
128, dropout, and the classes. Dropout drops whole filters, as in BatchBALD, whose network the paper follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from infonn.learners.classifiers.convolutions import KERNEL, filtered

FILTERS, HIDDEN = (32, 64), 128
KEEP = 0.5  # share of units that dropout keeps

Layers = list[tuple[Tensor, Tensor]]  # weights (slices, inputs, outputs) and biases (slices, 1, outputs)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a network for pictures of one size."""

    height: int
    width: int
    channels: int
    n_classes: int

    @cached_property
    def layers(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of the four layers."""
        height, width = self.height, self.width
        for _ in FILTERS:
            height, width = (height - KERNEL + 1) // 2, (width - KERNEL + 1) // 2
        flat = height * width * FILTERS[1]
        area = KERNEL**2
        return [
            (self.channels * area, FILTERS[0]),
            (FILTERS[0] * area, FILTERS[1]),
            (flat, HIDDEN),
            (HIDDEN, self.n_classes),
        ]

    def initial(self, rng: Generator) -> Tensor:
        """Uniform within 1 / sqrt(inputs) of 0, weights and biases alike, as torch's layers do it."""
        parts = []
        for inputs, outputs in self.layers:
            bound = inputs**-0.5
            parts += [rng.uniform(-bound, bound, inputs * outputs), rng.uniform(-bound, bound, outputs)]
        return torch.tensor(np.concatenate(parts), dtype=torch.float32)

    def split(self, flat: Tensor) -> Layers:
        """Weights (slices, inputs, outputs) and biases (slices, 1, outputs) of each layer, as views."""
        layers, place = [], 0
        for inputs, outputs in self.layers:
            weight = flat[:, place : place + inputs * outputs].view(-1, inputs, outputs)
            place += inputs * outputs
            layers.append((weight, flat[:, None, place : place + outputs]))
            place += outputs
        return layers


def hidden(layers: Layers, pictures: Tensor, masks: list[Tensor] | None = None) -> Tensor:
    """(slices, n, height, width, channels) -> (slices, n, 128); `masks` are those of training."""
    x = pictures
    for layer in range(2):
        x = filtered(x, *layers[layer])
        if masks is not None:  # one factor for a whole filter: before pooling and ReLU it would do the same
            x = x * masks[layer][:, :, None, None, :]
    return torch.baddbmm(layers[2][1], x.flatten(2), layers[2][0]).relu()


def logits(layers: Layers, hidden: Tensor) -> Tensor:
    """(slices, n, 128) -> (slices, n, classes)."""
    return torch.baddbmm(layers[3][1], hidden, layers[3][0])
