"""A normal approximation around a network's last layer, which one answer updates without training (Laplace).

Near its optimum the posterior of the last layer's weights W is normal, with the answers' Fisher information as its
precision. An answer adds a matrix of low rank to that, so the covariance follows by Woodbury's formula, the mean by
one Newton step and the draws by Matheron's rule, in a millisecond; the layers below stand still until the next
training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray
from infonn.beliefs import HIDDEN, Belief
from infonn.contracts.loop import Learner
from infonn.errors import DataError
from infonn.learners.networks.network import network
from infonn.learners.posterior.draws import LinearDraws
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.queries import Answers

WEIGHTS, COVARIANCE, SEEN = "laplace.weights", "laplace.covariance", "laplace.seen"
DEVIATIONS = "laplace.deviations"  # of the draws from the mean: (draws, weights)


@dataclass(frozen=True)
class Laplace:
    """A network's belief with draws of its last layer; answers update it, and every `train_after` of them train it.

    `network` is a learner whose belief says what its last layer sees. `response` None: as that learner's.
    `precision` is that of a weight beforehand: N(0, 1 / precision).
    """

    network: Learner
    precision: float = 1.0
    response: ResponseSettings | None = None
    n_draws: int = 64
    train_after: int = 20

    def fit(self, answers: Answers, rng: Generator, start: Belief | None = None) -> Belief:
        """Train and approximate, or, where `start` has seen all but a few of these answers, update."""
        if answers.kind != "nearest":
            raise DataError(f'The Laplace update knows "nearest" answers, and these are of kind "{answers.kind}".')
        state = start.state if start is not None else None
        if start is not None and state is not None and len(state.get(DEVIATIONS, ())) == self.n_draws:
            trained, seen = (int(value) for value in state[SEEN])
            if seen <= len(answers) and len(answers) - trained < self.train_after:
                return self._update(start, state, answers.take(slice(seen, None)), trained, rng)
        belief = self.network.fit(answers, rng, _without_laplace(start))
        if belief.state is None or HIDDEN not in belief.state or len(belief.state[HIDDEN]) != 1:
            raise DataError("The Laplace update needs one network whose last layer is linear, with a bias or without.")
        hidden, weights = belief.state[HIDDEN][0], _last_weights(belief.state)
        rows = fisher_rows(hidden, weights, answers.queries, self._response(belief))
        information = np.einsum("nkp,nkq->pq", rows, rows, optimize=True)
        covariance = np.linalg.inv(information + self.precision * np.eye(weights.size))
        deviations = rng.standard_normal((self.n_draws, weights.size)) @ np.linalg.cholesky(covariance).T
        return self._belief(belief, weights, covariance, deviations, len(answers), len(answers))

    def _update(
        self, start: Belief, state: Mapping[str, FloatArray], new: Answers, trained: int, rng: Generator
    ) -> Belief:
        hidden, weights, covariance = state[HIDDEN][0], state[WEIGHTS], state[COVARIANCE]
        deviations = state[DEVIATIONS]
        for query, answer in zip(new.queries, new.responses):
            weights, covariance, deviations = updated(
                hidden, weights, covariance, deviations, query, int(answer), self._response(start), rng
            )
        seen = int(state[SEEN][1]) + len(new)
        return self._belief(start, weights, covariance, deviations, trained, seen)

    def _response(self, belief: Belief) -> ResponseSettings:
        response = self.response or belief.response
        assert response is not None
        return response

    def _belief(
        self,
        base: Belief,
        weights: FloatArray,
        covariance: FloatArray,
        deviations: FloatArray,
        trained: int,
        seen: int,
    ) -> Belief:
        assert base.state is not None
        hidden = base.state[HIDDEN][0]
        draws = LinearDraws(hidden, weights + deviations.reshape(-1, *weights.shape))
        laplace = {
            WEIGHTS: weights,
            COVARIANCE: covariance,
            DEVIATIONS: deviations,
            SEEN: np.array([trained, seen]),
        }
        response = self._response(base)
        return replace(
            base, embedding=hidden @ weights, draws=draws, response=response, state={**base.state, **laplace}
        )


def network_laplace(
    features: FloatArray | None,
    layers: Sequence[int] = (32, 48, 10),
    mu: float | None = None,
    sharpness: float = 1.0,
    lapse: float = 0.0,
    epochs: int = 100,
    learning_rate: float = 1e-3,
    precision: float = 1.0,
    n_draws: int = 64,
    train_after: int = 20,
    device: str = "cpu",
) -> Laplace:
    """A neural embedding with draws of its last layer: an answer updates them at once, every 20 train the network."""
    trained = network(
        features,
        layers,
        "likelihood",
        mu=mu,
        sharpness=sharpness,
        lapse=lapse,
        epochs=epochs,
        learning_rate=learning_rate,
        device=device,
    )
    return Laplace(trained, precision, n_draws=n_draws, train_after=train_after)


def updated(
    hidden: FloatArray,
    weights: FloatArray,
    covariance: FloatArray,
    deviations: FloatArray,
    query: IntArray,
    answer: int,
    response: ResponseSettings,
    rng: Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, covariance and draws of the weights after one more answer.

    The mean takes one Newton step, the covariance follows Woodbury, and a draw's deviation follows Matheron: less
    what an observation that it would have made itself, noise included, would teach. So it has the new covariance.
    """
    slopes, probs, clear = _slopes(hidden, weights, query[None], response)
    rows = _fisher(slopes, probs, clear, response.lapse)[0]
    reached = covariance @ rows.T
    gain = np.linalg.solve(np.eye(len(rows)) + rows @ reached, reached.T)  # (options, weights)
    covariance = covariance - reached @ gain
    observed = deviations @ rows.T + rng.standard_normal((len(deviations), len(rows)))
    share = (1 - response.lapse) * clear[0, answer] / probs[0, answer]
    gradient = share * (slopes[0, answer] - clear[0] @ slopes[0])
    step = (covariance @ gradient).reshape(weights.shape)
    return weights + step, covariance, deviations - observed @ gain


