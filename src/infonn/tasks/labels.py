"""Labels as NN queries: the candidates are the nearest labelled items, one per class; the options are the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.beliefs import Belief
from infonn.errors import DataError
from infonn.maths.neighbours import nearest_of_classes
from infonn.queries import Answers, last_labels
from infonn.records import Option


@dataclass(frozen=True)
class Examples:
    """Labelled items, and where every item stands: each class is shown by its item nearest to the one in question."""

    items: IntArray
    classes: IntArray
    embedding: FloatArray

    @cached_property
    def class_of(self) -> dict[int, int]:
        return dict(zip(self.items.tolist(), self.classes.tolist()))

    def nearest(self, item: int) -> dict[int, int]:
        """Class -> its labelled item nearest to `item`, which never stands for itself."""
        others = self.items != item
        items, classes = self.items[others], self.classes[others]
        squared = ((self.embedding[items] - self.embedding[item]) ** 2).sum(axis=1)
        far_to_near = np.argsort(-squared, kind="stable")
        return dict(zip(classes[far_to_near].tolist(), items[far_to_near].tolist()))


@dataclass(frozen=True)
class LabelTask:
    """To which class does the item belong?

    For every unlabelled item the query is its nearest labelled item of each of the `candidates` nearest classes,
    near to far; where fewer classes have a label the row ends in -1. A response is the index of a class.
    `start` are the items to label first, in that order, such as typical ones; None draws them at random.
    """

    n_items: int
    classes: Sequence[str]
    candidates: int = 3
    start: IntArray | None = None
    _examples: list[Examples] = field(default_factory=list, init=False, repr=False, compare=False)  # the latest

    def __post_init__(self) -> None:
        check_classes(self.classes)
        if self.candidates < 2:
            raise DataError(f"candidates is {self.candidates}; a label query compares at least 2 classes.")

    @property
    def n_nearest(self) -> int:
        """How many classes a query compares; never more than there are."""
        return min(self.candidates, len(self.classes))

    def first_queries(self, size: int, rng: Generator) -> IntArray:
        """Items to label before anything is known; their candidates are all padding."""
        items = rng.permutation(self.n_items) if self.start is None else self.start
        return self._bare(items[:size])

    def propose(self, belief: Belief, answers: Answers, rng: Generator) -> IntArray:
        """One query for every item without a label."""
        labelled, classes = last_labels(answers)
        embedding = to_numpy(belief.embedding)
        self._examples[:] = [Examples(labelled, classes, embedding)]
        unlabelled = np.ones(self.n_items, bool)
        unlabelled[labelled] = False
        items = np.flatnonzero(unlabelled)
        candidates = nearest_of_classes(embedding, items, labelled, classes, self.n_nearest)
        return np.hstack([items[:, None].astype(np.int32), candidates])

    def options(self, query: IntArray) -> tuple[Option, ...]:
        """All classes, each stood for by its labelled item nearest to the one in question, where there is any."""
        stands_for: dict[int, int] = {}
        for examples in self._examples:
            stands_for = examples.nearest(int(query[0]))
            stands_for |= {examples.class_of[item]: item for item in query[1:].tolist() if item in examples.class_of}
        return tuple(Option(label, stands_for.get(index)) for index, label in enumerate(self.classes))

    def recall(self, model: Mapping[str, Any]) -> None:
        """The labelled items and places of a stored model."""
        if "labelled" in model:
            labelled, classes = np.asarray(model["labelled"]).T
            self._examples[:] = [Examples(labelled, classes, np.asarray(model["embedding"]))]

    def _bare(self, items: IntArray) -> IntArray:
        queries = np.full((len(items), 1 + self.n_nearest), -1, np.int32)
        queries[:, 0] = items
        return queries


def check_classes(classes: Sequence[str]) -> None:
    """Refuse fewer than two classes, nameless ones, and a name twice."""
    for name in classes:
        if not isinstance(name, str):
            raise DataError(f"Class {name!r} is no text. Write it in quotes.")
    names = [name.strip() for name in classes]
    if len(names) < 2:
        raise DataError(f"There are {len(names)} classes ({', '.join(names)}); at least 2 are needed.")
    for name in names:
        if not name:
            raise DataError("A class has no name. Give every class a name, such as cat,dog,other.")
        if names.count(name) > 1:
            raise DataError(f'Class "{name}" occurs twice. Every class needs a name of its own.')
