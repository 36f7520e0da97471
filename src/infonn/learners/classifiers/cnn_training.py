"""Training of a stack of networks: every slice has its own data, seed and weights, and learns as it would alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from infonn.learners.adam import Adam
from infonn.learners.classifiers.cnn_layers import FILTERS, HIDDEN, KEEP, Layers, Sizes, hidden, logits
from infonn.learners.classifiers.recipes import Recipe
from infonn.learners.counter_random import hashed_uniform


class Training:
    """A stack of networks under way. Everything is a tensor that is changed in place, so that on a GPU one step
    is recorded once and replayed."""

    def __init__(
        self,
        sizes: Sizes,
        recipe: Recipe,
        initial: Tensor,
        pictures: Tensor,
        labels: Tensor,
        seeds: Tensor,
        validation: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        self.sizes, self.recipe, self.validation = sizes, recipe, validation
        self.pictures, self.labels, self.seeds = pictures, labels, seeds
        self.kind = torch.bfloat16 if initial.is_cuda else torch.float32  # of matrix products
        self.n = labels.shape[1]
        self.n_steps, self.per_epoch = self.recipe.n_steps(self.n), self.recipe.steps_per_epoch(self.n)
        self.weights = initial.clone().requires_grad_()
        self.average = initial.clone()
        self.adam = Adam(initial)
        self.step = torch.zeros((), dtype=torch.int64, device=initial.device)
        self._state = [self.weights, self.average, self.step, *self.adam.state]

    def run(self) -> Tensor:
        """The weights that training ends with, one row per network."""
        advance = self._recorded() if self.weights.is_cuda else self._advance
        if self.recipe.patience is None:
            for _ in range(self.n_steps):
                advance()
            return self._kept()
        stopping = EarlyStopping(len(self.seeds), self.recipe.patience, self._kept())
        for _ in range(self.n_steps // self.per_epoch):
            for _ in range(self.per_epoch):
                advance()
            if stopping.after_epoch(self._validation_loss(), self._kept()):
                break
        return stopping.weights

    def _kept(self) -> Tensor:
        return (self.weights if self.recipe.average is None else self.average).detach().clone()

    def _recorded(self) -> Any:
        """One step as a CUDA graph: launching kernel by kernel would take longer than the kernels."""
        begun = [tensor.detach().clone() for tensor in self._state]
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._advance()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._advance()
        with torch.no_grad():
            for tensor, value in zip(self._state, begun):
                tensor.copy_(value)
        return graph.replay

    def _advance(self) -> None:
        loss = self._loss()
        (gradient,) = torch.autograd.grad(loss, self.weights)
        with torch.no_grad():
            self._move(gradient)
            if self.recipe.average is not None:
                self.average.lerp_(self.weights, 1 - self.recipe.average)
            self.step += 1

    def _loss(self) -> Tensor:
        """Sum over networks of the mean loss of their batches; the gradient of each is its own."""
        size, n_networks = self.recipe.batch, len(self.seeds)
        augment = self.recipe.augment
        per_picture = (augment.numbers if augment else 0) + sum(FILTERS) + HIDDEN
        uniform = hashed_uniform(self.seeds, self.step, size * per_picture).view(n_networks, size, per_picture)
        rows, counted = self._batch(size)
        if not rows.is_cuda and not counted.all():  # a recorded step keeps its shape; here a short batch is short
            rows, uniform, counted = rows[:, counted > 0], uniform[:, counted > 0], counted[counted > 0]
        network = torch.arange(n_networks, device=self.seeds.device)[:, None]
        x = self.pictures[network, rows]  # (networks, batch, height, width, channels)
        if augment:
            flat = x.flatten(0, 1).permute(0, 3, 1, 2)
            moved = augment(flat, uniform[..., : augment.numbers].flatten(0, 1))
            x = moved.permute(0, 2, 3, 1).reshape(x.shape)
        kept = (uniform[..., per_picture - sum(FILTERS) - HIDDEN :] < KEEP).to(self.kind) / KEEP
        masks = torch.split(kept, [*FILTERS, HIDDEN], -1)
        layers = self._layers(self.weights)
        last = logits(layers, hidden(layers, x.to(self.kind), list(masks)) * masks[2]).float()
        losses = functional.cross_entropy(
            last.flatten(0, 1),
            self.labels[network, rows].flatten(),
            reduction="none",
            label_smoothing=self.recipe.smoothing,
        ).view(n_networks, -1)
        return ((losses * counted).sum(1) / counted.sum()).sum()

    def _batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Rows of this step's batches (networks, size), and which of them count (size,).

        With epochs every label is seen once in each; the last batch is short. Else each step draws without
        replacement, over and over where there are fewer labels than the batch takes.
        """
        place = torch.arange(size, device=self.seeds.device)
        if self.recipe.epochs is None:
            shuffled = hashed_uniform(self.seeds ^ 1, self.step, self.n).argsort(1)
            return shuffled[:, place % self.n], torch.ones_like(place)
        shuffled = hashed_uniform(self.seeds ^ 1, self.step // self.per_epoch, self.n).argsort(1)
        place = place + self.step % self.per_epoch * size
        return shuffled[:, place.clamp(max=self.n - 1)], (place < self.n).long()

    def _move(self, gradient: Tensor) -> None:
        """A step of AdamW at the rate that the recipe has come to."""
        recipe, done = self.recipe, self.step.float()
        rate = recipe.rate * torch.ones_like(done)
        if recipe.cosine:
            rate = rate * 0.5 * (1 + torch.cos(torch.pi * done / self.n_steps))
        if recipe.warmup:
            rate = rate * torch.clamp((done + 1) / (recipe.warmup * self.n_steps), max=1)
        self.weights.mul_(1 - rate * recipe.weight_decay)
        self.adam.step(self.weights, gradient, rate)

    @torch.no_grad()
    def _validation_loss(self) -> Tensor:
        assert self.validation is not None
        pictures, labels = self.validation
        x = pictures.to(self.kind)[None].expand(len(self.seeds), *pictures.shape)
        layers = self._layers(self._kept())
        log_probs = functional.log_softmax(logits(layers, hidden(layers, x)).float(), -1)
        return -log_probs[:, torch.arange(len(labels), device=labels.device), labels].mean(1)

    def _layers(self, weights: Tensor) -> Layers:
        return [(w.to(self.kind), b.to(self.kind)) for w, b in self.sizes.split(weights)]


class EarlyStopping:
    """Stops each network after `patience` epochs in a row, each with a higher validation loss than the one before,
    and holds its weights as they were then."""

    def __init__(self, n: int, patience: int, weights: Tensor) -> None:
        self.patience, self.weights = patience, weights
        self.last = torch.full((n,), torch.inf, device=weights.device)
        self.rises = torch.zeros(n, device=weights.device)

    def after_epoch(self, loss: Tensor, weights: Tensor) -> bool:
        """Whether all have stopped."""
        going_on = self.rises < self.patience
        self.weights = torch.where(going_on[:, None], weights, self.weights)
        self.rises = torch.where(going_on, torch.where(loss > self.last, self.rises + 1, 0), self.rises)
        self.last = loss
        return bool((self.rises >= self.patience).all())
