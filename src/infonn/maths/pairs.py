"""What two answers tell of each other, and what that makes of a batch: from log_probs (draws, queries, options).

Cheaper cousins of the joint information of a batch in `maths.joint`, which lists or samples whole batches of answers.
"""

from __future__ import annotations

import numpy as np

from infonn.arrays import FloatArray
from infonn.maths.information import entropy, mean_answer


def shared_information(log_probs: FloatArray, others: FloatArray) -> FloatArray:
    """Nats that each answer tells of each other answer: (draws, n, k), (draws, m, l) -> (n, m).

    Given the draw answers are independent, so the mean over draws of the product is their joint distribution.
    """
    first, second = np.exp(log_probs), np.exp(others)
    n_draws, n, k = first.shape
    m, options = second.shape[1:]
    joint = (first.reshape(n_draws, -1).T @ second.reshape(n_draws, -1) / n_draws).reshape(n, k, m, options)
    joint_entropy = -(joint * np.log(np.maximum(joint, 1e-300))).sum(axis=(1, 3))
    alone, beside = entropy(mean_answer(log_probs)), entropy(mean_answer(others))
    shared: FloatArray = np.maximum(alone[:, None] + beside[None, :] - joint_entropy, 0.0)
    return shared


def target_information(log_probs: FloatArray, targets: FloatArray) -> FloatArray:
    """Nats that each answer tells of one target's answer, on average (EPIG): (draws, n, k), (draws, t, l) -> (n,)."""
    return shared_information(log_probs, targets).mean(axis=1)


def whitened(log_probs: FloatArray) -> FloatArray:
    """Deviations of the draws from the mean answer, (p - mean) / sqrt(draws * mean): (draws, n, k) -> (n, k, draws).

    Half the sum of their squares is the information to second order; half the log-determinant of I + U U^T of a
    batch is what its answers tell together, as if they were normal.
    """
    probs = np.exp(log_probs)
    mean = probs.mean(axis=0)
    deviations = (probs - mean) / np.sqrt(len(probs) * np.maximum(mean, 1e-300))
    return np.moveaxis(deviations, 0, 2)


def gaussian_information(log_probs: FloatArray) -> float:
    """Nats that the answers of a batch tell together in the normal approximation: (draws, batch, options)."""
    rows = whitened(log_probs).reshape(-1, len(log_probs))
    return float(0.5 * np.linalg.slogdet(np.eye(len(rows)) + rows @ rows.T)[1])


def greedy_pairwise_batch(log_probs: FloatArray, information: FloatArray, size: int) -> list[int]:
    """Rows picked one by one by their information less what they share with each earlier pick (2-BALD)."""
    gains = np.array(information, float)
    picked: list[int] = []
    for _ in range(min(size, len(gains))):
        best = int(np.argmax(gains))
        picked.append(best)
        gains -= shared_information(log_probs, log_probs[:, best : best + 1])[:, 0]
        gains[picked] = -np.inf
    return picked


def greedy_gaussian_batch(log_probs: FloatArray, size: int) -> list[int]:
    """Rows picked one by one by how much they raise `gaussian_information` of the batch; for batches of any size."""
    rows = whitened(log_probs)  # (n, k, draws)
    n_draws = rows.shape[2]
    unexplained = np.eye(n_draws)  # (I + U_B^T U_B)^-1 of the batch so far
    picked: list[int] = []
    for _ in range(min(size, len(rows))):
        inner = rows @ unexplained @ np.swapaxes(rows, 1, 2)
        gains = 0.5 * np.linalg.slogdet(np.eye(rows.shape[1]) + inner)[1]
        gains[picked] = -np.inf
        best = int(np.argmax(gains))
        picked.append(best)
        reached = unexplained @ rows[best].T  # (draws, k)
        unexplained = unexplained - reached @ np.linalg.solve(np.eye(rows.shape[1]) + inner[best], reached.T)
    return picked
