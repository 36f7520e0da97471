"""How far a study can be trusted: each measure with its interval, and a sentence that says what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.random import default_rng

from infonn.arrays import IntArray, to_numpy
from infonn.contracts.storage import Answered
from infonn.loop import Loop
from infonn.maths.reliability import (
    Judged,
    agreement,
    alpha_with_interval,
    distance_correlation,
    halves,
    noise_ceiling,
    spearman_brown,
)
from infonn.queries import Answers, question_key

FEWEST_PAIRS = 20  # pairs of answers below which an agreement is not told
FEWEST_ANSWERS = 40  # in all, below which halves teach nothing
FEWEST_PEOPLE = 4  # from which on people are dealt to the halves; with fewer, questions are
SPLITS = 5
_SPLIT_HALF = "Split-half reliability of the map"
EFFORT = 0.3  # of the fits of halves and parts: they are many, and need not be as careful as what is reported


@dataclass(frozen=True)
class Finding:
    """One measure: its value (from `value` to `upto` where it is a range), a 95 % interval, and what it means.

    `value` is None where there is too little data; the sentence then says what is missing.
    """

    title: str
    sentence: str
    value: float | None = None
    upto: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Reliability:
    """How far answers and map can be trusted."""

    agreement_with_others: Finding
    agreement_with_oneself: Finding
    noise_ceiling: Finding
    alpha: Finding
    split_half: Finding

    @property
    def findings(self) -> dict[str, Finding]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to_json(self) -> dict[str, dict[str, Any]]:
        return {name: asdict(finding) for name, finding in self.findings.items()}

    def __str__(self) -> str:
        return "\n".join(f"{finding.title}: {finding.sentence}" for finding in self.findings.values())


def reliability_of(answered: Sequence[Answered], split_half: Finding, seed: int = 0) -> Reliability:
    """What people's answers to the same questions tell, beside how far the map repeats itself (`split_half_of`).

    Compared are answers in force by people with a name, practice and catch questions aside; each person's first answer
    to a question, but for agreement with oneself.
    """
    judged, chance = judged_of(answered)
    rng = default_rng([seed, len(judged)])
    return Reliability(
        _with_others(judged, chance, rng),
        _with_oneself(judged, chance, rng),
        _ceiling(judged, rng),
        _alpha(judged, rng),
        split_half,
    )


def judged_of(answered: Sequence[Answered]) -> tuple[Judged, float]:
    """Answers as numbers that can be compared, and how often two would agree by chance.

    Options are numbered in the order of their labels, which is the same for every copy of a question.
    """
    rows = [
        pair
        for pair in answered
        if pair.answer.response is not None
        and pair.answer.respondent
        and pair.question.purpose not in ("practice", "catch")
    ]
    numbers: tuple[dict[Any, int], dict[Any, int]] = {}, {}
    units, people, choices = [], [], []
    for pair in rows:
        question, response = pair.question, pair.answer.response
        assert response is not None
        key = question.kind, question_key(question.query, question.kind)
        units.append(numbers[0].setdefault(key, len(numbers[0])))
        people.append(numbers[1].setdefault(pair.answer.respondent, len(numbers[1])))
        labels = [option.label for option in question.options]
        choices.append(sorted(labels).index(labels[response]))
    chance = float(np.mean([1 / len(pair.question.options) for pair in rows])) if rows else 0.0
    judged = Judged(*(np.array(column, np.int64) for column in (units, people, choices)))
    return judged, chance


# --- split halves ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Halves:
    """Rank correlations of the distances in two maps, each of half the people or questions (`by`), over the splits."""

    middle: float
    least: float
    most: float
    n_splits: int
    by: str


def split_half_of(
    answered: Sequence[Answered], answers: Answers, loop: Loop, seed: int = 0, n_splits: int = SPLITS
) -> Finding:
    """Two maps, each learned from half of the people: how far their distances agree.

    `answered` and `answers` are the same train answers, as records and as arrays. With fewer than four people the
    questions are halved. The correlation of the halves is that of maps from half the answers; Spearman and Brown's
    formula says what it is for all of them. The median of the splits is told, and their range.
    """
    if answers.kind == "label":
        return Finding(_SPLIT_HALF, "Not told: labels make no map of distances between items.")
    if len(answers) < FEWEST_ANSWERS:
        missing = f"there are {len(answers)} answers, and halves need at least {FEWEST_ANSWERS}"
        return Finding(_SPLIT_HALF, f"Not known yet: {missing}.")
    halved = halve(answered, answers, loop, seed, n_splits)
    if halved is None:
        return Finding(_SPLIT_HALF, "Not known yet: the halves have too few items in common.")
    return told_split_half(halved)


def halve(
    answered: Sequence[Answered], answers: Answers, loop: Loop, seed: int = 0, n_splits: int = SPLITS
) -> Halves | None:
    """Fit both halves of each split; None where they are about different items."""
    groups, by = _halved(answered)
    quick, values = loop.with_effort(EFFORT), []
    for split in range(n_splits):
        rng = default_rng([seed, len(answers), split])
        one, other = (answers.take(rows) for rows in halves(groups, rng))
        both = np.intersect1d(_items(one), _items(other))
        if len(both) < 4:
            continue
        here, there = (to_numpy(quick.fit(side, rng).embedding).astype(float)[both] for side in (one, other))
        values.append(distance_correlation(here, there, rng))
    values = [value for value in values if np.isfinite(value)]
    return Halves(float(np.median(values)), min(values), max(values), len(values), by) if values else None


def told_split_half(halved: Halves) -> Finding:
    """The finding, from the correlations of the halves."""
    value, low, high = (spearman_brown(max(r, -0.99)) for r in (halved.middle, halved.least, halved.most))
    several = halved.n_splits > 1
    splits = f"median of {halved.n_splits} splits, {low:.2f} to {high:.2f}" if several else "one split"
    sentence = (
        f"Distances in two maps, each learned from half of the {halved.by}, have a rank correlation of "
        f"{halved.middle:.2f}; the reliability of the whole map is then about {value:.2f} (Spearman–Brown; {splits}). "
        "1 would be a map that comes out the same again."
    )
    return Finding(_SPLIT_HALF, sentence, value, low=low if several else None, high=high if several else None)


def _halved(answered: Sequence[Answered]) -> tuple[IntArray, str]:
    """A number for each answer that decides its half: the person's, or the question's where people are too few."""
    rows = [pair for pair in answered if pair.answer.response is not None]
    people = [pair.answer.respondent for pair in rows]
    if len(set(people) - {""}) >= FEWEST_PEOPLE and "" not in people:
        return np.unique(people, return_inverse=True)[1], "people"
    keys = [question_key(pair.question.query, pair.question.kind) for pair in rows]
    return np.unique(keys, return_inverse=True)[1], "questions"


def _items(answers: Answers) -> IntArray:
    items = np.unique(answers.queries)
    return items[items >= 0]


# --- sentences -------------------------------------------------------------------------------------------------


def _with_others(judged: Judged, chance: float, rng: np.random.Generator) -> Finding:
    title = "Agreement with others"
    told = agreement(judged.first_of_each_person(), False, rng)
    if told is None or told.n < FEWEST_PAIRS:
        remedy = "Let several people answer the same question (`overlap`)."
        return Finding(title, _too_few(told.n if told else 0, "pairs of answers by two people to one question", remedy))
    sentence = (
        f"Two people who were asked the same question gave the same answer {_percent(told.value)} of the time "
        f"({_interval(told.low, told.high)}; {told.n:,} pairs of answers); by guessing it would be {_percent(chance)}."
    )
    return Finding(title, sentence, told.value, low=told.low, high=told.high, n=told.n)


def _with_oneself(judged: Judged, chance: float, rng: np.random.Generator) -> Finding:
    title = "Agreement with oneself"
    told = agreement(judged, True, rng)
    if told is None or told.n < FEWEST_PAIRS:
        remedy = "Ask people some questions again (`self_repeats`)."
        return Finding(
            title, _too_few(told.n if told else 0, "pairs of answers by one person to a question asked again", remedy)
        )
    sentence = (
        f"A person who was asked the same question again repeated the answer {_percent(told.value)} of the time "
        f"({_interval(told.low, told.high)}; {told.n:,} pairs of answers); by guessing it would be {_percent(chance)}."
    )
    return Finding(title, sentence, told.value, low=told.low, high=told.high, n=told.n)


def _ceiling(judged: Judged, rng: np.random.Generator) -> Finding:
    title = "Noise ceiling"
    told = noise_ceiling(judged, rng)
    if told is None or told.n < FEWEST_PAIRS:
        remedy = "Let several people answer the same question (`overlap`)."
        return Finding(title, _too_few(told.n if told else 0, "answers to questions that several people had", remedy))
    sentence = (
        f"The best possible model would foresee {_percent(told.least)} to {_percent(told.most)} of the answers "
        f"({_interval(told.low, told.high)}; {told.n:,} answers to shared questions); on the rest people themselves "
        "disagree. Compare the hold-out accuracy with it, not with 100 %."
    )
    return Finding(title, sentence, told.least, told.most, told.low, told.high, told.n)


def _alpha(judged: Judged, rng: np.random.Generator) -> Finding:
    title = "Krippendorff’s alpha"
    told = alpha_with_interval(judged, rng)
    if told is None or told.n < FEWEST_PAIRS:
        remedy = "Let several people answer the same question (`overlap`)."
        return Finding(title, _too_few(told.n if told else 0, "questions that several people answered", remedy))
    sentence = (
        f"Agreement beyond chance over {told.n:,} questions that several people answered is {told.value:.2f} "
        f"(95 % interval {told.low:.2f} to {told.high:.2f}; nominal, options numbered within each question): 0 is "
        "chance and 1 perfect. Below 0.67 people see it differently, which need not be carelessness."
    )
    return Finding(title, sentence, told.value, low=told.low, high=told.high, n=told.n)


def _too_few(n: int, what: str, remedy: str) -> str:
    return f"Not known yet: {n} {what} so far, and at least {FEWEST_PAIRS} are needed. {remedy}"


def _interval(low: float, high: float) -> str:
    return f"95 % interval {_percent(low)} to {_percent(high)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
