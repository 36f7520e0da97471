"""The load generator: a small crowd for a moment, so that the numbers of a large one can be trusted."""

from infonn.bench.serve import bench_serve
from threads import in_thread


def test_a_small_crowd_is_measured_and_nothing_is_lost() -> None:
    figures = in_thread(bench_serve, people=3, seconds=2.0, think_s=0.1, n_items=8, learner="mds")
    assert figures["all_acknowledged_stored"]
    assert figures["answers"] >= 3
    assert figures["errors"] == 0
    assert 0 < figures["server_p50_s"] <= figures["server_p95_s"] <= figures["server_p99_s"]
