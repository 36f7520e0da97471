"""What is published about labels: the default that the panel chose, and an accuracy that is true."""

import json
from pathlib import Path

import pytest

from infonn.experiments.labels import accuracy, panel
from infonn.experiments.report.results import read_results
from infonn.experiments.report.write import label_pages
from infonn.specs.registry import DEFAULT_STRATEGIES

ROOT = Path(__file__).parents[2]


def claims_of(name):
    published = json.loads((ROOT / "results" / name / "results.json").read_text())
    return {claim["id"]: claim for claim in published["claims"]}


@pytest.mark.parametrize("n_held_out", [30, 300])
def test_the_interval_that_is_told_holds_the_truth(n_held_out):
    claim = claims_of("label-accuracy")[f"label-accuracy-{n_held_out}"]
    assert claim["holds"], claim["evidence"]
    assert claim["evidence"]["studies"] >= 150


def test_every_study_is_drawn_with_whether_its_interval_holds():
    curves = read_results(ROOT / "results")["label-accuracy"].curves
    panels = accuracy.figures(curves)["estimates"].axes
    drawn = [[line.get_label() for line in axes.lines[1:]] for axes in panels]
    assert drawn == [
        ["interval holds the truth (189)", "does not (11)"],
        ["interval holds the truth (187)", "does not (17)"],
    ]
    assert accuracy.figures([]) == {}


def test_the_default_is_what_the_panel_chose():
    ranks = claims_of("label-panel")["label-panel-chosen"]["evidence"]
    assert next(iter(ranks)) == " / ".join(map(str, panel.DEFAULT))
    assert DEFAULT_STRATEGIES["labels"] == "typical_margin"  # which is margin_spread after typical items


def test_the_guide_and_the_readme_tell_of_the_panel_as_it_is():
    for place, text in label_pages(ROOT / "results", ROOT / "docs").items():
        assert place.read_text(encoding="utf-8") == text, f"{place}: run `infonn report`"
