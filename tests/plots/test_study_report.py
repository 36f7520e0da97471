import re

import numpy as np
import pytest

from infonn.plots.study_report import CurvePoint, MapOf, StudyReport, curve_svg, map_svg, report_html


def test_names_in_the_map_do_not_lie_on_each_other_and_all_dots_are_there() -> None:
    points = np.random.default_rng(0).standard_normal((80, 2))
    drawn = map_svg(MapOf("m", points, np.full(80, 0.1)), [f"item number {i}" for i in range(80)])
    assert drawn.count("<title>") == 80
    boxes = []
    pattern = r'<text x="([\d.]+)" text-anchor="(start|end)" y="([\d.]+)">([^<]+)</text>'
    for x, anchor, y, text in re.findall(pattern, drawn):
        wide = 6.6 * len(text)
        left = float(x) - wide if anchor == "end" else float(x)
        boxes.append((left, float(y) - 11, left + wide, float(y) + 3))
    assert 5 < len(boxes) < 80
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            apart = one[2] < other[0] or one[0] > other[2] or one[3] < other[1] or one[1] > other[3]
            assert apart


def test_items_without_a_place_are_left_out() -> None:
    points = np.array([[0.0, 0.0], [np.nan, np.nan], [1.0, 1.0]])
    assert map_svg(MapOf("m", points), ["a", "b", "c"]).count("<title>") == 2


@pytest.mark.parametrize("most", [1, 7, 64, 800, 12345])
def test_a_curve_lies_within_its_frame(most) -> None:
    points = [CurvePoint(n, 0.5, 0.3, 0.7) for n in (0, most)]
    numbers = [float(x) for x in re.findall(r'points="([^"]+)"', curve_svg(points, 0.33))[0].replace(",", " ").split()]
    assert min(numbers) >= 0
    assert max(numbers) <= 1000


def test_what_people_wrote_is_text_and_never_html() -> None:
    bad = "<script>alert(1)</script>"
    report = StudyReport(
        bad, bad, [(bad, bad)], [bad] * 2, MapOf(bad, np.eye(2)), bad, [MapOf(bad, np.eye(2))], bad, [], bad, 0.3,
        [(bad, bad)], [[bad], [bad]], bad, [bad], [bad],
    )  # fmt: skip
    assert "<script" not in report_html(report, "")