def fisher_rows(hidden: FloatArray, weights: FloatArray, queries: IntArray, response: ResponseSettings) -> FloatArray:
    """Rows whose outer products sum to each query's Fisher information of the weights: (queries, options, weights)."""
    slopes, probs, clear = _slopes(hidden, weights, queries, response)
    return _fisher(slopes, probs, clear, response.lapse)


def _slopes(
    hidden: FloatArray, weights: FloatArray, queries: IntArray, response: ResponseSettings
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Slopes of log (d^2 + mu)^-sharpness by the weights (queries, options, weights); probabilities with lapses
    and without. Padding has slope 0."""
    present = queries[:, 1:] >= 0
    apart = (hidden[queries[:, :1]] - hidden[queries[:, 1:]]) * present[:, :, None]  # (queries, options, units)
    embedded = apart @ weights
    squared = np.where(present, (embedded**2).sum(axis=2), np.inf)
    factors = np.where(present, -2 * response.sharpness / (squared + response.mu), 0.0)
    slopes = (factors[:, :, None] * apart)[:, :, :, None] * embedded[:, :, None, :]
    clear = np.exp(nearest_log_probs(squared, replace(response, lapse=0.0)))
    probs = np.exp(nearest_log_probs(squared, response))
    return slopes.reshape(*slopes.shape[:2], weights.size), probs, clear


def _fisher(slopes: FloatArray, probs: FloatArray, clear: FloatArray, lapse: float) -> FloatArray:
    centred = slopes - np.einsum("nk,nkp->np", clear, slopes)[:, None, :]
    scales = (1 - lapse) * clear / np.sqrt(np.maximum(probs, 1e-300))
    return scales[:, :, None] * centred


def _last_weights(state: Mapping[str, FloatArray]) -> FloatArray:
    """The weights of the layer that comes last by name: (units, dims)."""
    names = [name for name in state if name.endswith(".weight")]
    if not names:
        raise DataError("The Laplace update needs a network of fully connected layers.")
    return np.asarray(state[max(names, key=lambda name: int(name.split(".")[0]))][0], float)


def _without_laplace(start: Belief | None) -> Belief | None:
    if start is None or start.state is None:
        return start
    return replace(start, state={name: value for name, value in start.state.items() if not name.startswith("laplace.")})
