"""Labels as NN queries: the candidates are the nearest labelled items, one per class; the options are the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from infonn.arrays import IntArray, to_numpy
from infonn.beliefs import Belief, Examples
from infonn.errors import DataError
from infonn.maths.neighbours import nearest_of_classes
from infonn.queries import Answers, last_labels
from infonn.records import Option


@dataclass(frozen=True)
class LabelTask:
    """To which class does the item belong?

    For every unlabelled item the query is its nearest labelled item of each of the `candidates` nearest classes,
    near to far; where fewer classes have a label the row ends in -1. A response is the index of a class.
    `start` are the items to label first, in that order, such as typical ones; None draws them at random. `original`
    (items,) is the item that stands for each item and its copies: it alone is asked, so that copies of one picture
    never stand on both sides of a hold-out.
    `among` are the items it asks about; None for all.
    """

    n_items: int
    classes: Sequence[str]
    candidates: int = 3
    start: IntArray | None = None
    among: IntArray | None = None
    original: IntArray | None = None

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
        if self.original is not None:  # a picture with many copies comes as often as they would
            items = self.original[items]
            items = items[np.sort(np.unique(items, return_index=True)[1])]
        return self._bare(self._asked(items)[:size])

    def limited_to(self, items: IntArray) -> LabelTask:
        """The task that asks about these items alone."""
        return replace(self, among=np.asarray(items, np.int32))

    def _asked(self, items: IntArray) -> IntArray:
        return items if self.among is None else items[np.isin(items, self.among)]

    def query_about(self, item: int, rng: Generator) -> IntArray:
        """This item; its candidates are all padding."""
        row: IntArray = self._bare(np.array([item]))[0]
        return row

    def propose(self, belief: Belief, answers: Answers, rng: Generator) -> IntArray:
        """Every item without a label. The candidates are left to `completed`: few strategies ask for them all."""
        unlabelled, labelled = np.ones(self.n_items, bool), last_labels(answers)[0]
        if self.original is not None:
            unlabelled = self.original == np.arange(self.n_items)
            labelled = self.original[labelled]
        unlabelled[labelled] = False
        return self._bare(self._asked(np.flatnonzero(unlabelled)))

    def completed(self, queries: IntArray, belief: Belief, answers: Answers) -> IntArray:
        """The queries with their candidates: the nearest labelled item of each of the nearest classes, near to far."""
        items = queries[:, 0]
        nearest = nearest_of_classes(to_numpy(belief.embedding), items, *last_labels(answers), self.n_nearest)
        return np.hstack([items[:, None].astype(np.int32), nearest])

    def examples(self, belief: Belief, answers: Answers) -> Examples:
        """The labelled items, each class to be shown by its nearest."""
        return Examples(*last_labels(answers), to_numpy(belief.embedding))

    def examples_of_model(self, model: Mapping[str, Any]) -> Examples | None:
        """The labelled items of a stored model."""
        if "labelled" not in model:
            return None
        labelled, classes = np.asarray(model["labelled"]).T
        return Examples(labelled, classes, np.asarray(model["embedding"]))

    def options(self, query: IntArray, examples: Examples | None = None) -> tuple[Option, ...]:
        """All classes, each stood for by its labelled item nearest to the one in question, where there is any."""
        stands_for: dict[int, int] = {}
        if examples is not None:
            stands_for = examples.nearest(int(query[0]))
            stands_for |= {examples.class_of[item]: item for item in query[1:].tolist() if item in examples.class_of}
        return tuple(Option(label, stands_for.get(index)) for index, label in enumerate(self.classes))

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
