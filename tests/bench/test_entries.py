"""The harness: both sides in turn, the median, the baseline scaled up; and the command that shows it."""

import json
from importlib import import_module

import numpy as np
import pytest
from typer.testing import CliRunner

from infonn.bench import table
from infonn.bench.entries import Comparison, measure, peak_mb
from infonn.bench.information import (
    MU,
    SIGMA,
    distances_one_by_one,
    embedding_one_by_one,
    rankings_one_by_one,
    score,
)
from infonn.errors import UnknownNameError
from infonn.queries import draw_queries
from infonn.selection.predictions import DistanceNoise, EmbeddingNoise


def fake_entry() -> Comparison:
    return Comparison(
        lambda: sum(range(1000)), "a longer sum", lambda: sum(range(20_000)), 0.5, lambda: {"peak_mb": 1.5}
    )


def memory_eater() -> None:
    np.ones(30_000_000).sum()  # 229 MB


def test_sides_run_in_turn_after_one_unmeasured_run(monkeypatch):
    clock = iter(np.cumsum([1.0] * 100))
    monkeypatch.setattr("infonn.bench.entries.perf_counter", lambda: next(clock))
    calls = []
    entry = measure("x", Comparison(lambda: calls.append("a"), "b", lambda: calls.append("b"), share=0.25), runs=3)
    assert calls == ["a", "b"] * 4
    assert (entry.seconds, entry.baseline_seconds, entry.ratio) == (1.0, 4.0, 4.0)
    assert list(entry.as_dict()) == ["name", "seconds", "baseline", "baseline_seconds", "ratio"]


def test_peak_memory_is_that_of_a_fresh_process():
    held = np.ones(50_000_000)  # 381 MB here must not count there
    assert 229 < peak_mb("tests.bench.test_entries:memory_eater") < 229 + 381
    assert held.sum() == 5e7


def test_every_entry_can_be_found():
    for target in table.ENTRIES.values():
        module, function = target.split(":")
        assert callable(getattr(import_module(module), function))


def test_swaps_written_down_score_as_the_kernel_has_them(rng):
    from infonn.bench.search import _situation, swaps_plainly

    situation, items = _situation(), np.arange(0, 1000, 37)
    queries = situation.pool[:5]
    for position in (0, 2):
        ours = situation.predict.swap_information(queries, position, items)
        np.testing.assert_array_equal(swaps_plainly(situation, queries, position, items), ours)


def test_an_unknown_entry_is_refused_with_the_near_miss():
    with pytest.raises(UnknownNameError, match='Did you mean "ranking_c4"'):
        table.check_names(["ranking_c5"])


def test_the_command_writes_what_it_shows(tmp_path, monkeypatch):
    from infonn.cli.main import app

    monkeypatch.setattr(table, "ENTRIES", {"fake": "tests.bench.test_entries:fake_entry"})
    file = tmp_path / "b.json"
    result = CliRunner().invoke(app, ["bench", "--json", str(file)])
    assert result.exit_code == 0, result.output
    assert "fake" in result.output
    (entry,) = json.loads(file.read_text())
    assert entry["name"] == "fake"
    assert entry["peak_mb"] == 1.5
    assert entry["ratio"] == pytest.approx(entry["baseline_seconds"] / entry["seconds"])


@pytest.mark.parametrize(
    "baseline, predictor",
    [
        (distances_one_by_one, DistanceNoise(SIGMA, MU, 4096)),
        (rankings_one_by_one, DistanceNoise(SIGMA, MU, 4096, kind="ranking")),
        (embedding_one_by_one, EmbeddingNoise(SIGMA, MU, 4096)),
    ],
)
def test_baselines_compute_what_ours_computes(baseline, predictor, rng):
    """Largest of 10 errors of baselines with 2,000 draws; their standard errors are below 0.01."""
    embedding, queries = rng.standard_normal((12, 2)), draw_queries(10, 12, 3, rng)
    np.testing.assert_allclose(score(embedding, queries, predictor), baseline(embedding, queries, 2000), atol=0.05)
