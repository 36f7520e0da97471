"""The contracts stand in `infonn.contracts` now; the names that were here can still be imported."""

from warnings import warn

from infonn.contracts.loop import (
    BatchRule,
    Criterion,
    Learner,
    Measure,
    Oracle,
    Prediction,
    Predictor,
    Situation,
    StackedLearner,
    Strategy,
    Task,
)
from infonn.contracts.storage import Answered, LiveStorage, Serving, Storage

__all__ = [
    "Answered",
    "BatchRule",
    "Criterion",
    "Learner",
    "LiveStorage",
    "Measure",
    "Oracle",
    "Prediction",
    "Predictor",
    "Serving",
    "Situation",
    "StackedLearner",
    "Storage",
    "Strategy",
    "Task",
]

warn(
    "infonn.framework is now infonn.contracts.loop (learner, task, strategy, oracle) and infonn.contracts.storage.",
    DeprecationWarning,
    stacklevel=2,
)
