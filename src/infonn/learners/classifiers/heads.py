"""A linear or small-MLP head on features that the user brings (CLIP, DINO, pixels): an ensemble as one stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray, same_contents
from infonn.beliefs import Belief
from infonn.errors import MissingPartError
from infonn.learners.classifiers.sklearn_classifier import scaled
from infonn.queries import Answers

try:
    import torch
except ImportError as error:  # pragma: no cover - torch is there wherever the tests run
    raise MissingPartError('This head needs PyTorch: pip install "infonn[deep]".') from error

from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Head:
    """`members` heads, each from its own start and with its own random weights on the labels (Bayesian bootstrap).

    `hidden` 0 is a linear head, whose embedding is the scaled features; else the embedding is the hidden layers of
    all members side by side, divided by sqrt(members), so that its distances are those of the members on average.
    Full batches, Adam, a fixed number of steps; `decay` is the penalty on squared weights.
    """

    features: FloatArray
    n_classes: int
    hidden: int = 64
    members: int = 8
    steps: int = 200
    rate: float = 0.01
    decay: float = 1e-3
    device: str = "cpu"

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """From scratch: `start` is not looked at."""
        return self.fit_many([answers], [rng], [start])[0]

    def stacks_with(self, other: object) -> bool:
        return same_contents(self, other)

    def fit_many(
        self,
        answers: Sequence[Answers],
        rngs: Sequence[Generator],
        starts: Sequence[Belief | None],
        learners: Sequence[object] = (),
    ) -> list[Belief]:
        """Studies with equally many labels are trained side by side."""
        trained: dict[int, list[Tensor]] = {}
        for size in sorted({len(study) for study in answers}):
            rows = [row for row, study in enumerate(answers) if len(study) == size]
            stack = self._train([answers[row] for row in rows], [rngs[row] for row in rows])
            for place, row in enumerate(rows):
                trained[row] = [part[place * self.members : (place + 1) * self.members] for part in stack]
        return [self._belief(trained[row]) for row in range(len(answers))]

    @cached_property
    def _items(self) -> Tensor:
        return torch.tensor(scaled(self.features), device=self.device)

    def _train(self, answers: Sequence[Answers], rngs: Sequence[Generator]) -> list[Tensor]:
        """Weights and biases by layer, with a leading axis of studies times members."""
        weights = [torch.cat(parts).requires_grad_() for parts in zip(*(self._initial(rng) for rng in rngs))]
        size = len(answers[0])
        if size:
            rows = np.stack([study.queries[:, 0] for study in answers]).astype(np.int64)
            inputs = self._items[torch.as_tensor(rows, device=self.device)].repeat_interleave(self.members, 0)
            labels = torch.as_tensor(np.stack([study.responses for study in answers]).astype(np.int64))
            labels = labels.to(self.device).repeat_interleave(self.members, 0)
            drawn = np.concatenate([rng.exponential(1, (self.members, size)) for rng in rngs])
            shares = torch.tensor(drawn / drawn.sum(axis=1, keepdims=True), dtype=torch.float32, device=self.device)
            optimiser = torch.optim.Adam(weights, self.rate)
            for _ in range(self.steps):
                optimiser.zero_grad()
                logits = _outputs(weights, inputs)[1]
                losses = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
                penalty = sum((weight**2).sum() for weight in weights[::2])
                ((losses.view(shares.shape) * shares).sum() + self.decay * penalty).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        return [weight.detach() for weight in weights]

    def _initial(self, rng: Generator) -> list[Tensor]:
        sizes = [self.features.shape[1], *([self.hidden] if self.hidden else []), self.n_classes]
        parts: list[Tensor] = []
        for inputs, outputs in pairwise(sizes):
            bound = inputs**-0.5 if self.hidden else 0.01 * inputs**-0.5
            for shape in ((self.members, inputs, outputs), (self.members, 1, outputs)):
                parts.append(torch.tensor(rng.uniform(-bound, bound, shape), dtype=torch.float32, device=self.device))
        return parts

    @torch.no_grad()
    def _belief(self, weights: list[Tensor]) -> Belief:
        committee = _Members(self, weights)
        if not self.hidden:
            embedding = self._items.cpu().numpy()
        else:
            chunks = [_outputs(weights, chunk[None])[0] for chunk in torch.split(self._items, 4096)]
            embedding = torch.cat([chunk.permute(1, 0, 2).flatten(1) for chunk in chunks]).cpu().numpy()
            embedding /= np.sqrt(np.float32(self.members))
        state = {str(i): weight.cpu().numpy() for i, weight in enumerate(weights)}
        return Belief(embedding, class_log_probs=committee, state=state)

    @torch.no_grad()
    def predict_log_probs(self, belief: Belief, features: FloatArray) -> FloatArray:
        """Mean class log-probabilities of new features, scaled as those of the items: (n, classes)."""
        assert belief.state is not None
        weights = [torch.tensor(belief.state[str(i)], device=self.device) for i in range(len(belief.state))]
        raw = np.asarray(self.features, np.float32)
        deviation = raw.std(axis=0)
        inputs = (np.asarray(features, np.float32) - raw.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
        logits = _outputs(weights, torch.tensor(inputs, device=self.device)[None])[1]
        found: FloatArray = functional.softmax(logits, -1).mean(0).clamp(min=1e-12).log().cpu().numpy()
        return found


class _Members:
    """Class log-probabilities of items, member by member."""

    def __init__(self, learner: Head, weights: list[Tensor]) -> None:
        self.learner, self.weights = learner, weights

    @torch.no_grad()
    def __call__(self, rows: IntArray) -> FloatArray:
        """(members, rows, classes)."""
        items = self.learner._items[torch.as_tensor(np.asarray(rows, np.int64), device=self.learner.device)]
        parts = [
            functional.log_softmax(_outputs(self.weights, chunk[None])[1], -1) for chunk in torch.split(items, 8192)
        ]
        found: FloatArray = torch.cat(parts, 1).cpu().numpy() if parts else np.empty((len(self.weights[0]), 0, 0))
        return found


def _outputs(weights: list[Tensor], inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Last hidden layer and logits: (members or 1, n, dims) -> (members, n, units), (members, n, classes)."""
    x = inputs
    for layer in range(0, len(weights) - 2, 2):
        x = (x @ weights[layer] + weights[layer + 1]).relu()
    return x, x @ weights[-2] + weights[-1]
