"""Growth: slopes that are known, ways that run, and a page that is in step with the files it is made from."""

import json
from pathlib import Path

import numpy as np
import pytest

from infonn.bench import growth
from infonn.bench.entries import Entry, Target, watched_anonymous_mb
from infonn.bench.scale_page import scale_page
from infonn.errors import DataError

ROOT = Path(__file__).parents[2]


def test_a_known_slope_is_found_and_stands_in_its_interval(rng) -> None:
    sizes = np.repeat([10, 100, 1000], 5)
    slope, low, high = growth.slope_of(sizes, 3.0 * sizes**1.5)
    assert (slope, low, high) == pytest.approx((1.5, 1.5, 1.5))
    slope, low, high = growth.slope_of(sizes, sizes * np.exp(0.1 * rng.standard_normal(15)))
    assert low < 1 < high
    assert high - low < 0.2
    assert np.isnan(growth.slope_of([1, 2], [1, 2])[1])


@pytest.mark.parametrize("way", growth.WAYS, ids=lambda way: way.name)
def test_every_way_to_grow_runs_at_a_small_size(way, tmp_path) -> None:
    work = way.prepare({"items_to_label": 3000, "candidates": 3, "draws": 16}.get(way.name, 20), tmp_path)
    work()
    work()  # as often as is asked


def test_what_is_measured_has_a_slope(monkeypatch) -> None:
    way = growth.Way("numbers", "add them up", (10_000, 100_000, 1_000_000), lambda n, _: np.ones(n).sum)
    monkeypatch.setattr(growth, "WAYS", [way])
    (found,) = growth.bench_growth(runs=2)["ways"]
    assert found["sizes"] == [10_000, 100_000, 1_000_000]
    assert found["low"] <= found["slope"] <= found["high"]
    with pytest.raises(DataError, match="Known: numbers"):
        growth.bench_growth(["words"])


def test_memory_that_is_taken_for_a_while_is_seen() -> None:
    before = watched_anonymous_mb(lambda: None)
    assert watched_anonymous_mb(lambda: np.ones(20_000_000).sum()) - before > 100  # of 153


def test_a_target_is_told_beside_its_value() -> None:
    entry = Entry("x", 2.0, ratio=900.0, targets=(Target("seconds", 3), Target("ratio", 1500, at_least=True)))
    assert entry.told_targets() == ["seconds at most 3: 2, met", "ratio at least 1500: 900, missed"]
    assert entry.as_dict()["targets"] == entry.told_targets()


def test_the_page_on_scale_is_in_step_with_its_files() -> None:
    """When this fails: run `infonn bench scale` and commit docs/scale.md."""
    assert (ROOT / "docs" / "scale.md").read_text() == scale_page(ROOT / "results" / "bench")


def test_a_missing_file_is_named(tmp_path) -> None:
    (tmp_path / "growth.json").write_text(json.dumps({}))
    with pytest.raises(DataError, match=r"speed.json is not there"):
        scale_page(tmp_path)
