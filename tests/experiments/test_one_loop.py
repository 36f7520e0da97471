"""Every way to run the loop gives the same curves: those on file, kept before the ways became one."""

import json

import pytest
from loop_curves import FILE, SETTINGS, processor, setups

from infonn.experiments.trial import Curve, run_setups

KEPT = json.loads(FILE.read_text())


def kept_curves(name: str) -> list[Curve]:
    return [Curve.from_json(curve) for curve in KEPT["curves"][name]]


def assert_same(found: Curve, wanted: Curve) -> None:
    assert found.method == wanted.method
    assert found.queries == wanted.queries
    # Chains multiply what the last digit of a sum differs by, and that digit is the processor's.
    within = 1e-6 if KEPT["processor"] == processor() else 0.2
    for name, values in wanted.measures.items():
        assert found.measures[name] == pytest.approx(values, abs=within), (found.method, name)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_an_experiment_gives_the_curves_on_file(name: str) -> None:
    for found, wanted in zip(run_setups(setups(name)), kept_curves(name), strict=True):
        assert_same(found, wanted)
