"""Train many networks as slices of one stacked model.

Slices share a body, a loss and the settings of training; each has its own items, answers, weights and generator. No
operation mixes slices, so a slice ends where it would have ended alone. Every item is embedded once a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from infonn.arrays import FloatArray, IntArray
from infonn.errors import DataError, TrainingError
from infonn.learners.networks.bodies import Body
from infonn.learners.networks.losses import Comparisons, Likelihood, Loss
from infonn.maths.distances import query_squared_distances
from infonn.queries import Answers


@dataclass(frozen=True)
class Training:
    """How a stack is trained."""

    epochs: int
    learning_rate: FloatArray  # (slices,)
    batch_size: int | None  # comparisons a step; None takes all
    device: str
    precision: str
    validation: Sequence[IntArray] | None = None  # triplets per slice whose accuracy picks the epoch, as published


@dataclass(frozen=True)
class Trained:
    """Weights by name (slices, ...), and each slice's lapse rate."""

    weights: dict[str, FloatArray]
    lapse: FloatArray


class Stack:
    """Weights of all slices in one (slices, numbers) array, so that a step of Adam is a handful of operations."""

    def __init__(self, body: Body, weights: Sequence[Mapping[str, FloatArray]], device: str, precision: str) -> None:
        self.body = body
        self.shapes = {name: value.shape for name, value in weights[0].items()}
        if not self.shapes:
            raise DataError(
                "The network has no parameters, so there is nothing to learn. Give it a layer with weights."
            )
        flat = [np.concatenate([np.ravel(slice[name]) for name in self.shapes]) for slice in weights]
        self.numbers = torch.tensor(np.stack(flat), dtype=getattr(torch, precision), device=device)

    def views(self) -> dict[str, Tensor]:
        """The weights by name; they share memory with `numbers`."""
        sizes = [int(np.prod(shape)) for shape in self.shapes.values()]
        parts = torch.split(self.numbers, sizes, dim=1)
        return {n: part.view(-1, *shape) for (n, shape), part in zip(self.shapes.items(), parts)}

    def embed(self, inputs: Tensor, views: Mapping[str, Tensor] | None = None) -> Tensor:
        """(slices, items, features...) -> (slices, items, dims), or a sentence on what the network did instead."""
        try:
            embedding = self.body.apply(self.views() if views is None else views, inputs)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            raise DataError(f"The network cannot take items of shape {tuple(inputs.shape[2:])}: {error}.") from error
        if embedding.ndim != 3 or embedding.shape[:2] != inputs.shape[:2]:
            raise DataError(
                f"The network turned {inputs.shape[1]} items of shape {tuple(inputs.shape[2:])} into an array of shape "
                f"{tuple(embedding.shape[1:])}; it must give one row of numbers per item: ({inputs.shape[1]}, dims)."
            )
        return embedding


class Adam:
    """Adam with torch's defaults over (slices, numbers); a slice without data in a step stands still."""

    def __init__(self, numbers: Tensor, learning_rate: Tensor) -> None:
        self.first = torch.zeros_like(numbers)
        self.second = torch.zeros_like(numbers)
        self.steps = torch.zeros(len(numbers), 1, dtype=numbers.dtype, device=numbers.device)
        self.learning_rate = learning_rate[:, None]

    def step(self, numbers: Tensor, gradient: Tensor, active: Tensor | None) -> None:
        """Move `numbers` in place. `active` (slices, 1) is 1 where a slice has data; None where all have."""
        if active is None:
            self.steps += 1
            self.first.lerp_(gradient, 0.1)
            self.second.lerp_(gradient.square(), 0.001)
        else:
            self.steps += active
            self.first.lerp_(gradient, 0.1 * active)
            self.second.lerp_(gradient.square(), 0.001 * active)
        steps = self.steps.clamp(min=1)
        rate = self.learning_rate / (1 - 0.9**steps)
        if active is not None:
            rate = rate * active
        spread = (self.second / (1 - 0.999**steps)).sqrt_().add_(1e-8)
        numbers.sub_(rate * self.first / spread)


def train(
    body: Body,
    loss: Loss,
    inputs: Tensor,
    weights: Sequence[Mapping[str, FloatArray]],
    answers: Sequence[Answers],
    rngs: Sequence[Generator],
    training: Training,
) -> Trained:
    """Train every slice on its own answers; `inputs` is (slices, items, features...)."""
    stack = Stack(body, weights, training.device, training.precision)
    data = _Data(loss, answers, inputs)
    lapse = torch.full((len(answers),), loss.response.lapse, dtype=inputs.dtype, device=inputs.device)
    if isinstance(loss, Likelihood) and loss.fit_lapse:
        lapse.clamp_(min=0.05)  # EM never leaves 0
    rate = torch.tensor(training.learning_rate, dtype=inputs.dtype, device=inputs.device)
    adam = Adam(stack.numbers, rate)
    views = {name: view.requires_grad_() for name, view in stack.views().items()}
    best = _Best(stack, inputs, training.validation) if training.validation is not None else None
    history = torch.zeros(training.epochs, len(answers), dtype=inputs.dtype, device=inputs.device)
    for epoch in range(training.epochs if data.n_rows else 0):
        for batch in data.batches(training.batch_size, rngs):
            squared, comparisons, present, active = batch.read(stack.embed(inputs, views))
            losses = (loss(squared, comparisons, lapse) * present).sum(1)
            gradients = torch.autograd.grad(losses.sum(), list(views.values()))
            with torch.no_grad():
                history[epoch] += losses
                flat = torch.cat([gradient.flatten(1) for gradient in gradients], dim=1)
                adam.step(stack.numbers, flat, active)
        if isinstance(loss, Likelihood) and loss.fit_lapse:
            with torch.no_grad():
                squared, comparisons, present, _ = data.whole().read(stack.embed(inputs))
                lapse = loss.expected_lapse(squared, comparisons, present, lapse)
        if best is not None:
            best.look(stack)
    if best is not None:
        stack.numbers = best.numbers
    _check_finite(history, stack, training)
    return Trained(
        {name: view.detach().cpu().numpy().copy() for name, view in stack.views().items()}, lapse.cpu().numpy()
    )


