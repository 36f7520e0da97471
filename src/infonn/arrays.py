"""Array types, and which library (numpy or torch) owns an array."""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]
Array = Any  # a numpy array or a torch tensor: functions give back what they got


def is_torch(array: Array) -> bool:
    """Whether `array` is a torch tensor; never imports torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def library_of(array: Array) -> ModuleType:
    """The module (numpy or torch) whose functions take `array`."""
    return sys.modules["torch"] if is_torch(array) else np


def to_numpy(array: Array) -> npt.NDArray[Any]:
    """`array` as numpy, copied from the device where that is needed."""
    return array.detach().cpu().numpy() if is_torch(array) else np.asarray(array)


def as_like(array: Array, like: Array) -> Array:
    """`array` in the library, and on the device, of `like`."""
    if is_torch(like):
        return sys.modules["torch"].as_tensor(array, device=like.device)
    return to_numpy(array)


def same_contents(first: Any, second: Any) -> bool:
    """Equality that looks into dataclasses and arrays."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if is_dataclass(first):
        compared = [field.name for field in fields(first) if field.compare]
        return all(same_contents(getattr(first, name), getattr(second, name)) for name in compared)
    if hasattr(first, "shape"):
        return np.array_equal(to_numpy(first), to_numpy(second))
    return bool(first == second)
