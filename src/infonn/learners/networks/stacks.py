"""Train many networks as slices of one stacked model.

Slices share a body, a loss and the settings of training; each has its own items, answers, weights and generator. No
operation mixes slices, so a slice ends where it would have ended alone. Every item is embedded once a step.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from infonn.arrays import FloatArray, IntArray
from infonn.errors import DataError, TrainingError
from infonn.learners.adam import Adam
from infonn.learners.networks.bodies import Body
from infonn.learners.networks.losses import Comparisons, Likelihood, Loss
from infonn.maths.distances import option_squared_distances, query_squared_distances
from infonn.queries import Answers

log = logging.getLogger(__name__)

WORTH_RECORDING = 50  # steps of a fit on a GPU, below which recording one costs more than it saves


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
    step = _Step(stack, loss, inputs, lapse, training.learning_rate)
    n_steps = training.epochs * data.n_batches(training.batch_size)
    steps = _Recorded(step) if inputs.is_cuda and n_steps >= WORTH_RECORDING else step
    best = _Best(stack, inputs, training.validation) if training.validation is not None else None
    history = torch.zeros(training.epochs, len(answers), dtype=inputs.dtype, device=inputs.device)
    with _repeatable(inputs.is_cuda):
        for epoch in range(training.epochs if data.n_rows else 0):
            for batch in data.batches(training.batch_size, rngs):
                history[epoch] += steps(batch)
            if isinstance(loss, Likelihood) and loss.fit_lapse:
                with torch.no_grad():
                    whole = data.whole()
                    squared = whole.squared_distances(stack.embed(inputs))
                    lapse.copy_(loss.expected_lapse(squared, whole.comparisons, whole.present, lapse))
            if best is not None:
                best.look(stack)
    if best is not None:
        stack.numbers = best.numbers
    _check_finite(history, stack, training)
    return Trained(
        {name: view.detach().cpu().numpy().copy() for name, view in stack.views().items()}, lapse.cpu().numpy()
    )


class _Step:
    """The gradient of one batch, then Adam; gives each slice's loss."""

    def __init__(self, stack: Stack, loss: Loss, inputs: Tensor, lapse: Tensor, learning_rate: FloatArray) -> None:
        self.stack, self.loss, self.inputs, self.lapse = stack, loss, inputs, lapse
        self.adam = Adam(stack.numbers)
        self.rate = torch.tensor(learning_rate, dtype=inputs.dtype, device=inputs.device)[:, None]
        self.views = {name: view.requires_grad_() for name, view in stack.views().items()}

    def __call__(self, batch: _Batch) -> Tensor:
        squared = batch.squared_distances(self.stack.embed(self.inputs, self.views))
        losses = (self.loss(squared, batch.comparisons, self.lapse) * batch.present).sum(1)
        gradients = torch.autograd.grad(losses.sum(), list(self.views.values()))
        with torch.no_grad():
            flat = torch.cat([gradient.flatten(1) for gradient in gradients], dim=1)
            self.adam.step(self.stack.numbers, flat, self.rate, batch.active)
        return losses.detach()

    def state(self) -> list[Tensor]:
        """What a step changes in place."""
        return [self.stack.numbers, *self.adam.state]


class _Recorded:
    """A step on a GPU, recorded once for every shape of batch and played back as one CUDA graph.

    A step is a hundred tiny operations, and asking for them takes far longer than doing them. What cannot be recorded
    is done step by step.
    """

    def __init__(self, step: _Step) -> None:
        self.step = step
        self.recordings: dict[tuple[int, ...], tuple[_Batch, torch.cuda.CUDAGraph, Tensor]] = {}
        self.refused = False

    def __call__(self, batch: _Batch) -> Tensor:
        if self.refused:
            return self.step(batch)
        shape = tuple(batch.queries.shape)
        if shape not in self.recordings:
            kept = [value.clone() for value in self.step.state()]
            try:
                self.recordings[shape] = self._record(batch)
            except RuntimeError as error:
                log.warning("A step of training could not be recorded (%s); it goes on step by step.", error)
                self.refused = True
            for value, before in zip(self.step.state(), kept):
                value.copy_(before)
            return self(batch)
        places, graph, losses = self.recordings[shape]
        places.fill(batch)
        graph.replay()
        return losses

    def _record(self, batch: _Batch) -> tuple[_Batch, torch.cuda.CUDAGraph, Tensor]:
        places = batch.copy()
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries set themselves up in their first calls, which cannot be recorded
            for _ in range(2):
                self.step(places)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            losses = self.step(places)
        return places, graph, losses


