"""Fewer labels for the same classifier: handwritten digits, chosen by Info-NN and at random."""

import sys

from infonn import compare
from infonn.plots.look import style

tables = {"study": {"task": "labels"}, "items": {"dataset": "digits"}, "queries": {"first": 20}}
comparison = compare(tables, strategies=["info_nn", "margin", "random"], answers=100, batch=20, trials=2)
print(comparison.table())
with style():
    comparison.figure().savefig(sys.argv[1] if len(sys.argv) > 1 else "labels.png", dpi=100)
