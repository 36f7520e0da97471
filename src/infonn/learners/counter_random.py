"""Random numbers by hashing (seed, step, position): a slice of a stack gets the numbers it would get alone.

torch's own generators give one stream to a whole tensor; here every network of a stack has a seed of its own, and
nothing is kept between calls, so a step can be replayed as a CUDA graph.
"""

from __future__ import annotations

import torch
from torch import Tensor


def hashed_uniform(seeds: Tensor, step: Tensor, n: int) -> Tensor:
    """`n` numbers in [0, 1) for each seed: (slices,), scalar -> (slices, n) float32."""
    position = torch.arange(n, device=seeds.device, dtype=torch.int64)
    start = _mixed(seeds * 0x9E3779B97F4A7C1 + step * 0x632BE59BD9B4E01)
    return (_mixed(start[:, None] + position * 0x1E3779B97F4A7C15) & 0xFFFFFF).float() / (1 << 24)


def _mixed(x: Tensor) -> Tensor:
    """The finaliser of splitmix64; torch's int64 products wrap, and its shifts keep the sign, so it is masked off."""
    x = (x ^ (x >> 30 & 0x3FFFFFFFF)) * -0x40A7B892E31B1A47
    x = (x ^ (x >> 27 & 0x1FFFFFFFFF)) * -0x6B2FB644ECCEEE15
    return x ^ (x >> 31 & 0x1FFFFFFFF)