@contextmanager
def _repeatable(on_gpu: bool) -> Iterator[None]:
    """On a GPU: sums in a fixed order, so that a second run gives the same numbers. A processor does so anyway."""
    before, warned = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    if on_gpu:
        torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


class _Data:
    """The answers of all slices in one padded array, and ways to walk through it."""

    def __init__(self, loss: Loss, answers: Sequence[Answers], inputs: Tensor) -> None:
        parts = [loss.comparisons(a) for a in answers]
        if len({part.kind for part in parts}) > 1:
            raise DataError("Answers of different kinds cannot train in one stack. Fit them one kind at a time.")
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
        self.kind = parts[0].kind
        self.queries = torch.tensor(np.where(queries < 0, -1, queries + offsets), device=inputs.device)
        self.responses = torch.tensor(responses, device=inputs.device)
        rows = np.arange(self.n_rows) < self.counts[:, None]
        self.present = torch.tensor(rows, dtype=inputs.dtype, device=inputs.device)
        self.even = bool((self.counts == self.n_rows).all())

    def whole(self) -> _Batch:
        active = None if self.even else (self.present.sum(1, keepdim=True) > 0).to(self.present.dtype)
        return _Batch(self.queries, Comparisons(self.responses, self.kind), self.present, active)

    def n_batches(self, size: int | None) -> int:
        """Steps of an epoch."""
        return 1 if size is None else max(1, -(-self.n_rows // size))

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
            comparisons = Comparisons(responses[:, part], self.kind)
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

    def squared_distances(self, embedding: Tensor) -> Tensor:
        kind = self.comparisons.kind
        squared = option_squared_distances(embedding.flatten(0, 1), self.queries.flatten(0, 1), kind)
        return squared.view(*self.queries.shape[:2], -1)

    def copy(self) -> _Batch:
        """The same in memory of its own."""
        comparisons = Comparisons(self.comparisons.responses.clone(), self.comparisons.kind)
        active = None if self.active is None else self.active.clone()
        return _Batch(self.queries.clone(), comparisons, self.present.clone(), active)

    def fill(self, other: _Batch) -> None:
        """Take the numbers of a batch of the same shape, in place."""
        self.queries.copy_(other.queries)
        self.comparisons.responses.copy_(other.comparisons.responses)
        self.present.copy_(other.present)
        if self.active is not None and other.active is not None:
            self.active.copy_(other.active)


class _Best:
    """Weights of each slice's best epoch on validation triplets. As published; a budget nobody has in earnest."""

    def __init__(self, stack: Stack, inputs: Tensor, triplets: Sequence[IntArray]) -> None:
        self.numbers = stack.numbers.clone()
        self.accuracy = torch.full((len(inputs),), -1.0, device=inputs.device)
        self.inputs = inputs
        self.triplets = [torch.tensor(np.asarray(rows, np.int64), device=inputs.device) for rows in triplets]
        n_items = inputs.shape[1]
        self.pairs = None  # where items are few: the places of (reference, near) and (reference, far) in a table
        if n_items**2 <= min(len(rows) for rows in triplets):
            both = [rows[:, :1] * n_items + rows[:, 1:] for rows in self.triplets]
            self.pairs = torch.nn.utils.rnn.pad_sequence(both, batch_first=True)  # an item with itself is never right
            self.counts = torch.tensor([len(rows) for rows in triplets], device=inputs.device)

    def look(self, stack: Stack) -> None:
        with torch.no_grad():
            accuracy = self._accuracy(stack.embed(self.inputs))
            better = accuracy > self.accuracy
            self.accuracy = torch.where(better, accuracy, self.accuracy)
            self.numbers = torch.where(better[:, None], stack.numbers, self.numbers)

    def _accuracy(self, embedding: Tensor) -> Tensor:
        """Share of each slice's triplets that come out right: (slices,)."""
        if self.pairs is None:
            squared = [query_squared_distances(e, rows) for e, rows in zip(embedding, self.triplets)]
            return torch.stack([(one[:, 0] < one[:, 1]).float().mean() for one in squared])
        table = embedding.new_zeros(len(embedding), embedding.shape[1], embedding.shape[1])
        for axis in embedding.unbind(2):
            table += (axis[:, :, None] - axis[:, None]).square()
        near, far = (table.flatten(1).gather(1, self.pairs[..., side]) for side in (0, 1))
        return (near < far).sum(1) / self.counts


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
