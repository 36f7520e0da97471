"""What comes out of a label study: predictions of every item, labels with who and when, the model, pictures."""

from __future__ import annotations

import io
import re
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.contracts.storage import Answered
from infonn.errors import DataError, MissingPartError, StudyError
from infonn.formats.csv import arrow, csv_text
from infonn.live.label_fits import LabelFit, linear_weights
from infonn.records import Item

if TYPE_CHECKING:
    from pandas import DataFrame

LABEL_COLUMNS = ("item", "label", "who", "when", "purpose", "outcome", "in_force", "counts")


@dataclass(frozen=True)
class Predictions:
    """Class probabilities of all items (items, classes), and the class people gave to some of them."""

    names: Sequence[str]
    classes: Sequence[str]
    probs: FloatArray
    labels: Mapping[int, int]

    @classmethod
    def of_fit(cls, names: Sequence[str], fitted: LabelFit) -> Predictions:
        return cls(names, fitted.classes, fitted.probs, fitted.labels)

    @classmethod
    def of_model(cls, names: Sequence[str], classes: Sequence[str], model: Mapping[str, Any]) -> Predictions:
        """Those of a stored model; refuses one of an earlier version, which keeps none."""
        if "probs" not in model:
            raise StudyError(
                "The stored model is of an earlier version and has no predictions. The next answer mends it."
            )
        pairs = [*np.asarray(model["labelled"]).tolist(), *np.asarray(model["held_out"]).tolist()]
        return cls(names, classes, np.asarray(model["probs"]), {int(item): int(label) for item, label in pairs})

    @property
    def columns(self) -> list[str]:
        return ["item", "label", "prediction", "confidence", *(f"p({name})" for name in self.classes)]

    def doubt(self) -> FloatArray:
        """How near the second likeliest class comes to the likeliest: 1 is a tie, 0 is certain. (items,)"""
        top = np.sort(self.probs, axis=1)[:, -2:]
        found: FloatArray = 1 - (top[:, 1] - top[:, 0])
        return found

    def rows(self, items: Iterable[int] | None = None) -> Iterator[list[Any]]:
        """A row for every item, or for these: what people said, what is predicted, and every class's probability."""
        best = self.probs.argmax(axis=1)
        for item in range(len(self.names)) if items is None else items:
            probs = self.probs[item]
            said = self.labels.get(item)
            yield [
                self.names[item],
                "" if said is None else self.classes[said],
                self.classes[best[item]],
                round(float(probs[best[item]]), 4),
                *(round(float(p), 4) for p in probs),
            ]

    def csv(self) -> bytes:
        return csv_text(self.columns, self.rows()).encode(errors="replace")

    def parquet(self) -> bytes:
        pyarrow, parquet = arrow()
        best = self.probs.argmax(axis=1)
        columns: dict[str, Any] = {
            "item": list(self.names),
            "label": [None if i not in self.labels else self.classes[self.labels[i]] for i in range(len(self.names))],
            "prediction": [self.classes[c] for c in best],
            "confidence": self.probs.max(axis=1),
            **{f"p({name})": self.probs[:, c] for c, name in enumerate(self.classes)},
        }
        buffer = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), buffer)
        return buffer.getvalue()

    def frame(self) -> DataFrame:
        """The same as a table of pandas, by item."""
        from pandas import DataFrame

        return DataFrame(list(self.rows()), columns=self.columns).set_index("item")

    def classes_of_items(self) -> IntArray:
        """The class of each item: what people said, else what is predicted."""
        found: IntArray = self.probs.argmax(axis=1)
        for item, label in self.labels.items():
            found[item] = label
        return found


# --- labels ------------------------------------------------------------------------------------------------


def label_rows(answered: Sequence[Answered], counted: Mapping[int, int], excluded: set[str]) -> Iterator[list[Any]]:
    """Every label on record with who gave it and when; `counts` says whether the item's class is this one.

    `answered` may hold answers taken back; `counted` is the class of each item after disagreement was resolved.
    """
    for pair in answered:
        question, answer = pair.question, pair.answer
        if question.purpose not in ("train", "hold_out"):
            continue
        in_force = not answer.undone and answer.respondent not in excluded
        counts = in_force and answer.response is not None and counted.get(question.query[0]) == answer.response
        yield [
            question.names[0],
            "" if answer.response is None else question.options[answer.response].label,
            answer.respondent,
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(answer.received_at)),
            question.purpose,
            "none_of_these" if answer.context.get("none_of_these") else answer.outcome,
            in_force,
            counts,
        ]


# --- the model ---------------------------------------------------------------------------------------------


def linear_model(coefficients: FloatArray, intercept: FloatArray, classes: Sequence[str]) -> bytes:
    """scikit-learn's LogisticRegression with these weights, as skops writes it: features in, class names out."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression()
    model.classes_ = np.array(list(classes))
    model.n_features_in_ = len(coefficients)
    two = len(classes) == 2  # of which scikit-learn keeps the difference
    model.coef_ = (coefficients[:, 1:] - coefficients[:, :1] if two else coefficients).T.copy()
    model.intercept_ = intercept[1:] - intercept[:1] if two else intercept.copy()
    model.n_iter_ = np.zeros(1, np.int32)
    return _skops(model)


def model_file(fitted: LabelFit) -> tuple[bytes, str]:
    """The fitted classifier and its file's ending: skops for scikit-learn's, weights for a torch module.

    A classifier of your own is a pipeline that takes features as they are and gives the numbers of classes.
    """
    linear = linear_weights(fitted)
    if linear is not None:
        return linear_model(*linear, fitted.classes), ".skops"
    predicted: Any = fitted.belief.class_log_probs
    if hasattr(predicted, "weights"):
        import torch

        buffer = io.BytesIO()
        torch.save(dict(predicted.weights), buffer)
        return buffer.getvalue(), ".pt"
    if hasattr(predicted, "pipeline"):
        return _skops(predicted.pipeline()), ".skops"
    raise StudyError("The classifier of this study cannot be written to a file.")


def _skops(model: Any) -> bytes:
    try:
        from skops import io as skops
    except ImportError as error:
        raise MissingPartError('Models are written by skops: pip install "infonn[model]".') from error
    data: bytes = skops.dumps(model)
    return data


# --- pictures by class -------------------------------------------------------------------------------------


def pictures_by_class(
    items: Sequence[Item], predictions: Predictions, read: Callable[[str], tuple[str, bytes] | None]
) -> bytes:
    """A ZIP with a folder for each class and in it the pictures of that class; `read` gives (ending, bytes)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, item in paths_by_class(items, predictions):
            found = read(str(item.image))
            if found is not None:
                archive.writestr(str(PurePosixPath(path).with_suffix(found[0])), found[1])
    return buffer.getvalue()


def paths_by_class(items: Sequence[Item], predictions: Predictions) -> Iterator[tuple[str, Item]]:
    """(class/name, item) for every item with a picture; folders within the items' folder become part of the name."""
    if not any(item.image for item in items):
        raise DataError("These items have no pictures to sort into folders.")
    for item, label in zip(items, predictions.classes_of_items()):
        if item.image:
            folder = re.sub(r"[^\w\- .]", "_", predictions.classes[label]).strip(". ") or "class"
            yield f"{folder}/{str(item.image).replace('/', '_')}", item
