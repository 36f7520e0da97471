"""What a trained network says: embeddings, and class probabilities under Monte-Carlo dropout or without it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from infonn.arrays import Array, FloatArray, IntArray
from infonn.learners.cnn_layers import FILTERS, HIDDEN, KEEP, Sizes, hidden, logits
from infonn.learners.convolutions import KERNEL, filtered, pooled, unfolded


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
        """A filter's mask is one factor, so it passes through max-pooling and ReLU and into the next weights:
        pictures are unfolded once, and the draws are further columns of the same product."""
        (w1, b1), (w2, b2), (w3, b3), (w4, b4) = [(w[0], b[0]) for w, b in self.layers]
        first, second, third = self.masks
        x = normalised(pixels, self.scale).to(self.kind)[None]
        x = filtered(x, w1[None], b1[None])
        columns, height, width = unfolded(x)[0], x.shape[2] - KERNEL + 1, x.shape[3] - KERNEL + 1
        n, area = len(pixels), KERNEL**2
        results = []
        for start in range(0, len(first), 8):
            m1, m2, m3 = first[start : start + 8], second[start : start + 8], third[start : start + 8]
            s = len(m1)
            weights = (w2.view(area, -1, FILTERS[1]) * m1[:, None, :, None]).reshape(s, -1, FILTERS[1])
            y = columns @ weights.permute(1, 0, 2).reshape(weights.shape[1], -1)
            y = y.view(1, n, height, width, s * FILTERS[1]) + b2.repeat(1, s)
            y = pooled(y).view(n, -1, s, FILTERS[1]) * m2
            y = y.permute(2, 0, 1, 3).reshape(s, n, -1)
            y = (y @ w3 + b3).relu() * m3[:, None]
            results.append(functional.log_softmax((y @ w4 + b4).float(), -1))
        return torch.cat(results)

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
