"""Adam over many networks in one array, for whatever trains stacks: torch's own knows no slices."""

from __future__ import annotations

import torch
from torch import Tensor


class Adam:
    """Adam with torch's defaults over (slices, numbers); a slice without data in a step stands still.

    Everything is changed in place, so that a step can be recorded on a GPU and played back; `state` is what it changes.
    """

    def __init__(self, numbers: Tensor) -> None:
        self.first = torch.zeros_like(numbers)
        self.second = torch.zeros_like(numbers)
        self.steps = torch.zeros(len(numbers), 1, dtype=numbers.dtype, device=numbers.device)

    @property
    def state(self) -> list[Tensor]:
        return [self.first, self.second, self.steps]

    def step(self, numbers: Tensor, gradient: Tensor, rate: Tensor, active: Tensor | None = None) -> None:
        """Move `numbers` at `rate`, a number or one for each slice (slices, 1).

        `active` (slices, 1) is 1 where a slice has data; None where all have.
        """
        if active is None:
            self.steps += 1
            self.first.lerp_(gradient, 0.1)
            self.second.lerp_(gradient.square(), 0.001)
        else:
            self.steps += active
            self.first.lerp_(gradient, 0.1 * active)
            self.second.lerp_(gradient.square(), 0.001 * active)
        steps = self.steps.clamp(min=1)
        rate = rate / (1 - 0.9**steps)
        if active is not None:
            rate = rate * active
        spread = (self.second / (1 - 0.999**steps)).sqrt_().add_(1e-8)
        numbers.sub_(rate * self.first / spread)
