"""The page on security lists every fault that was found by attack, and each has tests named after it."""

import re

import pytest
from pages import ROOT

LISTED = re.findall(r"^\| (\d+|low) \|", (ROOT / "docs" / "security.md").read_text(), re.MULTILINE)
NAMES = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))


def test_the_list_is_whole() -> None:
    assert [*map(str, range(1, 15)), "low"] == LISTED


@pytest.mark.parametrize("point", LISTED)
def test_every_fault_has_a_test_named_after_it(point) -> None:
    name = "test_low_" if point == "low" else rf"test_(point_\d+_and_)?point_{point}_"
    assert re.search(rf"^def {name}", NAMES, re.MULTILINE)
