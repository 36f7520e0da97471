"""Convolution and pooling of many networks side by side, each with its own pictures and weights.

Pictures are (slices, n, height, width, channels), weights (slices, 25 * channels, filters), one slice per network.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

KERNEL = 5  # pixels on a side


def unfolded(x: Tensor) -> Tensor:
    """Every 5 x 5 patch as a row: (slices, n, h, w, channels) -> (slices, n * h' * w', 25 * channels)."""
    patches = x.unfold(2, KERNEL, 1).unfold(3, KERNEL, 1).permute(0, 1, 2, 3, 5, 6, 4)
    return patches.reshape(len(x), -1, x.shape[-1] * KERNEL**2)


class _Convolution(torch.autograd.Function):
    """A convolution per slice by matrix products alone: libraries are slow at many small grouped convolutions."""

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        slices, n, height, width, _ = x.shape
        columns = unfolded(x)
        context.save_for_backward(columns, weight)
        context.shape = x.shape
        return torch.baddbmm(bias, columns, weight).view(slices, n, height - KERNEL + 1, width - KERNEL + 1, -1)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Any:
        columns, weight = context.saved_tensors
        slices, n, height, width, filters = gradient.shape
        flat = gradient.reshape(slices, n * height * width, filters)
        # Long sums in parts, each a product of its own: else a few processors would do all of the adding.
        parts = 8 if n % 8 == 0 else 1
        products = columns.view(slices * parts, -1, columns.shape[-1]).mT @ flat.view(slices * parts, -1, filters)
        exact = torch.promote_types(weight.dtype, torch.float32)
        for_weight = products.view(slices, parts, -1, filters).sum(1, dtype=exact).to(weight.dtype)
        for_x = None
        if context.needs_input_grad[0]:
            patches = (flat @ weight.mT).view(slices, n, height, width, KERNEL, KERNEL, -1)
            for_x = patches.new_zeros(context.shape)
            for i in range(KERNEL):
                for j in range(KERNEL):
                    for_x[:, :, i : i + height, j : j + width] += patches[..., i, j, :]
        return for_x, for_weight, flat.sum(1, keepdim=True, dtype=exact).to(weight.dtype)


class _Pooling(torch.autograd.Function):
    """The largest of every 2 x 2 pixels, then ReLU, in few passes; an odd last row or column is left out."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        context.shape = x.shape
        cells = _cells(x)
        largest = cells.amax((3, 5)).relu_()
        context.save_for_backward(cells, largest)
        return largest

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        cells, largest = context.saved_tensors
        chosen = cells == largest[:, :, :, None, :, None]
        shared = gradient * (largest > 0) / chosen.sum((3, 5)).clamp(min=1)  # equal ones share
        spread = chosen * shared.to(gradient.dtype)[:, :, :, None, :, None]
        slices, n, height, width, channels = context.shape
        flat = spread.reshape(slices, n, height // 2 * 2, width // 2 * 2, channels)
        return functional.pad(flat, (0, 0, 0, width % 2, 0, height % 2)) if height % 2 or width % 2 else flat


def _cells(x: Tensor) -> Tensor:
    """(slices, n, h, w, channels) -> (slices, n, h / 2, 2, w / 2, 2, channels)."""
    slices, n, height, width, channels = x.shape
    even = x[:, :, : height // 2 * 2, : width // 2 * 2]
    return even.reshape(slices, n, height // 2, 2, width // 2, 2, channels)


def pooled(x: Tensor) -> Tensor:
    """The largest of every 2 x 2 pixels, then ReLU: (..., h, w, channels) -> (..., h / 2, w / 2, channels)."""
    if x.is_cuda:
        return _Pooling.apply(x)  # type: ignore[no-any-return, no-untyped-call]
    y = functional.max_pool2d(x.flatten(0, 1).permute(0, 3, 1, 2), 2).relu()
    return y.permute(0, 2, 3, 1).reshape(*x.shape[:2], *y.shape[2:], -1)


def filtered(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Convolved, then pooled: (slices, n, h, w, channels) -> (slices, n, (h - 4) / 2, (w - 4) / 2, filters).

    On a CPU slice by slice with its own library, three times as fast there as products of patches.
    """
    if x.is_cuda:
        return pooled(_Convolution.apply(x, weight, bias))  # type: ignore[no-untyped-call]
    done = []
    for pictures, kernels, offsets in zip(x, weight, bias):
        kernels = kernels.view(KERNEL, KERNEL, x.shape[-1], -1).permute(3, 2, 0, 1)
        convolved = functional.conv2d(pictures.permute(0, 3, 1, 2), kernels, offsets[0])
        done.append(pooled(convolved.permute(0, 2, 3, 1)[None]))
    return torch.cat(done)
