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
    "mds_10000": "infonn.bench.asking:mds_10000",
    "mds_fit": "infonn.bench.mds:mds_fit",
    "pool_5m": "infonn.bench.pool:pool_5m",
    "dml_stack": "infonn.bench.networks:dml_stack",
    "dml_select": "infonn.bench.networks:dml_select",
    "posterior_update": "infonn.bench.posterior:posterior_update",
    "posterior_growth": "infonn.bench.posterior:posterior_growth",
    "posterior_features": "infonn.bench.posterior:posterior_features",
    "laplace_update": "infonn.bench.posterior:laplace_update",
    "joint_batch": "infonn.bench.posterior:joint_batch",
    "label_select": "infonn.bench.labels:label_select",
    "label_select_1m": "infonn.bench.labels:label_select_1m",
    "label_ask": "infonn.bench.labels:label_ask",
    "label_ask_1m": "infonn.bench.labels:label_ask_1m",
    "batchbald": "infonn.bench.labels:batchbald",
    "kernel_roofline": "infonn.bench.roofline:kernel_roofline",
}
LONG = {  # over 20 seconds each: run where they are named
    "map_10000": "infonn.bench.asking:map_10000",
    "first_question": "infonn.bench.asking:first_question",
    "label_pool_10m": "infonn.bench.label_pool:label_pool_10m",
}


def check_names(names: Sequence[str]) -> list[str]:
    """`names`, or where none is named all entries but the long ones; an error for a name that no entry has."""
    known = {**ENTRIES, **LONG}
    for name in names:
        if name not in known:
            raise unknown_name("Benchmark", name, known)
    return list(names) or list(ENTRIES)


def run_entries(names: Sequence[str]) -> Iterator[Entry]:
    """Measure the named entries, one after the other."""
    for name in names:
        module, function = {**ENTRIES, **LONG}[name].split(":")
        comparison: Comparison = getattr(import_module(module), function)()
        yield measure(name, comparison)
