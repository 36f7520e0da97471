"""Queries and responses as integer arrays: check, draw, enumerate, form from triplets, split into triplets.

A query is a row of int32: column 0 is the reference, the rest its candidates; short rows end in -1.
Candidate order means nothing and never encodes an answer. A response is the position of the chosen
option; for a ranking it is the index of the order in `orders(k)`. Where the odd one of three is asked
for, the row is the three items in any order, none of them a reference, and each of them is an option.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from infonn.arrays import Array, BoolArray, IntArray
from infonn.errors import InvalidQueryError

Kind = Literal["nearest", "ranking", "odd_one_out", "label"]

MAX_RANKED = 6  # 720 orders; more than that nobody ranks, and no table holds
ODD_CANDIDATES = 2  # beside the first item of a row: the odd one is asked for among three


@dataclass(frozen=True)
class Answers:
    """Answered queries: `queries` (n, 1 + k), `responses` (n,)."""

    queries: IntArray
    responses: IntArray
    kind: Kind = "nearest"

    def __len__(self) -> int:
        return len(self.queries)

    def joined(self, other: Answers) -> Answers:
        """These answers followed by `other`, of the same kind."""
        return Answers(
            stack_queries([self.queries, other.queries]), np.concatenate([self.responses, other.responses]), self.kind
        )

    def take(self, rows: IntArray | BoolArray | slice) -> Answers:
        """The answers at `rows`."""
        return Answers(self.queries[rows], self.responses[rows], self.kind)


def no_answers(n_candidates: int, kind: Kind = "nearest") -> Answers:
    """Nothing answered yet."""
    return Answers(np.empty((0, 1 + n_candidates), np.int32), np.empty(0, np.int32), kind)


def stack_queries(parts: Sequence[IntArray]) -> IntArray:
    """Queries of different lengths one below the other, short rows ending in -1."""
    width = max(part.shape[1] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-1) for part in parts]
    return np.concatenate(padded).astype(np.int32)


def padded_queries(rows: Sequence[Sequence[int]], n_candidates: int) -> IntArray:
    """Rows of item indices as one array of queries, at least `n_candidates` wide, short rows ending in -1."""
    width = 1 + max([n_candidates, *(len(row) - 1 for row in rows)])
    return np.array([[*row, *[-1] * (width - len(row))] for row in rows], np.int32).reshape(-1, width)


def last_labels(answers: Answers) -> tuple[IntArray, IntArray]:
    """Labelled items in ascending order, and the class of each: its last label counts."""
    items, last = np.unique(answers.queries[::-1, 0], return_index=True)
    return items, answers.responses[::-1][last]


# --- checks: once, where queries and responses enter ---------------------------------------------


def check_queries(queries: object, n_items: int) -> IntArray:
    """`queries` as an int32 array whose rows can be asked of `n_items` items; else an error that shows the row."""
    try:
        array = np.asarray(queries)
    except ValueError:
        raise InvalidQueryError(
            "Queries are rows of different lengths; fill short rows with -1 at their end."
        ) from None
    if array.ndim != 2 or array.shape[1] < 3:
        raise InvalidQueryError(
            f"Queries have shape {array.shape}; they are rows of a reference and at least 2 candidates: (n, 1 + C)."
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise InvalidQueryError(f"Queries are {array.dtype}; they must be whole numbers, the indices of items.")
    check_length(array.shape[1] - 1, n_items)
    padding = array == -1
    _first_bad(
        array,
        ((array < 0) & ~padding | (array >= n_items)).any(axis=1),
        lambda row: (
            f"item {next(int(i) for i in row if i != -1 and not 0 <= i < n_items)} is out of range. "
            f"Items are numbered 0 to {n_items - 1}."
        ),
    )
    _first_bad(
        array,
        (padding[:, :-1] & ~padding[:, 1:]).any(axis=1) | ((~padding).sum(axis=1) < 3),
        lambda row: "-1 only fills the end of a short row, after a reference and at least 2 candidates.",
    )
    ordered = np.sort(array, axis=1)
    _first_bad(
        array,
        ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != -1)).any(axis=1),
        lambda row: f"item {_repeated(row)} occurs twice. A reference and its candidates must differ.",
    )
    return array.astype(np.int32)


def check_length(n_candidates: int, n_items: int) -> None:
    """Refuse query lengths that `n_items` items cannot fill."""
    if n_candidates < 2:
        raise InvalidQueryError(f"A query has {n_candidates} candidates; it needs at least 2.")
    if n_candidates > n_items - 1:
        raise InvalidQueryError(
            f"Queries of {n_candidates} candidates need {n_candidates + 1} items, and there are {n_items}. "
            + (f"Use at most {n_items - 1} candidates." if n_items > 2 else "A study needs at least 3 items.")
        )


def check_responses(responses: object, queries: IntArray, kind: Kind = "nearest", n_classes: int = 0) -> IntArray:
    """`responses` as int32, each within the options of its query; else an error that shows the first bad one."""
    array = np.asarray(responses)
    if array.shape != (len(queries),):
        raise InvalidQueryError(f"{array.shape} responses for {len(queries)} queries; there must be one per query.")
    if len(array) and not np.issubdtype(array.dtype, np.integer):
        raise InvalidQueryError(f"Responses are {array.dtype}; they must be whole numbers, positions of options.")
    counts = np.full(len(queries), n_classes) if kind == "label" else option_counts(queries, kind)
    bad = np.flatnonzero((array < 0) | (array >= counts))
    if len(bad):
        row = int(bad[0])
        raise InvalidQueryError(
            f"Response {row} is {int(array[row])}; query {queries[row].tolist()} has {int(counts[row])} options, "
            f"numbered 0 to {int(counts[row]) - 1}."
        )
    return array.astype(np.int32)


def option_items(queries: Array, kind: Kind) -> Array:
    """The items that stand for the options, -1 beyond the end of a short row; of a ranking, those to be ranked."""
    return queries if kind == "odd_one_out" else queries[:, 1:]


def check_kind(n_candidates: int, kind: Kind) -> None:
    """Refuse lengths that this kind of question cannot have."""
    if kind == "ranking":
        orders(n_candidates)
    if kind == "odd_one_out" and n_candidates != ODD_CANDIDATES:
        raise InvalidQueryError(
            f"The odd one is asked for among 3 items, and these queries have {n_candidates + 1}. "
            f"Use candidates = {ODD_CANDIDATES}, or leave it out."
        )


def option_counts(queries: IntArray, kind: Kind) -> IntArray:
    """How many responses each query allows; a label's depend on the classes."""
    lengths = (option_items(queries, kind) >= 0).sum(axis=1)
    if kind != "ranking":
        return lengths
    table = np.array([math.factorial(k) for k in range(MAX_RANKED + 1)])
    if len(lengths) and lengths.max() > MAX_RANKED:
        raise InvalidQueryError(f"A ranking of {int(lengths.max())} items; at most {MAX_RANKED} can be ranked.")
    return table[lengths]


