"""Network bodies: features in, embeddings out, for a whole stack of networks at once.

Every parameter has a leading axis: one slice per network. Inputs have it too, since each network has its own items.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray
from infonn.errors import DataError, MissingPartError

try:
    import torch
except ImportError as error:  # pragma: no cover - torch is there wherever the tests run
    raise MissingPartError('Neural networks need PyTorch: pip install "infonn[deep]".') from error

from torch import Tensor, nn


class Body(Protocol):
    """A network's shape, without its weights."""

    def initial(self, feature_shape: tuple[int, ...], rng: Generator) -> dict[str, FloatArray]:
        """Weights of one network before training."""
        ...

    def apply(self, parameters: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        """(slices, items, features...) -> (slices, items, dims)."""
        ...

    def hidden(self, parameters: Mapping[str, Tensor], inputs: Tensor) -> Tensor | None:
        """What the last layer sees, (slices, items, units); None where there is no telling."""
        ...

    def description(self) -> dict[str, Any]:
        """What rebuilds this body, as JSON."""
        ...


@dataclass(frozen=True)
class FullyConnected:
    """Fully connected layers with ReLU between them; the last of `sizes` is the embedding's dimension."""

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes or any(size < 1 for size in self.sizes):
            raise DataError(f"Layer sizes are {list(self.sizes)}; there must be at least one, and each at least 1.")

    def initial(self, feature_shape: tuple[int, ...], rng: Generator) -> dict[str, FloatArray]:
        """Uniform within 1 / sqrt(inputs) of 0, weights and biases alike: what torch.nn.Linear does."""
        if len(feature_shape) != 1:
            raise DataError(
                f"Fully connected layers take one row of numbers per item, and an item here has shape {feature_shape}. "
                f"Flatten the features, or give a torch.nn.Module that takes them."
            )
        weights: dict[str, FloatArray] = {}
        inputs = feature_shape[0]
        for layer, outputs in enumerate(self.sizes):
            bound = 1 / np.sqrt(inputs)
            weights[f"{layer}.weight"] = rng.uniform(-bound, bound, (inputs, outputs))
            weights[f"{layer}.bias"] = rng.uniform(-bound, bound, (1, outputs))
            inputs = outputs
        return weights

    def apply(self, parameters: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        return self._layer(len(self.sizes) - 1, parameters, self.hidden(parameters, inputs))

    def hidden(self, parameters: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        hidden = inputs
        for layer in range(len(self.sizes) - 1):
            hidden = self._layer(layer, parameters, hidden).relu_()
        return hidden

    def _layer(self, layer: int, parameters: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        return torch.baddbmm(parameters[f"{layer}.bias"], inputs, parameters[f"{layer}.weight"])

    def description(self) -> dict[str, Any]:
        return {"layers": list(self.sizes)}


class FromModule:
    """A torch module as a network body, in evaluation mode: an item has one place, so no dropout.

    A module's own weights are where training starts. A function that makes modules is called afresh for every
    network, under torch's generator seeded from the network's own; the generator is put back afterwards.
    """

    def __init__(self, module: nn.Module | Callable[[], nn.Module]) -> None:
        self._make = None if isinstance(module, nn.Module) else module
        self._module = (copy.deepcopy(module) if isinstance(module, nn.Module) else module()).eval()
        self._one_by_one = False

    def initial(self, feature_shape: tuple[int, ...], rng: Generator) -> dict[str, FloatArray]:
        module = self._module
        if self._make is not None:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(int(rng.integers(2**63)))
                module = self._make()
        return {name: value.detach().cpu().numpy().copy() for name, value in module.named_parameters()}

    def apply(self, parameters: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        self._module.to(inputs.device, inputs.dtype)  # buffers only: the weights come from `parameters`
        if len(inputs) > 1 and not self._one_by_one:
            try:
                return torch.func.vmap(self._call)(dict(parameters), inputs)
            except (RuntimeError, NotImplementedError, ValueError):
                self._one_by_one = True  # not every operation can be stacked; the loop below shows real mistakes
        slices = [self._call({k: v[i] for k, v in parameters.items()}, inputs[i]) for i in range(len(inputs))]
        return torch.stack(slices)

    def _call(self, parameters: dict[str, Tensor], inputs: Tensor) -> Tensor:
        return torch.func.functional_call(self._module, parameters, (inputs,))  # type: ignore[no-any-return]

    def hidden(self, parameters: Mapping[str, Tensor], inputs: Tensor) -> None:
        return None

    def description(self) -> dict[str, Any]:
        return {"module": type(self._module).__qualname__}


def as_body(network: Body | nn.Module | Callable[[], nn.Module] | Sequence[int]) -> Body:
    """Layer sizes, a torch module, or a function that makes one, as a body; a body stays what it is."""
    if isinstance(network, Sequence):
        return FullyConnected(tuple(int(size) for size in network))
    if isinstance(network, nn.Module):
        return FromModule(network)
    if hasattr(network, "apply") and hasattr(network, "initial"):
        return network  # type: ignore[return-value]
    return FromModule(network)
