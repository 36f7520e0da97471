"""A neural network that turns features into an embedding, trained on similarity answers: one net, or an ensemble.

It embeds items nobody was asked about (`transform`). Many studies train as one stack (`fit_many`).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.random import Generator, default_rng
from torch import nn

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import HIDDEN, Belief
from infonn.errors import DataError, unknown_name
from infonn.learners.networks.bodies import Body, as_body
from infonn.learners.networks.losses import PAPER_RESPONSE, TRIPLET_HINGE, UNIT_RESPONSE, Hinge, Likelihood, Loss
from infonn.learners.networks.stacks import Stack, Training, train
from infonn.maths.responses import ResponseSettings
from infonn.queries import Answers

FEATURE_MEAN, FEATURE_SCALE = "features.mean", "features.scale"  # beside the weights in a belief's state


@dataclass(frozen=True, eq=False)
class Network:
    """Deep metric learning. `network` is layer sizes, a torch module, or a function that makes one.

    Paper: 100 epochs of Adam on all answers after every batch of queries, going on from the last weights. An ensemble
    (`members` above 1) differs by its initial weights, and with `bootstrap` also by its answers: each member counts
    each answer a Poisson number of times, 1 on average, and the same number in every fit. Its embedding is the members
    side by side, so that squared distances are the members' mean.
    """

    features: FloatArray  # (items, features), or (items, ...) for a module that takes more
    network: Body | nn.Module | Callable[[], nn.Module] | Sequence[int] = (32, 48, 10)
    loss: Loss = TRIPLET_HINGE
    epochs: int = 100
    learning_rate: float = 1e-3
    first_learning_rate: float | None = None  # for a fit that starts afresh; published code: 1e-3, then the paper's
    batch_size: int | None = None  # comparisons a step. Published code: as many steps an epoch as rounds so far
    warm_start: bool = True
    members: int = 1
    bootstrap: bool = False
    standardise: bool = True  # tables of features only; pictures are left to their module
    validation: IntArray | None = None  # triplets that pick the epoch, as published; nobody has them in earnest
    device: str = "cpu"
    precision: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", check_features(self.features))
        object.__setattr__(self, "network", as_body(self.network))
        for name in ("epochs", "members"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.bootstrap and self.members == 1:
            raise DataError("A bootstrap of one network only loses answers. Use members=8, say, or bootstrap=False.")
        if not self.learning_rate > 0:
            raise DataError(f"learning_rate is {self.learning_rate}; it must be above 0.")
        if self.device != "cpu" and not self.device.startswith("cuda"):
            raise DataError(f'Device "{self.device}" is unknown. Use "cpu", or "cuda" for a GPU.')
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise DataError(f'Device "{self.device}" was asked for, and torch finds no CUDA device. Use device="cpu".')

    # --- fitting -----------------------------------------------------------------------------------

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        return self.fit_many([answers], [rng], [start])[0]

    def fit_many(
        self,
        answers: Sequence[Answers],
        rngs: Sequence[Generator],
        starts: Sequence[Belief | None],
        learners: Sequence[Any] = (),
    ) -> list[Belief]:
        """Studies of learners that `stacks_with` one another, as one stack."""
        return fit_stack(learners or [self] * len(answers), answers, rngs, starts)

    def stacks_with(self, other: object) -> bool:
        """Whether the two train as one stack: equal in all but the items and the validation triplets."""
        return (
            isinstance(other, Network)
            and self.features.shape == other.features.shape
            and (self.validation is None) == (other.validation is None)
            and self.network == other.network
            and all(getattr(self, name) == getattr(other, name) for name in _SHARED)
        )

    # --- items not seen in training ----------------------------------------------------------------

    def transform(self, features: FloatArray, belief: Belief) -> FloatArray:
        """Where `belief` puts items with these features: (items, dims), as in its embedding."""
        features = np.asarray(features, float)
        if features.shape[1:] != self.features.shape[1:]:
            raise DataError(
                f"Features have shape {features.shape}; items here have shape {self.features.shape[1:]}, "
                f"so {('n', *self.features.shape[1:])} is needed.".replace("'", "")
            )
        _refuse_missing(features)
        if belief.state is None:
            raise DataError("This belief carries no network. Fit a Network, or load one.")
        return _side_by_side(self._embed(features, belief.state)[0])

    def _embed(self, features: FloatArray, state: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray | None]:
        """The members' embeddings (members, items, dims), and what their last layer sees, where the body can tell."""
        scaled = (features - state[FEATURE_MEAN]) / state[FEATURE_SCALE]
        stack = Stack(self._body, [_weights(state, i) for i in range(self.members)], self.device, self.precision)
        inputs = torch.tensor(scaled, dtype=getattr(torch, self.precision), device=self.device)
        inputs = inputs.expand(self.members, *inputs.shape)
        with torch.no_grad():
            embedding = stack.embed(inputs).cpu().numpy().astype(float)
            hidden = self._body.hidden(stack.views(), inputs)
        return embedding, None if hidden is None else hidden.cpu().numpy().astype(float)

    @property
    def _body(self) -> Body:
        return self.network  # type: ignore[return-value]

    # --- keeping -----------------------------------------------------------------------------------

    def save(self, path: Path | str, belief: Belief) -> None:
        """The fitted network as a .npz of plain arrays, without pickled objects."""
        if belief.state is None or belief.response is None:
            raise DataError("This belief carries no network. Fit a Network first.")
        about = {
            "body": self._body.description(),
            "members": self.members,
            "bootstrap": self.bootstrap,
            "response": [belief.response.mu, belief.response.sharpness, belief.response.lapse],
            "standardise": self.standardise,
        }
        arrays = {f"state/{name}": value for name, value in belief.state.items() if name != HIDDEN}
        np.savez(Path(path), about=np.array(json.dumps(about)), features=self.features, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str, network: Body | nn.Module | None = None) -> tuple[Network, Belief]:
        """What `save` kept. A network that was a torch module must be given again: its weights alone are on file."""
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(str(arrays.pop("about")))
        except (KeyError, ValueError, OSError) as error:
            raise DataError(f"{path} is no network saved by infonn: {error}.") from error
        layers = about["body"].get("layers")
        if network is None and layers is None:
            raise DataError(
                f"{path} holds the weights of a {about['body']['module']}. Give the module too: "
                f"Network.load(path, network=module)."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what `check_features` had to say was said at the fit
            learner = cls(
                features=arrays.pop("features"),
                network=tuple(layers) if network is None else network,
                members=about["members"],
                bootstrap=about.get("bootstrap", False),
                standardise=about["standardise"],
            )
        state = {name.removeprefix("state/"): value for name, value in arrays.items()}
        return learner, learner._belief(state, ResponseSettings(*about["response"]))

    def _belief(self, state: Mapping[str, FloatArray], response: ResponseSettings) -> Belief:
        members, hidden = self._embed(self.features, state)
        draws = members if self.members > 1 else None
        if hidden is not None:
            state = {**state, HIDDEN: hidden}
        return Belief(_side_by_side(members), draws=draws, response=response, state=state)


def network(
    features: FloatArray | None,
    layers: Sequence[int] = (32, 48, 10),
    loss: Literal["hinge", "likelihood"] = "hinge",
    margin: float = 1.0,
    mu: float | None = None,
    sharpness: float = 1.0,
    lapse: float = 0.0,
    fit_lapse: bool = False,
    epochs: int = 100,
    learning_rate: float = 1e-3,
    batch_size: int | None = None,
    members: int = 1,
    bootstrap: bool = False,
    device: str = "cpu",
) -> Network:
    """A neural embedding of the items' features, trained on the answers: for a study written as data."""
    if features is None:
        raise DataError("A network learns from features, and these items have none. Add numeric columns, or use mds.")
    losses: dict[str, Loss] = {
        "hinge": Hinge(margin, ResponseSettings(mu or PAPER_RESPONSE.mu, sharpness, lapse)),
        "likelihood": Likelihood(ResponseSettings(mu or UNIT_RESPONSE.mu, sharpness, lapse), fit_lapse),
    }
    if loss not in losses:
        raise unknown_name("Loss", loss, losses)
    return Network(
        features,
        tuple(layers),
        losses[loss],
        epochs=epochs,
        learning_rate=learning_rate,
        batch_size=batch_size,
        members=members,
        bootstrap=bootstrap,
        device=device,
    )


_BOOTSTRAP = 6  # names the members' streams of counts
_SHARED = (
    *("loss", "epochs", "learning_rate", "first_learning_rate", "batch_size", "warm_start", "members"),
    *("bootstrap", "standardise", "device", "precision"),
)


def fit_stack(
    learners: Sequence[Network],
    answers: Sequence[Answers],
    rngs: Sequence[Generator],
    starts: Sequence[Belief | None],
) -> list[Belief]:
    """Fit studies whose learners differ in their items only, as one stack: a belief each, as `fit` alone would give."""
    first = learners[0]
    for learner in learners[1:]:
        if learner is not first and not first.stacks_with(learner):
            raise DataError("Networks in one stack must agree in all settings and in the shape of their features.")
    scalings = [_scaling(learner) for learner in learners]
    weights: list[Mapping[str, FloatArray]] = []
    generators: list[Generator] = []
    rates: list[float] = []
    for learner, rng, start in zip(learners, rngs, starts):
        warm = start if learner.warm_start else None
        seed = int(rng.integers(2**63))
        for member in range(first.members):
            own = default_rng([seed, member])
            generators.append(own)
            if warm is not None and warm.state is not None:
                weights.append(_weights(warm.state, member))
                rates.append(first.learning_rate)
            else:
                weights.append(first._body.initial(learner.features.shape[1:], own))
                rates.append(first.first_learning_rate or first.learning_rate)
    scaled = np.stack([(learner.features - mean) / scale for learner, (mean, scale) in zip(learners, scalings)])
    inputs = torch.tensor(scaled, dtype=getattr(torch, first.precision), device=first.device)
    validation = [learner.validation for learner in learners for _ in range(first.members)]
    trained = train(
        first._body,
        first.loss,
        inputs.repeat_interleave(first.members, dim=0),
        weights,
        [_own_answers(first, a, member) for a in answers for member in range(first.members)],
        generators,
        Training(
            epochs=first.epochs,
            learning_rate=np.array(rates),
            batch_size=first.batch_size,
            device=first.device,
            precision=first.precision,
            validation=None if first.validation is None else [v for v in validation if v is not None],
        ),
    )
    beliefs = []
    for i, (learner, (mean, scale)) in enumerate(zip(learners, scalings)):
        own_slices = slice(i * first.members, (i + 1) * first.members)
        state = {name: value[own_slices] for name, value in trained.weights.items()}
        state |= {FEATURE_MEAN: mean, FEATURE_SCALE: scale}
        response = first.loss.response
        if isinstance(first.loss, Likelihood) and first.loss.fit_lapse:
            response = replace(response, lapse=float(trained.lapse[own_slices].mean()))
        beliefs.append(learner._belief(state, response))
    return beliefs


def _own_answers(learner: Network, answers: Answers, member: int) -> Answers:
    """What a member trains on. Counts come from its own stream, so that later answers leave those of earlier ones."""
    if not learner.bootstrap:
        return answers
    counts = default_rng([_BOOTSTRAP, member]).poisson(1.0, len(answers))
    return answers.take(np.repeat(np.arange(len(answers)), counts)) if counts.any() else answers


def _weights(state: Mapping[str, FloatArray], member: int) -> dict[str, FloatArray]:
    """One network's weights out of a belief's state."""
    beside = (FEATURE_MEAN, FEATURE_SCALE, HIDDEN)
    return {name: value[member] for name, value in state.items() if name not in beside}


def _side_by_side(members: FloatArray) -> FloatArray:
    """(members, items, dims) -> (items, members * dims), scaled so that squared distances are the members' mean."""
    return np.concatenate(list(members), axis=1) / np.sqrt(len(members))


# --- features --------------------------------------------------------------------------------------


def check_features(features: Any) -> FloatArray:
    """`features` as floats, one row per item; a sentence on what is missing, and a warning on what tells nothing."""
    array = np.asarray(features)
    if array.ndim < 2 or not len(array):
        raise DataError(f"Features have shape {array.shape}; they need one row per item: (items, features).")
    if not np.issubdtype(array.dtype, np.number):
        raise DataError(f"Features are {array.dtype}; they must be numbers.")
    array = array.astype(float)
    _refuse_missing(array)
    if array.ndim == 2 and len(array) > 1:
        constant = np.flatnonzero(np.ptp(array, axis=0) == 0)
        if len(constant) == array.shape[1]:
            raise DataError(f"All {array.shape[1]} feature columns are constant: no network can tell the items apart.")
        if len(constant):
            warnings.warn(
                f"Feature column {int(constant[0])} is {array[0, constant[0]]:g} for all {len(array)} items"
                f"{f' ({len(constant)} such columns)' if len(constant) > 1 else ''}; it tells nothing and counts as 0.",
                stacklevel=4,
            )
    return array


def _refuse_missing(features: FloatArray) -> None:
    bad = ~np.isfinite(features)
    if bad.any():
        place = np.argwhere(bad)[0]
        raise DataError(
            f"Feature {', '.join(map(str, place[1:]))} of item {place[0]} is {features[tuple(place)]} "
            f"({int(bad.sum())} such values in all). Fill or drop them: a network needs numbers."
        )


def _scaling(learner: Network) -> tuple[FloatArray, FloatArray]:
    """Mean and scale of every feature column; constant columns keep scale 1 and so become 0."""
    features = learner.features
    if not learner.standardise or features.ndim > 2:
        return np.zeros(features.shape[1:]), np.ones(features.shape[1:])
    scale = features.std(axis=0)
    return features.mean(axis=0), np.where(scale > 0, scale, 1.0)