def _first_bad(queries: IntArray, bad: BoolArray, explain: object) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        row = queries[rows[0]].tolist()
        raise InvalidQueryError(f"Query {int(rows[0])} is {row}: {explain(row)}")  # type: ignore[operator]


def _repeated(row: list[int]) -> int:
    return next(item for i, item in enumerate(row) if item in row[:i])


# --- orders --------------------------------------------------------------------------------------


@lru_cache
def orders(n_candidates: int) -> IntArray:
    """All rankings of k candidates, (k!, k) positions from nearest to farthest; a ranking's response indexes it."""
    if n_candidates > MAX_RANKED:
        raise InvalidQueryError(f"A ranking of {n_candidates} items; at most {MAX_RANKED} can be ranked.")
    table = np.array(list(itertools.permutations(range(n_candidates))), np.int32)
    table.setflags(write=False)
    return table


def rank_of_orders(ranked: IntArray) -> IntArray:
    """The response (row of `orders`) for each ranking of positions (n, k), nearest first."""
    n_candidates = ranked.shape[1]
    codes = np.zeros(len(ranked), np.int64)
    for i in range(n_candidates):  # Lehmer code: how many later positions are smaller
        codes = codes * (n_candidates - i) + (ranked[:, i + 1 :] < ranked[:, i : i + 1]).sum(axis=1)
    return codes.astype(np.int32)


