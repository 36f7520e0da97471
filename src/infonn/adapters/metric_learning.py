"""pytorch-metric-learning: our answers as its triplets, its losses as a learner of ours.

learner = MetricLearner(features, loss=losses.TripletMarginLoss(margin=0.2))
belief = learner.fit(answers, rng)
learner.transform(features_of_new_items, belief)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from pytorch_metric_learning.losses import TripletMarginLoss

from infonn.arrays import FloatArray
from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.queries import Answers, split_into_triplets


def indices_tuple(answers: Answers) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(anchors, positives, negatives) as its losses take them: `loss(embeddings, indices_tuple=...)`."""
    reference, near, far = torch.from_numpy(split_into_triplets(answers).astype(np.int64)).T
    return reference, near, far


@dataclass(frozen=True)
class MetricLearner:
    """A torch module on the items' features, trained with a loss of pytorch-metric-learning.

    `module` makes the network when it is called with the number of features; a linear map into `dims` dimensions
    unless told. The embedding is a point estimate without draws.
    """

    features: FloatArray
    loss: Any = None
    module: Callable[[int], torch.nn.Module] | None = None
    dims: int = 5
    epochs: int = 200
    learning_rate: float = 0.01

    def __post_init__(self) -> None:
        if self.features is None:
            raise DataError("Metric learning needs features of the items: columns of items.csv, or a .npy file.")

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """Train on all triplets of the answers, from `start` where there is one."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            module = self._module(start)
            inputs = torch.as_tensor(np.asarray(self.features), dtype=torch.float32)
            triplets = indices_tuple(answers)
            loss = TripletMarginLoss(margin=0.2) if self.loss is None else self.loss
            parameters = [*module.parameters(), *(loss.parameters() if isinstance(loss, torch.nn.Module) else [])]
            optimizer = torch.optim.Adam(parameters, self.learning_rate)
            module.train()
            for _ in range(self.epochs if len(answers) else 0):
                optimizer.zero_grad()
                loss(module(inputs), indices_tuple=triplets).backward()
                optimizer.step()
        state = {name: value.detach().numpy().copy() for name, value in module.state_dict().items()}
        return Belief(_placed(module, inputs), state=state)

    def transform(self, features: FloatArray, belief: Belief) -> FloatArray:
        """Where items lie that nobody was asked about."""
        return _placed(self._module(belief), torch.as_tensor(np.asarray(features), dtype=torch.float32))

    def _module(self, start: Belief | None) -> torch.nn.Module:
        n_features = np.asarray(self.features).shape[1]
        make = self.module or (lambda n: torch.nn.Linear(n, self.dims, bias=False))
        module = make(n_features)
        if start is not None and start.state:
            module.load_state_dict({name: torch.from_numpy(np.array(v)) for name, v in start.state.items()})
        return module


def _placed(module: torch.nn.Module, inputs: torch.Tensor) -> FloatArray:
    module.eval()
    with torch.inference_mode():
        return np.asarray(module(inputs).double().numpy())
