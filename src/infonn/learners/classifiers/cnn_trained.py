"""What a trained network says: embeddings, and class probabilities under Monte-Carlo dropout or without it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from infonn.arrays import Array, FloatArray, IntArray
from infonn.learners.classifiers.cnn_layers import FILTERS, HIDDEN, KEEP, Sizes, hidden, logits
from infonn.learners.classifiers.convolutions import KERNEL, filtered


def normalised(pixels: Tensor, scale: tuple[float, float]) -> Tensor:
    """Bytes as float32 with mean 0 and deviation 1; `scale` is the mean and deviation of the bytes."""
    return (pixels.float() - scale[0]) / scale[1]


class Trained:
    """One trained network: class log-probabilities under its dropout masks, and without dropout (`point`)."""

    def __init__(
        self, sizes: Sizes, scale: tuple[float, float], pixels: Tensor, weights: Tensor, masks: list[Tensor]
    ) -> None:
        self.sizes, self.scale, self.pixels = sizes, scale, pixels
        on_gpu = weights.is_cuda
        self.kind = torch.float16 if on_gpu else torch.float32
        self.layers = [(w.to(self.kind), b.to(self.kind)) for w, b in sizes.split(weights[None])]
        self.masks = [mask.to(self.kind) / KEEP for mask in masks]
        self.chunk = 8192 if on_gpu else 512

    @torch.no_grad()
    def __call__(self, rows: IntArray) -> Array:
        """(draws, rows, classes): a numpy array from a CPU, a tensor where it is on a GPU."""
        pixels = self._rows(rows)
        parts = [self._draws(pixels[i : i + self.chunk]) for i in range(0, len(pixels), self.chunk)]
        log_probs = torch.cat(parts, 1) if parts else torch.empty(len(self.masks[0]), 0, self.sizes.n_classes)
        return log_probs if log_probs.is_cuda else log_probs.numpy()

    def _draws(self, pixels: Tensor) -> Tensor:
        """Draw by draw, with only those filters that a mask keeps: half the inputs and half the outputs of the
        second convolution, a quarter of its work. The first one is the same for all draws."""
        (w1, b1), (w2, b2), (w3, b3), (w4, b4) = self.layers
        x = filtered(normalised(pixels, self.scale).to(self.kind)[None], w1, b1)
        second = w2.view(KERNEL**2, *FILTERS) / KEEP
        third = w3.view(-1, FILTERS[1], HIDDEN) / KEEP
        results = []
        for first_mask, second_mask, third_mask in zip(*self.masks):
            inputs, outputs = first_mask > 0, second_mask > 0
            kernels = second[:, inputs][:, :, outputs].flatten(0, 1)
            y = filtered(x[..., inputs], kernels[None], b2[..., outputs])[0].flatten(1)
            y = (y @ third[:, outputs].flatten(0, 1) + b3[0]).relu() * third_mask
            results.append(functional.log_softmax((y @ w4[0] + b4[0]).float(), -1))
        return torch.stack(results)

    @torch.no_grad()
    def point(self, rows: IntArray) -> FloatArray:
        """(rows, classes) without dropout."""
        embedded = torch.tensor(self.embedding[rows], dtype=self.kind, device=self.pixels.device)
        found: FloatArray = functional.log_softmax(logits(self.layers, embedded[None])[0].float(), -1).cpu().numpy()
        return found

    @torch.no_grad()
    def point_of(self, pixels: Tensor) -> Tensor:
        """(pictures, classes) without dropout, of any pictures."""
        parts = []
        for first in range(0, len(pixels), self.chunk):
            last = logits(self.layers, self._hidden(pixels[first : first + self.chunk]))[0]
            parts.append(functional.log_softmax(last.float(), -1))
        return torch.cat(parts)

    @cached_property
    @torch.no_grad()
    def embedding(self) -> FloatArray:
        """(items, 128) float32."""
        result = np.empty((len(self.pixels), HIDDEN), np.float32)
        for first in range(0, len(self.pixels), self.chunk):
            rows = slice(first, first + self.chunk)
            result[rows] = self._hidden(self.pixels[rows])[0].float().cpu().numpy()
        return result

    def _hidden(self, pixels: Tensor) -> Tensor:
        return hidden(self.layers, normalised(pixels, self.scale).to(self.kind)[None])

    def _rows(self, rows: IntArray) -> Tensor:
        return self.pixels[torch.as_tensor(np.asarray(rows, np.int64), device=self.pixels.device)]
