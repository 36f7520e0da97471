"""Learning curves: what is drawn is what was measured."""

import numpy as np
import pytest

from infonn.plots.curves import Line, draw_curves, spread_apart
from infonn.plots.dots import Dot, draw_dots
from infonn.plots.look import COLOURS, GREY, colours, save


def test_random_is_grey_and_others_keep_their_colours() -> None:
    chosen = colours(["Random-NN-3", "Info-NN-3", "random", "BALD"])
    assert chosen == {"Random-NN-3": GREY, "Info-NN-3": COLOURS[0], "random": GREY, "BALD": COLOURS[1]}


def test_names_are_moved_apart_and_keep_their_order() -> None:
    places = np.array([10.0, 10.5, 50.0, 9.0])
    apart = spread_apart(places, 5)
    assert np.diff(np.sort(apart)).min() >= 5 - 1e-9
    assert np.argsort(apart).tolist() == np.argsort(places, kind="stable").tolist()
    assert apart[2] == 50
    assert np.mean(apart[[0, 1, 3]]) == pytest.approx(np.mean(places[[0, 1, 3]]))


def test_medians_and_names_are_in_the_figure(rng, tmp_path) -> None:
    values = rng.random((5, 4))
    lines = [Line("random", [20, 30, 40, 50], values), Line("info_nn", [20, 30, 40, 50], values + 0.2)]
    figure = draw_curves({"one": lines, "two": lines[:1]}, "answers", "accuracy", note="5 trials")
    axes = figure.axes[0]
    drawn = sorted((line.get_ydata() for line in axes.lines), key=lambda y: y[0])
    np.testing.assert_allclose(drawn[0], np.median(values, axis=0))
    np.testing.assert_allclose(drawn[1], np.median(values + 0.2, axis=0))
    assert {text.get_text() for text in axes.texts} == {"random", "info_nn"}
    svg, png = save(figure, tmp_path / "curves")
    assert "info_nn" in svg.read_text()
    assert png.stat().st_size > 1000


def test_the_same_figure_is_the_same_file(rng, tmp_path) -> None:
    line = Line("info_nn", [1, 2], rng.random((3, 2)))
    first, second = (save(draw_curves({"a": [line]}, "x", "y"), tmp_path / name)[0] for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def test_dots_stand_on_a_logarithmic_axis() -> None:
    figure = draw_dots({"NN-2": [Dot("paper", 1.0, 0.1), Dot("ours", 0.001)]}, "seconds", baseline="paper")
    assert figure.axes[0].get_xscale() == "log"
