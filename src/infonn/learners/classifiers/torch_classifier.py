"""Any torch module as a classifier: the output of a named layer is the embedding, its dropout gives the draws."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import Array, FloatArray, IntArray
from infonn.beliefs import Belief
from infonn.errors import DataError, MissingPartError
from infonn.queries import Answers, check_labels

try:
    import torch
except ImportError as error:  # pragma: no cover - torch is there wherever the tests run
    raise MissingPartError('This classifier needs PyTorch: pip install "infonn[deep]".') from error

from torch import Tensor, nn
from torch.nn import functional

from infonn.learners.classifiers.recipes import Recipe
from infonn.learners.counter_random import hashed_uniform

log = logging.getLogger(__name__)

REMEMBERED = 6  # fits
PLAIN = Recipe(steps=300, batch=64, rate=1e-3, average=0.98)


@dataclass(frozen=True)
class ModuleClassifier:
    """`build()` makes the module: inputs -> logits. It is trained from scratch in every fit.

    `inputs` are what the module takes: rows of numbers, or pictures as bytes (items, height, width, channels), which
    are normalised by channel and handed on channels first. `feature_layer` names the submodule whose output is the
    embedding. A module with a method `classify(features)` gives draws from the embedding alone; else every draw runs
    the whole module. On a GPU training is in bfloat16, channels last, and compiled where a compiler is found.
    """

    inputs: Array
    build: Callable[[], nn.Module]
    feature_layer: str
    n_classes: int
    recipe: Recipe = PLAIN
    n_draws: int = 50
    device: str = "cpu"
    compiled: bool = True
    _fitted: dict[bytes, Belief] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = [name for name, _ in self._module.named_modules() if name]
        if self.feature_layer not in names:
            raise DataError(f'The module has no layer "{self.feature_layer}". Its layers: {", ".join(names)}.')

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """From scratch: `start` is not looked at. The last few fits are remembered, so that methods that share their
        first labels and seed share that fit."""
        key = repr(rng.bit_generator.state).encode() + answers.queries[:, 0].tobytes() + answers.responses.tobytes()
        belief = self._fitted.pop(key, None) or self._fit(answers, rng)
        self._fitted[key] = belief  # at the end: the least recently asked for is the first to go
        while len(self._fitted) > REMEMBERED:
            del self._fitted[next(iter(self._fitted))]
        return belief

    def _fit(self, answers: Answers, rng: Generator) -> Belief:
        check_labels(answers)
        seed = int(rng.integers(2**62))
        with torch.random.fork_rng(devices=[torch.cuda.current_device()] if self._on_gpu else []):
            torch.manual_seed(seed)  # initial weights and dropout; what other code draws stays as it was
            self._module.load_state_dict(self.build().state_dict())
            if len(answers):
                self._train(answers, seed)
        network = _Network(self, seed, {k: v.detach().clone() for k, v in self._module.state_dict().items()})
        embedding = network.embed(self._data)
        network.embedding = torch.as_tensor(embedding, device=self.device)
        return Belief(embedding, class_log_probs=network, state=network.weights)

    def predict_log_probs(self, belief: Belief, inputs: Array) -> FloatArray:
        """Class log-probabilities of new inputs without dropout: (n, classes)."""
        assert isinstance(belief.class_log_probs, _Network)
        return belief.class_log_probs.point_of(_as_tensor(inputs, self.device))

    # --- data and module on the device -------------------------------------------------------------------

    @cached_property
    def _module(self) -> nn.Module:
        module = self.build().to(self.device)
        return module.to(memory_format=torch.channels_last) if self._on_gpu else module  # type: ignore[call-overload,no-any-return]

    @property
    def _on_gpu(self) -> bool:
        return self.device.startswith("cuda")

    @cached_property
    def _data(self) -> Tensor:
        return _as_tensor(self.inputs, self.device)

    @cached_property
    def _scale(self) -> tuple[Tensor, Tensor]:
        """Mean and deviation of pictures by channel; numbers are taken as they are."""
        if self._data.dtype != torch.uint8:
            return torch.zeros((), device=self.device), torch.ones((), device=self.device)
        sample = self._data[:: max(1, len(self._data) // 5000)].float()
        return sample.mean((0, 1, 2)), sample.std((0, 1, 2))

    def prepared(self, data: Tensor) -> Tensor:
        """As the module takes it: pictures normalised and channels first."""
        mean, deviation = self._scale
        x = (data.float() - mean) / deviation
        return x.permute(0, 3, 1, 2) if x.ndim == 4 else x

    def precision(self) -> Any:
        """bfloat16 where a GPU is; else what the numbers are."""
        return torch.autocast("cuda", torch.bfloat16, enabled=self._on_gpu)

    # --- training ----------------------------------------------------------------------------------------

    @cached_property
    def _forward(self) -> Callable[[Tensor], Tensor]:
        if not (self.compiled and self._on_gpu):
            return self._module
        begun = {name: value.clone() for name, value in self._module.state_dict().items()}
        fast = torch.compile(self._module.train())
        try:
            with self.precision():
                fast(self.prepared(self._data[: self.recipe.batch])).sum().backward()
        except Exception as error:  # no compiler, or a module that cannot be compiled: slower, not wrong
            log.warning("The module is not compiled (%s); training goes on without.", type(error).__name__)
            fast = self._module
        self._module.load_state_dict(begun)
        return fast

    def _train(self, answers: Answers, seed: int) -> None:
        recipe, module = self.recipe, self._module
        items = torch.tensor(answers.queries[:, 0].astype(np.int64), device=self.device)
        data, labels = self._data[items], torch.tensor(answers.responses.astype(np.int64), device=self.device)
        forward = self._forward
        parameters = [p for p in module.parameters() if p.requires_grad]
        averaged = [v for v in module.state_dict().values() if v.is_floating_point()]
        average = [value.clone() for value in averaged]
        optimiser = _optimiser(parameters, recipe)
        n_steps, seeds = recipe.n_steps(len(items)), torch.tensor([seed], device=self.device)
        generator = torch.Generator(self.device).manual_seed(seed)
        order = torch.empty(0, dtype=torch.int64, device=self.device)
        size = min(recipe.batch, len(items)) if recipe.augment is None else recipe.batch
        numbers = torch.arange(n_steps, device=self.device)  # of the steps, where hashing needs them
        module.train()
        started = time.perf_counter()
        for step in range(n_steps):
            for group in optimiser.param_groups:
                group["lr"] = _rate(recipe, step, n_steps)
            while len(order) < size:  # one shuffle after another, so that every label is seen equally often
                order = torch.cat([order, torch.randperm(len(items), generator=generator, device=self.device)])
            rows, order = order[:size], order[size:]
            x = self.prepared(data[rows])
            if recipe.augment is not None:
                uniform = hashed_uniform(seeds, numbers[step], size * recipe.augment.numbers)
                x = recipe.augment(x, uniform.view(size, -1))
            if x.ndim == 4 and self._on_gpu:
                x = x.contiguous(memory_format=torch.channels_last)
            with self.precision():
                loss = functional.cross_entropy(forward(x).float(), labels[rows], label_smoothing=recipe.smoothing)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            if recipe.average is not None:
                torch._foreach_lerp_(average, averaged, 1 - min(recipe.average, (step + 1) / (step + 10)))
        if recipe.average is not None:
            with torch.no_grad():
                for value, mean in zip(averaged, average):
                    value.copy_(mean)
        module.eval()
        if self._on_gpu:
            torch.cuda.synchronize()
            rate = n_steps * size / (time.perf_counter() - started)
            log.info("%d labels, %d steps: %.0f inputs/s", len(items), n_steps, rate)


def _optimiser(parameters: list[nn.Parameter], recipe: Recipe) -> torch.optim.Optimizer:
    if recipe.optimiser == "adam":
        return torch.optim.AdamW(parameters, recipe.rate, weight_decay=recipe.weight_decay)
    if recipe.optimiser == "sgd":
        decayed = [p for p in parameters if p.ndim > 1]
        free = [p for p in parameters if p.ndim <= 1]  # biases and batch norms
        groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": free, "weight_decay": 0.0}]
        return torch.optim.SGD(groups, recipe.rate, momentum=0.9, nesterov=True)
    raise DataError(f'Optimiser "{recipe.optimiser}" is unknown. Known: adam, sgd.')


def _rate(recipe: Recipe, step: int, n_steps: int) -> float:
    rate = recipe.rate
    if recipe.cosine:
        rate *= 0.5 * (1 + float(np.cos(np.pi * step / n_steps)))
    if recipe.warmup:
        rate *= min(1.0, (step + 1) / (recipe.warmup * n_steps))
    return rate


class _Network:
    """A trained module: class log-probabilities under dropout masks that all items share, and without (`point`)."""

    def __init__(self, learner: ModuleClassifier, seed: int, weights: dict[str, Tensor]) -> None:
        self.learner, self.seed, self.weights = learner, seed, weights
        self.embedding: Tensor | None = None
        self.chunk = 4096 if learner._on_gpu else 256

    @torch.no_grad()
    def __call__(self, rows: IntArray) -> Array:
        """(draws, rows, classes): a numpy array from a CPU, a tensor where it is on a GPU."""
        module = self._loaded()
        if not any(isinstance(part, _DROPOUTS) for part in module.modules()):
            return self.point(rows)[None]
        where = torch.as_tensor(np.asarray(rows, np.int64), device=self.learner.device)
        from_features = getattr(module, "classify", None)
        draws = []
        for draw in range(self.learner.n_draws):
            with consistent_dropout(module, self.seed + draw), self.learner.precision():
                if from_features is not None and self.embedding is not None:
                    logits = from_features(self.embedding[where])
                else:
                    logits = self._run(module, self.learner._data[where])
            draws.append(functional.log_softmax(logits.float(), -1))
        log_probs = torch.stack(draws)
        return log_probs if log_probs.is_cuda else log_probs.numpy()

    def point(self, rows: IntArray) -> FloatArray:
        """(rows, classes) without dropout."""
        return self.point_of(
            self.learner._data[torch.as_tensor(np.asarray(rows, np.int64), device=self.learner.device)]
        )

    @torch.no_grad()
    def point_of(self, data: Tensor) -> FloatArray:
        with self.learner.precision():
            logits = self._run(self._loaded(), data)
        found: FloatArray = functional.log_softmax(logits.float(), -1).cpu().numpy()
        return found

    @torch.no_grad()
    def embed(self, data: Tensor) -> FloatArray:
        """(items, units): the flattened output of the feature layer."""
        module, kept = self._loaded(), []
        layer = module.get_submodule(self.learner.feature_layer)
        hook = layer.register_forward_hook(lambda _m, _i, output: kept.append(output.flatten(1).float().cpu()))
        try:
            with self.learner.precision():
                self._run(module, data)
        finally:
            hook.remove()
        found: FloatArray = torch.cat(kept).numpy()
        return found

    def _run(self, module: nn.Module, data: Tensor) -> Tensor:
        parts = [module(self.learner.prepared(chunk)) for chunk in torch.split(data, self.chunk)]
        return torch.cat(parts) if parts else torch.empty(0, self.learner.n_classes)

    def _loaded(self) -> nn.Module:
        """The learner's one module with these weights in it."""
        module = self.learner._module
        module.load_state_dict(self.weights)
        return module.eval()


_DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)


@contextmanager
def consistent_dropout(module: nn.Module, seed: int) -> Iterator[None]:
    """Dropout with one mask for all inputs, the same for the same seed: a draw of the whole network."""
    hooks = []
    for number, part in enumerate(module.modules()):
        if isinstance(part, _DROPOUTS) and part.p > 0:
            hooks.append(part.register_forward_hook(_Mask(seed, number, part.p, not isinstance(part, nn.Dropout))))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class _Mask:
    """Multiplies a dropout layer's output by a mask without a batch axis; whole channels where `by_channel`."""

    def __init__(self, seed: int, number: int, p: float, by_channel: bool) -> None:
        self.seed, self.number, self.p, self.by_channel = seed, number, p, by_channel

    def __call__(self, _module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        shape = output.shape[1:2] if self.by_channel else output.shape[1:]
        seeds = torch.tensor([self.seed], device=output.device)
        uniform = hashed_uniform(seeds, torch.tensor(self.number, device=output.device), int(np.prod(shape)))
        mask = (uniform[0].view(shape) >= self.p).to(output.dtype) / (1 - self.p)
        return output * (mask.view(*shape, *[1] * (output.ndim - 2)) if self.by_channel else mask)


def _as_tensor(inputs: Array, device: str) -> Tensor:
    array = np.ascontiguousarray(inputs)
    if array.dtype != np.uint8:
        array = array.astype(np.float32)
    tensor = torch.tensor(array, device=device)
    return tensor[..., None] if tensor.dtype == torch.uint8 and tensor.ndim == 3 else tensor
