"""The paper's network for MNIST, many studies trained as one stack, with Monte-Carlo dropout as draws.

Two convolutions of 5 x 5 (32 and 64 filters), each followed by dropout, max-pooling and ReLU; a hidden layer of
128, dropout, and the classes. Dropout drops whole filters, as in BatchBALD, whose network the paper follows.
A stack is trained by batched matrix products over unfolded pictures: every slice has its own data, seed and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import Array, FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.errors import DataError, MissingPartError
from infonn.queries import Answers

try:
    import torch
except ImportError as error:  # pragma: no cover - torch is there wherever the tests run
    raise MissingPartError('This network needs PyTorch: pip install "infonn[deep]".') from error

from torch import Tensor
from torch.nn import functional

from infonn.learners.augment import Warp
from infonn.learners.hashed import hashed_uniform
from infonn.learners.recipes import Recipe, Validation

FILTERS, KERNEL, HIDDEN = (32, 64), 5, 128
KEEP = 0.5  # share of units that dropout keeps

STRONG = Recipe(steps=800, rate=3e-3, smoothing=0.05, augment=Warp(), average=0.98)
PUBLISHED = Recipe(epochs=250, rate=1e-3, cosine=False, average=None, patience=10)


@dataclass(frozen=True)
class CNN:
    """A stack of small convolutional classifiers; the hidden layer of 128 is the embedding.

    `images` (items, height, width[, channels]) are bytes. `n_draws` dropout masks are drawn with every fit and
    shared by all items. `recipe` STRONG is our default; PUBLISHED is the paper's, and needs `validation` items.
    """

    images: IntArray
    n_classes: int = 10
    recipe: Recipe = STRONG
    n_draws: int = 50
    validation: Validation | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.images.ndim not in (3, 4) or min(self.images.shape[1:3]) < 16:
            raise DataError(
                f"Images have shape {self.images.shape}; (items, height, width), at least 16 x 16, is right."
            )
        if self.recipe.optimiser != "adam":
            raise DataError(f'Optimiser "{self.recipe.optimiser}" is not for this network; it trains with adam.')
        if self.recipe.patience is not None and self.validation is None:
            raise DataError("This recipe stops early, so it needs validation items with their labels.")

    # --- fitting ---------------------------------------------------------------------------------------

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """One classifier, from scratch: `start` is not looked at."""
        return self.fit_many([answers], [rng], [start])[0]

    def fit_many(
        self, answers: Sequence[Answers], rngs: Sequence[Generator], starts: Sequence[Belief | None]
    ) -> list[Belief]:
        """Studies with equally many labels are trained side by side."""
        weights: dict[int, Tensor] = {}
        limit = 128 if self.device.startswith("cuda") else 16
        for size in sorted({len(study) for study in answers}):
            rows = [row for row, study in enumerate(answers) if len(study) == size]
            for first in range(0, len(rows), limit):
                stack = rows[first : first + limit]
                initial = torch.stack([self._initial(rngs[row]) for row in stack])
                seeds = torch.tensor([int(rngs[row].integers(2**62)) for row in stack], device=self.device)
                trained = self._train(initial, [answers[row] for row in stack], seeds) if size else initial
                weights.update(zip(stack, trained))
        return [self._belief(weights[row], rngs[row]) for row in range(len(answers))]

    def _initial(self, rng: Generator) -> Tensor:
        """Uniform within 1 / sqrt(inputs) of 0, weights and biases alike, as torch's layers do it."""
        parts = []
        for inputs, outputs in self._shapes:
            bound = inputs**-0.5
            parts += [rng.uniform(-bound, bound, inputs * outputs), rng.uniform(-bound, bound, outputs)]
        return torch.tensor(np.concatenate(parts), dtype=torch.float32, device=self.device)

    def _train(self, initial: Tensor, answers: Sequence[Answers], seeds: Tensor) -> Tensor:
        items = torch.tensor(np.stack([study.queries[:, 0] for study in answers]).astype(np.int64))
        labels = torch.tensor(np.stack([study.responses for study in answers]).astype(np.int64), device=self.device)
        training = _Training(self, initial, self._normalised(items), labels, seeds)
        return training.run()

    # --- the network -----------------------------------------------------------------------------------

    @cached_property
    def _shapes(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of the four layers."""
        height, width = self.images.shape[1:3]
        channels = 1 if self.images.ndim == 3 else self.images.shape[3]
        for _ in FILTERS:
            height, width = (height - KERNEL + 1) // 2, (width - KERNEL + 1) // 2
        flat = height * width * FILTERS[1]
        area = KERNEL**2
        return [
            (channels * area, FILTERS[0]),
            (FILTERS[0] * area, FILTERS[1]),
            (flat, HIDDEN),
            (HIDDEN, self.n_classes),
        ]

    def split(self, flat: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Weights (slices, inputs, outputs) and biases (slices, 1, outputs) of each layer, as views."""
        layers, place = [], 0
        for inputs, outputs in self._shapes:
            weight = flat[:, place : place + inputs * outputs].view(-1, inputs, outputs)
            place += inputs * outputs
            layers.append((weight, flat[:, None, place : place + outputs]))
            place += outputs
        return layers

    def hidden(
        self, layers: list[tuple[Tensor, Tensor]], pictures: Tensor, masks: list[Tensor] | None = None
    ) -> Tensor:
        """(slices, n, height, width, channels) -> (slices, n, 128); `masks` are those of training."""
        x = pictures
        for layer in range(2):
            x = _pooled(_convolved(x, *layers[layer]))
            if masks is not None:  # one factor for a whole filter: before pooling and ReLU it would do the same
                x = x * masks[layer][:, :, None, None, :]
        return torch.baddbmm(layers[2][1], x.flatten(2), layers[2][0]).relu()

    def logits(self, layers: list[tuple[Tensor, Tensor]], hidden: Tensor) -> Tensor:
        """(slices, n, 128) -> (slices, n, classes)."""
        return torch.baddbmm(layers[3][1], hidden, layers[3][0])

    # --- what a trained network says ---------------------------------------------------------------------

    def _belief(self, weights: Tensor, rng: Generator) -> Belief:
        masks = [torch.tensor(rng.random((self.n_draws, n)) < KEEP, device=self.device) for n in (*FILTERS, HIDDEN)]
        network = _Trained(self, weights, masks)
        embedding = network.embed(self._pixels)
        state = {"weights": weights.cpu().numpy(), "masks": torch.cat(masks, 1).cpu().numpy()}
        return Belief(embedding, class_log_probs=network, state=state)

    def predict_log_probs(self, belief: Belief, images: IntArray) -> FloatArray:
        """Class log-probabilities of new pictures without dropout: (n, classes)."""
        assert belief.state is not None
        weights = torch.tensor(belief.state["weights"], device=self.device)
        return _Trained(self, weights, []).point_of(_as_pixels(images, self.device)).cpu().numpy()

    @cached_property
    def _pixels(self) -> Tensor:
        return _as_pixels(self.images, self.device)

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """Mean and deviation of the pixels, for normalising."""
        sample = self.images[:: max(1, len(self.images) // 5000)].astype(np.float32)
        return float(sample.mean()), float(sample.std()) or 1.0

    @cached_property
    def _validation(self) -> tuple[Tensor, Tensor]:
        assert self.validation is not None
        labels = torch.tensor(np.asarray(self.validation.labels, np.int64), device=self.device)
        return self.normalised(_as_pixels(self.validation.images, self.device)), labels

    def normalised(self, pixels: Tensor) -> Tensor:
        """Bytes as float32 with mean 0 and deviation 1."""
        mean, deviation = self._scale
        return (pixels.float() - mean) / deviation

    def _normalised(self, items: Tensor) -> Tensor:
        return self.normalised(self._pixels[items.to(self.device)])

    @property
    def compute_type(self) -> torch.dtype:
        """What matrix products are done in while training."""
        return torch.bfloat16 if self.device.startswith("cuda") else torch.float32


class _Trained:
    """One trained network: class log-probabilities under its dropout masks, and without dropout (`point`)."""

    def __init__(self, learner: CNN, weights: Tensor, masks: list[Tensor]) -> None:
        self.learner = learner
        on_gpu = weights.is_cuda
        self.kind = torch.float16 if on_gpu else torch.float32
        self.layers = [(w.to(self.kind), b.to(self.kind)) for w, b in learner.split(weights[None])]
        self.masks = [mask.to(self.kind) / KEEP for mask in masks]
        self.chunk = 8192 if on_gpu else 512

    @torch.no_grad()
    def __call__(self, rows: IntArray) -> Array:
        """(draws, rows, classes): a numpy array from a CPU, a tensor where it is on a GPU."""
        pixels = self._rows(rows)
        parts = [self._draws(pixels[i : i + self.chunk]) for i in range(0, len(pixels), self.chunk)]
        log_probs = torch.cat(parts, 1) if parts else torch.empty(len(self.masks[0]), 0, self.learner.n_classes)
        return log_probs if log_probs.is_cuda else log_probs.numpy()

    def _draws(self, pixels: Tensor) -> Tensor:
        """A filter's mask is one factor, so it passes through max-pooling and ReLU and into the next weights:
        pictures are unfolded once, and the draws are further columns of the same product."""
        (w1, b1), (w2, b2), (w3, b3), (w4, b4) = [(w[0], b[0]) for w, b in self.layers]
        first, second, third = self.masks
        x = self.learner.normalised(pixels).to(self.kind)[None]
        x = _pooled(_convolved(x, w1[None], b1[None]))
        columns, height, width = _unfolded(x)[0], x.shape[2] - KERNEL + 1, x.shape[3] - KERNEL + 1
        n, area = len(pixels), KERNEL**2
        results = []
        for start in range(0, len(first), 8):
            m1, m2, m3 = first[start : start + 8], second[start : start + 8], third[start : start + 8]
            s = len(m1)
            weights = (w2.view(area, -1, FILTERS[1]) * m1[:, None, :, None]).reshape(s, -1, FILTERS[1])
            y = columns @ weights.permute(1, 0, 2).reshape(weights.shape[1], -1)
            y = y.view(1, n, height, width, s * FILTERS[1]) + b2.repeat(1, s)
            y = _pooled(y).view(n, -1, s, FILTERS[1]) * m2
            y = y.permute(2, 0, 1, 3).reshape(s, n, -1)
            hidden = (y @ w3 + b3).relu() * m3[:, None]
            results.append(functional.log_softmax((hidden @ w4 + b4).float(), -1))
        return torch.cat(results)

    @torch.no_grad()
    def point(self, rows: IntArray) -> FloatArray:
        """(rows, classes) without dropout."""
        found: FloatArray = self.point_of(self._rows(rows)).cpu().numpy()
        return found

    @torch.no_grad()
    def point_of(self, pixels: Tensor) -> Tensor:
        parts = []
        for first in range(0, len(pixels), self.chunk):
            logits = self.learner.logits(self.layers, self._hidden(pixels[first : first + self.chunk]))[0]
            parts.append(functional.log_softmax(logits.float(), -1))
        return torch.cat(parts)

    @torch.no_grad()
    def embed(self, pixels: Tensor) -> FloatArray:
        """(items, 128) float32."""
        result = np.empty((len(pixels), HIDDEN), np.float32)
        for first in range(0, len(pixels), self.chunk):
            rows = slice(first, first + self.chunk)
            result[rows] = self._hidden(pixels[rows])[0].float().cpu().numpy()
        return result

    def _hidden(self, pixels: Tensor) -> Tensor:
        return self.learner.hidden(self.layers, self.learner.normalised(pixels).to(self.kind)[None])

    def _rows(self, rows: IntArray) -> Tensor:
        return self.learner._pixels[torch.as_tensor(np.asarray(rows, np.int64), device=self.learner.device)]


class _Training:
    """A stack of networks under way. Everything is a tensor that is changed in place, so that on a GPU one step
    is recorded once and replayed."""

    def __init__(self, learner: CNN, initial: Tensor, pictures: Tensor, labels: Tensor, seeds: Tensor) -> None:
        self.learner, self.recipe = learner, learner.recipe
        self.pictures, self.labels, self.seeds = pictures, labels, seeds
        self.n = labels.shape[1]
        self.n_steps, self.per_epoch = self.recipe.n_steps(self.n), self.recipe.steps_per_epoch(self.n)
        self.weights = initial.clone().requires_grad_()
        self.average = initial.clone()
        self.first_moment, self.second_moment = torch.zeros_like(initial), torch.zeros_like(initial)
        self.step = torch.zeros((), dtype=torch.int64, device=initial.device)
        self._state = [self.weights, self.average, self.first_moment, self.second_moment, self.step]

    def run(self) -> Tensor:
        """The weights that training ends with, one row per network."""
        advance = self._recorded() if self.weights.is_cuda else self._advance
        if self.recipe.patience is None:
            for _ in range(self.n_steps):
                advance()
            return self._kept()
        stopping = _EarlyStopping(len(self.seeds), self.recipe.patience, self._kept())
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
            self._adam(gradient)
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
        network = torch.arange(n_networks, device=self.seeds.device)[:, None]
        x = self.pictures[network, rows]  # (networks, batch, height, width, channels)
        if augment:
            flat = x.flatten(0, 1).permute(0, 3, 1, 2)
            moved = augment(flat, uniform[..., : augment.numbers].flatten(0, 1))
            x = moved.permute(0, 2, 3, 1).reshape(x.shape)
        kind = self.learner.compute_type
        kept = (uniform[..., per_picture - sum(FILTERS) - HIDDEN :] < KEEP).to(kind) / KEEP
        masks = torch.split(kept, [*FILTERS, HIDDEN], -1)
        layers = [(w.to(kind), b.to(kind)) for w, b in self.learner.split(self.weights)]
        hidden = self.learner.hidden(layers, x.to(kind), list(masks)) * masks[2]
        logits = self.learner.logits(layers, hidden).float()
        losses = functional.cross_entropy(
            logits.flatten(0, 1),
            self.labels[network, rows].flatten(),
            reduction="none",
            label_smoothing=self.recipe.smoothing,
        ).view(n_networks, size)
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

    def _adam(self, gradient: Tensor) -> None:
        recipe, beta1, beta2 = self.recipe, 0.9, 0.999
        done = self.step.float()
        rate = recipe.rate * torch.ones_like(done)
        if recipe.cosine:
            rate = rate * 0.5 * (1 + torch.cos(torch.pi * done / self.n_steps))
        if recipe.warmup:
            rate = rate * torch.clamp((done + 1) / (recipe.warmup * self.n_steps), max=1)
        self.first_moment.lerp_(gradient, 1 - beta1)
        self.second_moment.lerp_(gradient**2, 1 - beta2)
        first = self.first_moment / (1 - beta1 ** (done + 1))
        second = self.second_moment / (1 - beta2 ** (done + 1))
        self.weights.mul_(1 - rate * recipe.weight_decay)
        self.weights.sub_(rate * first / (second.sqrt() + 1e-8))

    @torch.no_grad()
    def _validation_loss(self) -> Tensor:
        learner = self.learner
        x, labels = learner._validation
        x = x.to(learner.compute_type)[None].expand(len(self.seeds), *x.shape)
        layers = [(w.to(learner.compute_type), b.to(learner.compute_type)) for w, b in learner.split(self._kept())]
        log_probs = functional.log_softmax(learner.logits(layers, learner.hidden(layers, x)).float(), -1)
        return -log_probs[:, torch.arange(len(labels), device=labels.device), labels].mean(1)


class _EarlyStopping:
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


def _as_pixels(images: IntArray, device: str) -> Tensor:
    """(n, height, width, channels) on the device, as bytes."""
    pixels = torch.tensor(np.ascontiguousarray(images), device=device)
    return pixels[..., None] if pixels.ndim == 3 else pixels


def _unfolded(x: Tensor) -> Tensor:
    """Every 5 x 5 patch as a row: (slices, n, h, w, channels) -> (slices, n * h' * w', 25 * channels)."""
    patches = x.unfold(2, KERNEL, 1).unfold(3, KERNEL, 1).permute(0, 1, 2, 3, 5, 6, 4)
    return patches.reshape(len(x), -1, x.shape[-1] * KERNEL**2)


class _Convolution(torch.autograd.Function):
    """A convolution per slice by matrix products alone: libraries are slow at many small grouped convolutions."""

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        slices, n, height, width, _ = x.shape
        columns = _unfolded(x)
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


def _convolved(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return _Convolution.apply(x, weight, bias)  # type: ignore[no-any-return, no-untyped-call]


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


def _pooled(x: Tensor) -> Tensor:
    return _Pooling.apply(x)  # type: ignore[no-any-return, no-untyped-call]
