"""Who labels how: people's confusions, where several labelled the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, Field

from infonn.contracts.storage import Answered
from infonn.maths.annotators import dawid_skene, majority

MOST_CLASSES = 30  # of which a table of confusions is told


class AnnotatorOut(BaseModel):
    """One person: labels given, those of items that others labelled too, and how many of these agree with the label
    that counts. `confusion` has a row for each class: how often this person calls an item of it each class."""

    respondent: str
    labels: int
    shared: int
    agreeing: int
    confusion: list[list[float]] | None


class AnnotatorsOut(BaseModel):
    classes: list[str]
    rule: str
    shared: int = Field(description="Items that several people labelled.")
    disagreeing: int = Field(description="Of these, items that people called by different classes.")
    people: list[AnnotatorOut]


def annotators(answered: Sequence[Answered], classes: Sequence[str], rule: str) -> AnnotatorsOut:
    """What the labels on record say of the people who gave them."""
    rows = [
        (pair.question.query[0], pair.answer.respondent, pair.answer.response)
        for pair in answered
        if pair.answer.response is not None and pair.question.purpose in ("train", "hold_out")
    ]
    last = {(item, person): label for item, person, label in rows}
    voters = Counter(item for item, _ in last)
    shared = {item for item, n in voters.items() if n > 1}
    if not shared:
        return AnnotatorsOut(classes=list(classes), rule=rule, shared=0, disagreeing=0, people=[])
    numbers = {person: number for number, person in enumerate(dict.fromkeys(person for _, person in last))}
    items, people, labels = (
        np.array(column) for column in zip(*((i, numbers[p], label) for (i, p), label in last.items()))
    )
    resolve = dawid_skene if rule == "dawid_skene" else majority
    resolved = resolve(items, people, labels, len(classes))
    counted = dict(zip(resolved.items.tolist(), resolved.labels.tolist()))
    said: dict[int, set[int]] = {}
    for item, label in zip(items.tolist(), labels.tolist()):
        said.setdefault(item, set()).add(label)
    told = []
    for person, number in numbers.items():
        own = [(item, label) for (item, who), label in last.items() if who == person]
        both = [(item, label) for item, label in own if item in shared]
        table = np.round(resolved.confusion[number], 3).tolist() if len(classes) <= MOST_CLASSES else None
        agreeing = sum(counted[item] == label for item, label in both)
        told.append(
            AnnotatorOut(respondent=person, labels=len(own), shared=len(both), agreeing=agreeing, confusion=table)
        )
    disagreeing = sum(len(said[item]) > 1 for item in shared)
    return AnnotatorsOut(classes=list(classes), rule=rule, shared=len(shared), disagreeing=disagreeing, people=told)