class _Data:
    """The answers of all slices in one padded array, and ways to walk through it."""

    def __init__(self, loss: Loss, answers: Sequence[Answers], inputs: Tensor) -> None:
        parts = [loss.comparisons(a) for a in answers]
        if len({part.kind for part in parts}) > 1:
            raise DataError("Nearest and ranking answers cannot train in one stack. Fit them one kind at a time.")
        self.counts = np.array([len(part) for part in parts])
        self.n_rows = int(self.counts.max())
        width = max(part.queries.shape[1] for part in parts)
        queries = np.full((len(parts), self.n_rows, width), -1, np.int64)
        queries[..., :3] = [0, 1, 0]  # padding rows compare something, and weigh nothing
        responses = np.zeros((len(parts), self.n_rows), np.int64)
        for i, part in enumerate(parts):
            queries[i, : len(part)] = -1
            queries[i, : len(part), : part.queries.shape[1]] = part.queries
            responses[i, : len(part)] = part.responses
        offsets = np.arange(len(parts))[:, None, None] * inputs.shape[1]  # slices lie one below the other
        self.device = inputs.device
        self.ranking = parts[0].kind == "ranking"
        self.queries = torch.tensor(np.where(queries < 0, -1, queries + offsets), device=inputs.device)
        self.responses = torch.tensor(responses, device=inputs.device)
        rows = np.arange(self.n_rows) < self.counts[:, None]
        self.present = torch.tensor(rows, dtype=inputs.dtype, device=inputs.device)
        self.even = bool((self.counts == self.n_rows).all())

    def whole(self) -> _Batch:
        active = None if self.even else (self.present.sum(1, keepdim=True) > 0).to(self.present.dtype)
        return _Batch(self.queries, Comparisons(self.responses, self.ranking), self.present, active)

    def batches(self, size: int | None, rngs: Sequence[Generator]) -> list[_Batch]:
        """One epoch: all rows at once, or shuffled by each slice's own generator into batches of `size`."""
        if size is None or size >= self.n_rows:
            return [self.whole()]
        # Padding rows stay behind a slice's own, so that its batches are those it would have alone.
        order = np.tile(np.arange(self.n_rows), (len(rngs), 1))
        for i, rng in enumerate(rngs):
            if self.counts[i] > size:
                order[i, : self.counts[i]] = rng.permutation(self.counts[i])
        rows = torch.tensor(order, device=self.device)
        queries = self.queries.gather(1, rows[..., None].expand(-1, -1, self.queries.shape[2]))
        responses = self.responses.gather(1, rows)
        starts = range(0, self.n_rows, size)
        active = torch.tensor(self.counts > np.array(starts)[:, None], dtype=self.present.dtype, device=self.device)
        batches = []
        for number, start in enumerate(starts):
            part = slice(start, start + size)
            comparisons = Comparisons(responses[:, part], self.ranking)
            has_data = None if self.even else active[number, :, None]
            batches.append(_Batch(queries[:, part], comparisons, self.present[:, part], has_data))
        return batches


@dataclass(frozen=True)
class _Batch:
    """Rows of one step: `queries` (slices, rows, 1 + candidates) index the slices' items one below the other."""

    queries: Tensor
    comparisons: Comparisons
    present: Tensor
    active: Tensor | None

    def read(self, embedding: Tensor) -> tuple[Tensor, Comparisons, Tensor, Tensor | None]:
        squared = query_squared_distances(embedding.flatten(0, 1), self.queries.flatten(0, 1))
        return squared.view(*self.queries.shape[:2], -1), self.comparisons, self.present, self.active


class _Best:
    """Weights of each slice's best epoch on validation triplets. As published; a budget nobody has in earnest."""

    def __init__(self, stack: Stack, inputs: Tensor, triplets: Sequence[IntArray]) -> None:
        self.numbers = stack.numbers.clone()
        self.accuracy = torch.full((len(inputs),), -1.0, device=inputs.device)
        self.inputs = inputs
        self.triplets = [torch.tensor(np.asarray(rows, np.int64), device=inputs.device) for rows in triplets]

    def look(self, stack: Stack) -> None:
        with torch.no_grad():
            embedding = stack.embed(self.inputs)
            for i, rows in enumerate(self.triplets):
                squared = query_squared_distances(embedding[i], rows)
                accuracy = (squared[:, 0] < squared[:, 1]).float().mean()
                better = accuracy > self.accuracy[i]
                self.accuracy[i] = torch.where(better, accuracy, self.accuracy[i])
                self.numbers[i] = torch.where(better, stack.numbers[i], self.numbers[i])


def _check_finite(history: Tensor, stack: Stack, training: Training) -> None:
    broken = ~torch.isfinite(stack.numbers).all(1) | ~torch.isfinite(history).all(0)
    if not bool(broken.any()):
        return
    slice = int(broken.nonzero()[0, 0])
    epochs = (~torch.isfinite(history[:, slice])).nonzero()
    when = f"in epoch {int(epochs[0, 0]) + 1} of {training.epochs}" if len(epochs) else "in the last epoch"
    raise TrainingError(
        f"The loss of network {slice + 1} of {len(broken)} stopped being a number {when}, at learning rate "
        f"{training.learning_rate[slice]:g}. The answers are kept. Lower learning_rate, or standardise the features."
    )
