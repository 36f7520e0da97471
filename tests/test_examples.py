"""The example scripts run as they stand in the documentation."""

import runpy
from pathlib import Path

from infonn.datasets.food import TASTES, food73

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
README = (Path(__file__).parents[1] / "README.md").read_text()


def test_a_sorbet_lands_among_sweet_dishes(capsys):
    runpy.run_path(str(EXAMPLES / "new_dish.py"))
    lines = capsys.readouterr().out.splitlines()
    assert float(lines[0].split()[-1]) > 0.7
    food = food73()
    nearest = [food.names.index(line.strip()) for line in lines[2:]]
    assert len(nearest) == 3
    assert {TASTES[taste] for taste in food.tastes[nearest].argmax(axis=1)} == {"sweet"}


def test_the_sorbet_of_the_readme_does_too():
    (block,) = [block for block in README.split("```python\n") if "sorbet" in block]
    found = {}
    exec(block.split("```")[0], found)
    assert {TASTES[taste] for taste in food73().tastes[found["nearest"]].argmax(axis=1)} == {"sweet"}
