"""Maps by condition or by person: one for each group of answers, laid on the map of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.contracts.storage import Answered
from infonn.errors import StudyError
from infonn.loop import Loop, cold_rng
from infonn.maths.prediction import laid_on, plane_of
from infonn.queries import Answers

if TYPE_CHECKING:
    from pandas import DataFrame

PEOPLE = "respondent"  # the groups are the people themselves
FEWEST_ANSWERS = 30  # of a group that gets a map
MOST_GROUPS = 24
_EFFORT = 0.3


@dataclass(frozen=True)
class GroupMap:
    """Where one group's answers place the items, on the map of all; NaN for an item it was not asked about."""

    name: str
    n_answers: int
    n_people: int
    points: FloatArray  # (items, 2)


@dataclass(frozen=True)
class GroupMaps:
    """The map of all answers and that of each group; how far the groups' places lie from it, in units of its size.

    `deviation` (items,) is the root mean square over groups, `by_chance` the same for groups of as many answers dealt
    at random: only what exceeds it is about the groups.
    """

    by: str
    item_names: tuple[str, ...]
    points: FloatArray  # (items, 2): of all answers
    groups: tuple[GroupMap, ...]
    left_out: tuple[str, ...]  # groups with too few answers
    deviation: FloatArray
    by_chance: FloatArray

    @property
    def sentence(self) -> str:
        """What the deviations say."""
        here, chance = (float(np.sqrt(np.nanmean(values**2))) for values in (self.deviation, self.by_chance))
        what = "People’s own maps" if self.by == PEOPLE else f"The maps by {self.by}"
        verdict = "more than chance gives" if here > 1.15 * chance else "about what chance gives"
        rest = (
            f" {len(self.left_out)} groups with fewer than {FEWEST_ANSWERS} answers have none." if self.left_out else ""
        )
        return (
            f"{what} lie {here:.2f} of its size from the map of all on average, maps of as many answers dealt at "
            f"random {chance:.2f}: {verdict}.{rest}"
        )

    def to_pandas(self) -> DataFrame:
        """One row for each item and group; the group "" is everybody."""
        from pandas import DataFrame

        everyone = GroupMap("", 0, 0, self.points)
        rows = [
            {
                "item": name,
                self.by: group.name,
                "x": group.points[i, 0],
                "y": group.points[i, 1],
                "deviation": self.deviation[i],
                "deviation_by_chance": self.by_chance[i],
            }
            for group in (everyone, *self.groups)
            for i, name in enumerate(self.item_names)
        ]
        return DataFrame(rows)


def group_maps(
    answered: Sequence[Answered], answers: Answers, loop: Loop, item_names: Sequence[str], by: str, seed: int = 0
) -> GroupMaps:
    """Maps by person (`by="respondent"`), or by what the answers' context says under a key, such as "condition".

    `answered` and `answers` are the same train answers, as records and as arrays.
    """
    if answers.kind == "label":
        raise StudyError("Labels make no map, so there are none by group. Use a similarity study.")
    rows = [pair for pair in answered if pair.answer.response is not None]
    names = [_group(pair, by) for pair in rows]
    people = [pair.answer.respondent for pair in rows]
    sizes = Counter(name for name in names if name is not None)
    telling = [name for name, n in sizes.most_common(MOST_GROUPS) if n >= FEWEST_ANSWERS]
    if not telling:
        known = sorted({key for pair in rows for key in pair.answer.context if isinstance(key, str)})
        told = f" The answers tell: {', '.join([PEOPLE, *known])}." if not sizes else ""
        raise StudyError(
            f'No group by "{by}" has {FEWEST_ANSWERS} answers; the largest has {max(sizes.values(), default=0)}.{told}'
        )
    group = np.array([telling.index(name) if name in telling else -1 for name in names])
    whole = plane_of(to_numpy(loop.fit(answers, cold_rng(seed, len(answers))).embedding).astype(float))
    size = float(np.sqrt((whole**2).sum(axis=1).mean())) or 1.0
    places = [_laid(answers.take(group == number), loop, whole, seed, number) for number in range(len(telling))]
    dealt = _dealt(group, None if by == PEOPLE else people, seed)
    at_random = [_laid(answers.take(dealt == number), loop, whole, seed, number) for number in range(len(telling))]
    maps = [
        GroupMap(name, int((group == number).sum()), len({who for who, g in zip(people, group) if g == number}), points)
        for number, (name, points) in enumerate(zip(telling, places))
    ]
    return GroupMaps(
        by,
        tuple(item_names),
        whole,
        tuple(sorted(maps, key=lambda one: one.name)),
        tuple(sorted(set(sizes) - set(telling))),
        _deviation(places, whole) / size,
        _deviation(at_random, whole) / size,
    )


def _group(pair: Answered, by: str) -> str | None:
    value = pair.answer.respondent or None if by == PEOPLE else pair.answer.context.get(by)
    return None if value is None else str(value)


def _laid(answers: Answers, loop: Loop, whole: FloatArray, seed: int, number: int) -> FloatArray:
    """The places of a part of the answers, turned and sized to fit the map of all; NaN where it says nothing."""
    belief = loop.with_effort(_EFFORT).fit(answers, default_rng([seed, len(answers), number]))
    items = np.unique(answers.queries)
    items = items[items >= 0]
    points = np.full(whole.shape, np.nan)
    if len(items) > 2:
        middle = whole[items].mean(axis=0)
        points[items] = laid_on(to_numpy(belief.embedding).astype(float)[None, items], whole[items])[0] + middle
    return points


def _dealt(group: IntArray, people: Sequence[str] | None, seed: int) -> IntArray:
    """The groups dealt anew at random: to whole people where there are several in a group, else to answers."""
    rng = default_rng([seed, len(group)])
    if people is None:
        return rng.permutation(group)
    names, who = np.unique(list(people), return_inverse=True)
    of_person = np.array([Counter(group[who == person].tolist()).most_common(1)[0][0] for person in range(len(names))])
    return np.where(group < 0, -1, rng.permutation(of_person)[who])


def _deviation(places: Sequence[FloatArray], whole: FloatArray) -> FloatArray:
    """Root mean square distance of an item's places from its place on the map of all: (items,)."""
    squared = np.stack([((points - whole) ** 2).sum(axis=1) for points in places])
    told = np.isfinite(squared)
    total = np.where(told, squared, 0).sum(axis=0)
    return np.sqrt(np.divide(total, told.sum(axis=0), out=np.full(len(whole), np.nan), where=told.any(axis=0)))
