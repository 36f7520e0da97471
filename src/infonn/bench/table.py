"""All entries by name, each "module:function"; the function returns a `Comparison`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

from infonn.bench.entries import Comparison, Entry, measure
from infonn.errors import unknown_name

ENTRIES = {
    "info_nn_distances": "infonn.bench.information:info_nn_distances",
    "info_nn_default": "infonn.bench.information:info_nn_default",
    "info_nn_embedding": "infonn.bench.information:info_nn_embedding",
    "ranking_c4": "infonn.bench.information:ranking_c4",
    "query_search": "infonn.bench.search:query_search",
    "ask_100": "infonn.bench.asking:ask_100",
    "ask_1000": "infonn.bench.asking:ask_1000",
    "ask_10000": "infonn.bench.asking:ask_10000",
    "map_10000": "infonn.bench.asking:map_10000",
    "mds_10000": "infonn.bench.asking:mds_10000",
    "first_question": "infonn.bench.asking:first_question",
    "mds_fit": "infonn.bench.mds:mds_fit",
    "pool_5m": "infonn.bench.pool:pool_5m",
    "dml_stack": "infonn.bench.networks:dml_stack",
    "dml_select": "infonn.bench.networks:dml_select",
    "posterior_update": "infonn.bench.posterior:posterior_update",
    "posterior_growth": "infonn.bench.posterior:posterior_growth",
    "laplace_update": "infonn.bench.posterior:laplace_update",
    "joint_batch": "infonn.bench.posterior:joint_batch",
    "label_select": "infonn.bench.labels:label_select",
    "label_select_1m": "infonn.bench.labels:label_select_1m",
    "label_ask": "infonn.bench.labels:label_ask",
    "label_ask_1m": "infonn.bench.labels:label_ask_1m",
    "batchbald": "infonn.bench.labels:batchbald",
}

BY_NAME = ("map_10000", "first_question")  # over 20 s: measured only where they are named


def check_names(names: Sequence[str]) -> list[str]:
    """`names`, or where none is named all entries but those `BY_NAME`; an error for a name that no entry has."""
    for name in names:
        if name not in ENTRIES:
            raise unknown_name("Benchmark", name, ENTRIES)
    return list(names) or [name for name in ENTRIES if name not in BY_NAME]


def run_entries(names: Sequence[str]) -> Iterator[Entry]:
    """Measure the named entries, one after the other."""
    for name in names:
        module, function = ENTRIES[name].split(":")
        comparison: Comparison = getattr(import_module(module), function)()
        yield measure(name, comparison)
