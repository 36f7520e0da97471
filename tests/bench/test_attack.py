"""The stranger of `infonn bench attack`: a moment of it, so that its numbers can be trusted."""

import pytest

from infonn.bench.attack import Stranger, bench_attack
from infonn.errors import DataError
from threads import in_thread


def test_point_3_people_are_answered_while_a_stranger_is_at_work() -> None:
    figures = in_thread(bench_attack, people=3, seconds=2.0, rounds=1, think_s=0.1, workers=0)
    assert figures["errors"] == 0
    assert figures["stranger_requests"] > 300
    assert figures["attacked_p50_s"] > 0


def test_the_stranger_talks_to_this_machine_alone() -> None:
    with pytest.raises(DataError):
        Stranger("192.0.2.1", 80, "key", 1.0)
    with pytest.raises(DataError):
        Stranger("127.0.0.1", 80, "key", 1e6)
