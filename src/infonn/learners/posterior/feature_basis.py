"""What the features say of how items may lie: a thin factor F of their Gram matrix, F F' = K, mean diagonal 1.

Only K matters to the posterior, so thousands of columns cost no more than as many directions as K has; of many, the
widest are kept, and what is left of the variance is the items' own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from infonn.arrays import FloatArray
from infonn.errors import DataError, unknown_name
from infonn.maths.threads import one_thread

Scaling = Literal["auto", "columns", "none"]
SCALINGS = ("auto", "columns", "none")
FEW_COLUMNS = 50  # as many may have units of their own; more are pixels, or the output of a network
MOST_DIRECTIONS = 64
WHOLE = 1 - 1e-10  # share of the variance beyond which directions are but rounding


@dataclass(frozen=True)
class FeatureBasis:
    """The features (items, ...) in the directions in which they vary most.

    `scaling` "columns" brings every column to deviation 1, "none" leaves them in the unit they share. "auto" is
    "columns" for up to 50 of them, and where one column alone has more than half of all variance.
    """

    features: FloatArray
    scaling: Scaling = "auto"

    def __post_init__(self) -> None:
        if self.scaling not in SCALINGS:
            raise unknown_name("Scaling of features", self.scaling, SCALINGS)
        values = self._flat(self.features)
        finite = np.isfinite(values).all(axis=0)
        if not finite.all():
            raise DataError(
                f"Column {int(np.argmin(finite))} of the features (counted from 0) has a value that is no number. "
                "Fill it in or leave the column out."
            )

    @property
    def n_columns(self) -> int:
        return int(np.prod(np.shape(self.features)[1:]))

    @cached_property
    def factor(self) -> FloatArray:
        """F: (items, directions), widest first; no directions where the features are the same for all items."""
        return self.of(self.features)

    def of(self, features: FloatArray) -> FloatArray:
        """The same of other items: (items, directions)."""
        values = self._flat(features)
        if values.shape[1] != self.n_columns:
            raise DataError(
                f"New items have {values.shape[1]} columns of features, and the known ones {self.n_columns}; "
                "they must be the same columns."
            )
        if not np.isfinite(values).all():
            raise DataError("The features of new items have a value that is no number.")
        centre, directions = self._directions
        with one_thread():
            placed: FloatArray = (values - centre) @ directions
        return placed

    @cached_property
    def _directions(self) -> tuple[FloatArray, FloatArray]:
        """The mean of the columns, and what turns centred columns into F: (columns,), (columns, directions)."""
        values = self._flat(self.features)
        centre, deviation = values.mean(axis=0), values.std(axis=0)
        constant = deviation <= 1e-12 * np.maximum(np.abs(centre), 1e-300)
        weights = np.ones(values.shape[1])
        if self._by_column(np.where(constant, 0.0, deviation)):
            weights = 1 / np.where(constant, 1.0, deviation)
        weights[constant] = 0.0
        with one_thread():
            centred = (values - centre) * weights
            if centred.shape[1] <= len(centred):
                variances, directions = np.linalg.eigh(centred.T @ centred)
            else:
                variances, axes = np.linalg.eigh(centred @ centred.T)
                directions = centred.T @ (axes / np.sqrt(np.maximum(variances, 1e-300)))
        order = np.argsort(-variances, kind="stable")[:MOST_DIRECTIONS]
        before = np.cumsum(variances[order]) - variances[order]
        total = variances.sum()
        kept = order[(before < WHOLE * total) & (variances[order] > 0)] if total > 0 else order[:0]
        size = np.sqrt(variances[kept].sum() / max(1, len(values)))
        return centre, weights[:, None] * directions[:, kept] / (size if len(kept) else 1.0)

    def _by_column(self, deviation: FloatArray) -> bool:
        if self.scaling != "auto":
            return self.scaling == "columns"
        variance = deviation**2
        return len(variance) <= FEW_COLUMNS or float(variance.max()) > 0.5 * float(variance.sum())

    @staticmethod
    def _flat(features: FloatArray) -> FloatArray:
        values = np.asarray(features, np.float64)
        if values.ndim < 2:
            raise DataError(f"Features have shape {values.shape}; a row for every item is needed.")
        return values.reshape(len(values), -1)
