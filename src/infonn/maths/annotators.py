"""One label for each item from several people who disagree: the majority, or Dawid and Skene's model of who errs how.

Labels come as three arrays of equal length: which item, which person, which class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infonn.arrays import FloatArray, IntArray

ROUNDS, CONVERGED = 200, 1e-6
PRIOR_RIGHT, PRIOR_WRONG = 1.0, 0.1  # labels that a person is taken to have given beforehand, of each kind
SURE = 1e-12


@dataclass(frozen=True)
class Resolved:
    """The labels of items after disagreement is resolved.

    `items` (n,) in ascending order; `probs` (n, classes) how likely each class is; `confusion` (people, classes,
    classes) how often a person calls an item of a class (row) each class (column).
    """

    items: IntArray
    probs: FloatArray
    confusion: FloatArray

    @property
    def labels(self) -> IntArray:
        """The likeliest class of each item; of equally likely ones the first."""
        return self.probs.argmax(axis=1)


def majority(items: IntArray, people: IntArray, labels: IntArray, n_classes: int) -> Resolved:
    """Each label counts the same; `probs` are the shares of the votes. A person's last label of an item counts."""
    unique, item, person, label = _last_votes(items, people, labels)
    votes = np.zeros((len(unique), n_classes))
    np.add.at(votes, (item, label), 1)
    probs = votes / votes.sum(axis=1, keepdims=True)
    return Resolved(unique, probs, _confusion(probs, item, person, label, n_classes))


def dawid_skene(items: IntArray, people: IntArray, labels: IntArray, n_classes: int) -> Resolved:
    """Dawid and Skene (1979): classes and people's confusions that make the labels likeliest, by turns (EM).

    It starts from the majority. A little weight on being right keeps people with few labels from extremes.
    """
    unique, item, person, label = _last_votes(items, people, labels)
    probs = majority(items, people, labels, n_classes).probs
    confusion = _confusion(probs, item, person, label, n_classes)
    for _ in range(ROUNDS):
        confusion = _confusion(probs, item, person, label, n_classes)
        shares = (probs.sum(axis=0) + PRIOR_WRONG) / (len(unique) + n_classes * PRIOR_WRONG)
        logs = np.tile(np.log(shares), (len(unique), 1))
        np.add.at(logs, item, np.log(np.maximum(confusion[person, :, label], SURE)))
        powers = np.exp(logs - logs.max(axis=1, keepdims=True))
        before, probs = probs, powers / powers.sum(axis=1, keepdims=True)
        if np.abs(probs - before).max(initial=0.0) < CONVERGED:
            break
    return Resolved(unique, probs, confusion)


def _confusion(probs: FloatArray, item: IntArray, person: IntArray, label: IntArray, n_classes: int) -> FloatArray:
    """(people, classes, classes): rows add up to 1."""
    n_people = int(person.max(initial=-1)) + 1
    counts = np.full((n_people, n_classes, n_classes), PRIOR_WRONG)
    counts[:, np.arange(n_classes), np.arange(n_classes)] = PRIOR_RIGHT
    np.add.at(counts.transpose(0, 2, 1), (person, label), probs[item])
    shares: FloatArray = counts / counts.sum(axis=2, keepdims=True)
    return shares


def _last_votes(items: IntArray, people: IntArray, labels: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The items in ascending order; and of each vote that counts the item's position, the person and the label."""
    pairs = np.stack([items, people], axis=1)[::-1]
    _, last = np.unique(pairs, axis=0, return_index=True)
    rows = len(items) - 1 - last
    unique, position = np.unique(items[rows], return_inverse=True)
    return unique, position, people[rows], labels[rows]
