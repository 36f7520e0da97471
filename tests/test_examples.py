"""The example scripts run as they stand in the documentation."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def test_a_new_dish_lands_among_others(capsys):
    runpy.run_path(str(EXAMPLES / "new_dish.py"))
    lines = capsys.readouterr().out.splitlines()
    assert float(lines[0].split()[-1]) > 0.78
    assert len(lines) == 6
