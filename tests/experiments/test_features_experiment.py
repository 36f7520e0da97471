"""What features are worth: kept curves stand beside today's, and a claim names the best of them at each count."""

import pytest

from infonn.experiments.beyond import features
from infonn.experiments.beyond.earlier import curves_of, probes_of
from infonn.experiments.sweep import Plan
from infonn.experiments.trial import Curve


def curves(method: str, name: str, levels: list[float]) -> list[Curve]:
    counts = list(features.COUNTS)
    return [
        Curve(method, "posterior", {"data": name}, trial, trial, counts, counts, {features.MEASURE: [level] * 5})
        for trial, level in enumerate(levels)
    ]


def test_a_cold_fit_is_made_at_every_count_and_kept_curves_stand_beside_it() -> None:
    plan = Plan({"data": ["eggs, place"], "counts": (60,)})
    probes = {probe.method: probe for probe in features.build(plan, 0)}
    assert set(probes) == {features.NOW, features.WITHOUT, *features.EARLIER}
    queries, triplets, measures = probes[features.NOW].run()
    assert (queries, triplets) == ([60], [120])
    assert measures[features.MEASURE][0] > 0.8  # the true place is all there is to know
    assert probes[features.CHOICE].run()[0] == [60]


@pytest.mark.parametrize("experiment", ["features", "ablation"])
def test_kept_curves_say_their_version(experiment: str) -> None:
    kept = curves_of(experiment)
    assert kept
    assert {curve.settings["version"] for curve in kept} == {"0.1.0"}
    assert all(curve.method.endswith(", 0.1.0") for curve in kept)
    assert probes_of(experiment, "no such data", 0, 0) == []


def test_a_claim_compares_with_the_best_of_the_earlier_ones() -> None:
    name = "eggs, noise"
    ours = curves(features.NOW, name, [0.8] * 6)
    better, worse = curves(features.FREE, name, [0.805] * 6), curves(features.CHOICE, name, [0.7] * 6)
    best, noise = features.claims(ours + better + worse)
    assert best.holds is True
    assert best.evidence["at 60"]["against"] == features.FREE
    assert best.evidence["at 60"]["mean"] == pytest.approx(-0.005)
    assert noise.holds is True
    much_better = curves(features.FREE, name, [0.85] * 6)
    assert features.claims(ours + much_better)[0].holds is False
    assert features.claims(ours[:2] + better[:2])[0].holds is None  # two trials tell nothing
    assert "| eggs, noise | No features, 0.1.0 | 6 | 0.805 |" in features.tables(ours + better)["accuracy"]
    assert set(features.figures(ours + better)) == {"beyond-features"}
