"""Pictures moved in ways that leave their class alone: (n, channels, h, w), (n, numbers) uniform -> moved pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Warp:
    """Turn, shift, stretch, shear, and bend a picture a little: for digits and other drawings."""

    degrees: float = 20.0
    shift: float = 0.15  # of half the width
    scale: float = 0.2
    shear: float = 0.3
    bend: float = 0.08  # size of the bending field, of half the width
    grid: int = 4  # the field is smooth: drawn at grid x grid points

    @property
    def numbers(self) -> int:
        """Random numbers per picture."""
        return 7 + 2 * self.grid**2

    def __call__(self, images: Tensor, uniform: Tensor) -> Tensor:
        n = len(images)
        u = 2 * uniform - 1
        angle = u[:, 0] * math.radians(self.degrees)
        wide, high = torch.exp(u[:, 1] * self.scale), torch.exp(u[:, 2] * self.scale)
        cos, sin, shear = torch.cos(angle), torch.sin(angle), u[:, 3] * self.shear
        rows = [cos * wide, (shear - sin) * high, u[:, 4] * self.shift, sin * wide, cos * high, u[:, 5] * self.shift]
        where = functional.affine_grid(torch.stack(rows, 1).view(n, 2, 3), list(images.shape), align_corners=False)
        field = self.bend * u[:, 7:].reshape(n, 2, self.grid, self.grid)
        bent = functional.interpolate(field, size=images.shape[-2:], mode="bicubic", align_corners=True)
        where = where + bent.permute(0, 2, 3, 1)
        return functional.grid_sample(images, where.to(images.dtype), padding_mode="border", align_corners=False)


@dataclass(frozen=True)
class CropFlip:
    """Shift by up to `padding` pixels, mirror every second picture, and blank a square of `cutout` pixels."""

    padding: int = 4
    flip: bool = True
    cutout: int = 0

    numbers: int = 5

    def __call__(self, images: Tensor, uniform: Tensor) -> Tensor:
        n, _, height, width = images.shape
        reach = 2 * self.padding + 1
        padded = functional.pad(images, [self.padding] * 4, mode="reflect")
        down = (uniform[:, 0] * reach).long().clamp(max=reach - 1)
        right = (uniform[:, 1] * reach).long().clamp(max=reach - 1)
        rows = down[:, None] + torch.arange(height, device=images.device)
        columns = right[:, None] + torch.arange(width, device=images.device)
        if self.flip:
            columns = torch.where(uniform[:, 2:3] < 0.5, columns, columns.flip(1))
        first = torch.arange(n, device=images.device)[:, None, None]
        moved = padded.permute(0, 2, 3, 1)[first, rows[:, :, None], columns[:, None, :]]  # channels last
        if self.cutout:
            y = (uniform[:, 3] * height)[:, None, None] - torch.arange(height, device=images.device)[:, None]
            x = (uniform[:, 4] * width)[:, None, None] - torch.arange(width, device=images.device)
            kept = (y.abs() > self.cutout / 2) | (x.abs() > self.cutout / 2)
            moved = moved * kept[..., None].to(moved.dtype)
        return moved.permute(0, 3, 1, 2)
