"""Ten million items to label, their features mapped from a file: seconds, and memory that is the process's own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.random import default_rng

from infonn.arrays import IntArray
from infonn.bench.entries import Comparison, Target, peak_anonymous_mb
from infonn.learners.classifiers.bayes_logistic import BayesLogistic
from infonn.loop import Loop
from infonn.queries import Answers
from infonn.selection.class_strategies import typical_margin
from infonn.tasks.labels import LabelTask

N_ITEMS, N_COLUMNS, N_CLASSES, N_LABELS = 10_000_000, 64, 10, 100
WRITTEN = 1 << 18  # items that are made and written at once
FILE = Path(tempfile.gettempdir()) / "infonn-bench-pool.npy"


def label_pool_10m() -> Comparison:
    """Fit 100 labels and choose 10 of 10,000,000 items with 64 features each, mapped from a file, by the defaults."""
    write_features(FILE, N_ITEMS)

    def memory() -> dict[str, float]:
        try:
            return {"anonymous_mb": peak_anonymous_mb("infonn.bench.label_pool:choose_10m")}
        finally:
            FILE.unlink()

    targets = (Target("seconds", 12), Target("anonymous_mb", 1500))
    return Comparison(choose_10m, extra=memory, targets=targets, runs=3)


def choose_10m() -> IntArray:
    """What is measured."""
    return choose(FILE)


def choose(file: Path) -> IntArray:
    """The ten items to label next, of those whose features are in the file."""
    features = np.load(file, mmap_mode="r")
    rng = default_rng(0)
    labelled = rng.permutation(len(features))[:N_LABELS]
    queries = np.full((N_LABELS, 4), -1, np.int32)
    queries[:, 0] = labelled
    answers = Answers(queries, _classes(labelled), "label")
    learner = BayesLogistic(features, N_CLASSES)
    task = LabelTask(len(features), tuple(str(label) for label in range(N_CLASSES)))
    loop = Loop(task, learner, typical_margin(N_CLASSES), "label")
    belief = loop.fit(answers, rng)
    chosen, _ = loop.choose(belief, answers, answers.queries, 10, rng)
    return chosen[:, 0]


def write_features(file: Path, n_items: int) -> None:
    """Blobs, one for each class, written piece by piece."""
    rng = default_rng(1)
    centres = rng.standard_normal((N_CLASSES, N_COLUMNS), np.float32)
    with file.open("wb") as out:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_items, N_COLUMNS)}
        np.lib.format.write_array_header_1_0(out, header)
        for first in range(0, n_items, WRITTEN):
            classes = _classes(np.arange(first, min(first + WRITTEN, n_items)))
            out.write((centres[classes] + 2 * rng.standard_normal((len(classes), N_COLUMNS), np.float32)).tobytes())


def _classes(items: IntArray) -> IntArray:
    """Which class an item is of, spread without order."""
    return (items * 2654435761 % 2**32 * N_CLASSES >> 32).astype(np.int32)
