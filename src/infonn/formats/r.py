"""For R: the comparisons as a CSV file, and a script that embeds them there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infonn.contracts.storage import Answered
from infonn.formats.tables import table
from infonn.formats.triplets import triplets_of

COLUMNS = ("i", "j", "k", "l", "reference", "near", "far", "participant", "question_id")

SCRIPT = """\
answers <- read.csv("{file}"); items <- read.csv("{items}")$item  # d(i, j) < d(k, l), counted from 1
embedding <- loe::SOE(CM = as.matrix(answers[, c("i", "j", "k", "l")]), N = length(items), p = {dims})$X
plot(embedding, type = "n"); text(embedding, labels = items)
"""


def write(answered: Iterable[Answered], item_names: Sequence[str]) -> str:
    """One row per triplet: i, j, k, l as the package `loe` takes comparisons, counted from 1, and the names."""
    rows = [
        {
            "i": triplet.reference + 1,
            "j": triplet.near + 1,
            "k": triplet.reference + 1,
            "l": triplet.far + 1,
            "reference": item_names[triplet.reference],
            "near": item_names[triplet.near],
            "far": item_names[triplet.far],
            "participant": triplet.respondent,
            "question_id": triplet.question_id,
        }
        for triplet in triplets_of(answered)
    ]
    return table(COLUMNS, rows)


def write_items(item_names: Sequence[str]) -> str:
    """The items in the order of their numbers."""
    return table(("item",), [{"item": name} for name in item_names])


def script(file: str = "answers.csv", items: str = "items.csv", dims: int = 2) -> str:
    """Three lines of R that read both files, embed and plot."""
    return SCRIPT.format(file=file, items=items, dims=dims)
