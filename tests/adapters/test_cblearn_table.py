"""The table beside cblearn: the page shows what the results file holds, and no question is learned and tested."""

from pathlib import Path

import numpy as np
import pytest

from infonn.adapters.cblearn_table import CASES, ESTIMATORS, Case, Measured, missing, read, split, table, with_table

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_shows_the_results_on_file() -> None:
    page = (DOCS / "cblearn.md").read_text()
    fits = read(DOCS / "cblearn.json")
    assert {one.estimator for one in fits} == set(ESTIMATORS)
    assert page == with_table(page, fits)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.data} {case.answers}")
def test_what_is_tested_was_not_learned(case: Case) -> None:
    n_items, train, test = split(case, 1)
    assert len(train) == case.answers
    assert len(test) > 1000
    assert max(train.max(), test.max()) < n_items
    if case.data == "Food73":  # eggs have test answers of their own, to the same 30 items
        asked = {(a, frozenset(rest)) for a, *rest in train.tolist()}
        assert not any((a, frozenset(rest)) in asked for a, *rest in test.tolist())
    np.testing.assert_array_equal(train, split(case, 1)[1])
    assert not np.array_equal(train, split(case, 2)[1])


def test_only_what_is_missing_is_measured() -> None:
    everything = list(missing([]))
    case, name, seed = everything[3]
    known = [Measured(case.data, case.answers, case.dims, name, seed, 0.5, 1.0)]
    assert list(missing(known)) == [*everything[:3], *everything[4:]]
    assert f"| {name} | 0.500 ± 0.000 | 1.00 |" in table(known)