# --- drawing and enumerating -----------------------------------------------------------------------


def draw_queries(n: int, n_items: int, n_candidates: int, rng: Generator) -> IntArray:
    """`n` queries drawn uniformly, with replacement across rows: (n, 1 + n_candidates)."""
    check_length(n_candidates, n_items)
    width = n_candidates + 1
    drawn = rng.integers(0, n_items, (n, width), dtype=np.int32)
    while len(bad := np.flatnonzero(_has_repeats(drawn))):
        if width * width > n_items:  # rejection would rarely end: order random keys instead
            drawn[bad] = np.argsort(rng.random((len(bad), n_items)), axis=1)[:, :width]
        else:
            drawn[bad] = rng.integers(0, n_items, (len(bad), width), dtype=np.int32)
    return drawn


def _has_repeats(queries: IntArray) -> BoolArray:
    ordered = np.sort(queries, axis=1)
    result: BoolArray = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    return result


def count_queries(n_items: int, n_candidates: int, kind: Kind = "nearest") -> int:
    """How many different queries there are."""
    if kind == "odd_one_out":
        return math.comb(n_items, 1 + n_candidates)
    return n_items * math.comb(n_items - 1, n_candidates)


def enumerate_queries(n_items: int, n_candidates: int, chunk: int = 1 << 18) -> Iterator[IntArray]:
    """All queries, each once, in chunks of at most `chunk` rows: memory does not grow with their number."""
    check_length(n_candidates, n_items)
    combinations = math.comb(n_items - 1, n_candidates)
    if combinations <= chunk:
        table = np.array(list(itertools.combinations(range(n_items - 1), n_candidates)), np.int32)
        per_chunk = max(1, chunk // combinations)
        for first in range(0, n_items, per_chunk):
            references = np.arange(first, min(first + per_chunk, n_items), dtype=np.int32)
            candidates = np.tile(table, (len(references), 1))
            column = np.repeat(references, combinations)[:, None]
            yield np.hstack([column, candidates + (candidates >= column)]).astype(np.int32)
        return
    for reference in range(n_items):
        rows = itertools.combinations((i for i in range(n_items) if i != reference), n_candidates)
        while block := list(itertools.islice(rows, chunk)):
            candidates = np.array(block, np.int32)
            yield np.hstack([np.full((len(candidates), 1), reference, np.int32), candidates])


def all_queries(n_items: int, n_candidates: int, kind: Kind = "nearest") -> IntArray:
    """All queries in one array; for few items."""
    if kind == "odd_one_out":
        check_length(n_candidates, n_items)
        return np.array(list(itertools.combinations(range(n_items), 1 + n_candidates)), np.int32)
    return np.concatenate(list(enumerate_queries(n_items, n_candidates)))


def question_keys(queries: IntArray, kind: Kind) -> npt.NDArray[np.uint64]:
    """One number per query, equal where two ask the same: candidate order aside; for a label, the item alone."""
    if kind == "label":
        return queries[:, 0].astype(np.uint64)
    if kind == "odd_one_out":
        return row_keys(np.sort(queries, axis=1))
    return row_keys(np.hstack([queries[:, :1], np.sort(queries[:, 1:], axis=1)]))


def question_key(query: Sequence[int], kind: Kind) -> str:
    """The same for one query, as a text that a storage can keep: the reference, then its candidates in order."""
    if kind == "label":
        return str(query[0])
    if kind == "odd_one_out":
        return ",".join(map(str, sorted(query)))
    return f"{query[0]}:{','.join(map(str, sorted(query[1:])))}"


def row_keys(columns: IntArray) -> npt.NDArray[np.uint64]:
    """One number per row, padding aside: a 64-bit hash, the same for two different rows with a chance near 1e-19."""
    keys = np.zeros(len(columns), np.uint64)
    for column in range(columns.shape[1]):
        values = columns[:, column].astype(np.int64).astype(np.uint64)
        mixed = (keys + values + np.uint64(2)) * np.uint64(0x9E3779B97F4A7C15)
        keys = np.where(values == _PADDING, keys, mixed ^ (mixed >> np.uint64(29)))  # padding changes nothing
    return keys


_PADDING = np.uint64(2**64 - 1)  # -1, seen as an unsigned number


def first_of_each(queries: IntArray, kind: Kind = "nearest") -> IntArray:
    """Rows of different questions, the first of each, in their order."""
    keys = question_keys(queries, kind)
    if (keys[1:] > keys[:-1]).all():  # items to label come in order: millions need no sorting
        return np.arange(len(keys))
    return np.sort(np.unique(keys, return_index=True)[1])


def not_among(queries: IntArray, asked: IntArray, kind: Kind) -> BoolArray:
    """Which `queries` ask something that none of `asked` asks."""
    if not len(asked):
        return np.ones(len(queries), bool)
    known, keys = np.unique(question_keys(asked, kind)), question_keys(queries, kind)
    nearest = np.minimum(np.searchsorted(known, keys), len(known) - 1)  # few were asked: far quicker than np.isin
    return np.asarray(known[nearest] != keys)


# --- triplets --------------------------------------------------------------------------------------


def check_labels(answers: Answers) -> Answers:
    """Refuse answers that are no labels: a classifier would take the positions of candidates for classes."""
    if answers.kind != "label":
        raise InvalidQueryError(f'A classifier learns from label answers, and these are of kind "{answers.kind}".')
    return answers


def split_into_triplets(answers: Answers) -> IntArray:
    """Triplets (reference, near, far): C - 1 for an NN answer of C candidates, C(C-1)/2 for a ranking.

    An odd one is farther from each of the two others than they are from each other: 2 triplets, one of each.
    """
    queries, responses = answers.queries, answers.responses
    if answers.kind == "label":
        raise InvalidQueryError("Label answers are classes, not similarity judgements; they have no triplets.")
    if answers.kind == "odd_one_out":
        return odd_one_first(answers)[:, [1, 2, 0, 2, 1, 0]].reshape(-1, 3)
    width = queries.shape[1] - 1
    if answers.kind == "nearest":
        rows, positions = np.nonzero((np.arange(width) != responses[:, None]) & (queries[:, 1:] >= 0))
        near = queries[rows, 1 + responses[rows]]
        return np.stack([queries[rows, 0], near, queries[rows, 1 + positions]], axis=1).astype(np.int32)
    ranked = np.take_along_axis(queries[:, 1:], orders(width)[responses], axis=1)
    first, second = np.triu_indices(width, 1)
    triplets = np.stack(np.broadcast_arrays(queries[:, :1], ranked[:, first], ranked[:, second]), axis=-1)
    return triplets.reshape(-1, 3).astype(np.int32)


def odd_one_first(answers: Answers) -> IntArray:
    """The three items of each answer, the odd one first, the two that are alike in the order of their numbers."""
    rows = np.arange(len(answers))
    odd = answers.queries[rows, answers.responses]
    alike = answers.queries[np.arange(3) != answers.responses[:, None]].reshape(-1, 2)
    return np.column_stack([odd, np.sort(alike, axis=1)]).astype(np.int32)


def count_triplets(answers: Answers) -> int:
    """How many triplets the answers split into; labels hold none."""
    lengths = (answers.queries[:, 1:] >= 0).sum(axis=1)
    if answers.kind == "label":
        return 0
    if answers.kind == "odd_one_out":
        return 2 * len(answers)
    return int((lengths * (lengths - 1) // 2).sum() if answers.kind == "ranking" else (lengths - 1).sum())


def draw_from_triplets(triplets: IntArray, n: int, n_candidates: int, rng: Generator) -> Answers:
    """`n` different NN answers of those in `queries_from_triplets`, drawn uniformly without listing them."""
    ordered = _distinct_triplets(triplets)
    starts = np.flatnonzero(np.any(np.diff(ordered[:, :2], axis=0, prepend=-1), axis=1))
    sizes = np.diff(starts, append=len(ordered))
    counts = np.array([math.comb(int(size), n_candidates - 1) for size in sizes])
    if counts.sum() < n:
        raise InvalidQueryError(f"{n} queries were asked for, and the triplets imply {int(counts.sum())}.")
    found = np.empty((0, n_candidates + 1), np.int32)
    while len(found) < n:  # draw, drop what came before, until there are enough
        missing = n - len(found)
        groups = rng.choice(len(counts), missing, p=counts / counts.sum())
        chosen = _choose_below(sizes[groups], n_candidates - 1, rng)
        far = np.sort(ordered[starts[groups][:, None] + chosen, 2], axis=1)
        found = np.vstack([found, np.hstack([ordered[starts[groups], :2], far])]).astype(np.int32)
        found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
    order = np.argsort(found[:, 1:], axis=1, kind="stable")
    queries = np.hstack([found[:, :1], np.take_along_axis(found[:, 1:], order, axis=1)])
    return Answers(queries, np.argmin(order, axis=1).astype(np.int32))


def _distinct_triplets(triplets: IntArray) -> IntArray:
    """Every triplet once, by reference, near and far."""
    triplets = np.asarray(triplets)
    n_items = int(triplets.max(initial=2)) + 1
    columns = check_queries(triplets[:, :3], n_items).T.astype(np.int64)
    codes = np.unique((columns[0] * n_items + columns[1]) * n_items + columns[2])  # quicker than rows
    return np.stack([codes // n_items**2, codes // n_items % n_items, codes % n_items], axis=1)


def _choose_below(sizes: IntArray, n_chosen: int, rng: Generator) -> IntArray:
    """For each size, `n_chosen` different numbers below it, every choice alike: (n, n_chosen)."""
    drawn = np.empty((len(sizes), n_chosen), np.int64)
    for column in range(n_chosen):  # the next of what is left: step over those already taken, smallest first
        value = rng.integers(0, sizes - column)
        for taken in np.sort(drawn[:, :column], axis=1).T:
            value += value >= taken
        drawn[:, column] = value
    return drawn


def queries_from_triplets(triplets: IntArray, n_candidates: int = 3) -> Answers:
    """All NN answers that triplets imply: for each (reference, near), every choice of C - 1 far items.

    Candidates stand in ascending order, so their order does not tell the answer.
    """
    ordered = _distinct_triplets(triplets)
    starts = np.flatnonzero(np.any(np.diff(ordered[:, :2], axis=0, prepend=-1), axis=1))
    sizes = np.diff(starts, append=len(ordered))
    parts = []
    for size in np.unique(sizes[sizes >= n_candidates - 1]):  # groups of one size share their table of choices
        firsts = starts[sizes == size]
        choices = np.array(list(itertools.combinations(range(size), n_candidates - 1)), np.int64)
        far = ordered[firsts[:, None, None] + choices, 2].reshape(-1, n_candidates - 1)
        pairs = np.repeat(ordered[firsts, :2], len(choices), axis=0)
        parts.append(np.hstack([pairs, far]))
    if not parts:
        return no_answers(n_candidates)
    rows = np.concatenate(parts).astype(np.int32)
    order = np.argsort(rows[:, 1:], axis=1, kind="stable")
    queries = np.hstack([rows[:, :1], np.take_along_axis(rows[:, 1:], order, axis=1)])
    return Answers(queries, np.argmin(order, axis=1).astype(np.int32))  # where column `near` (0) went
