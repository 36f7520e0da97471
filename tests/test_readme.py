"""The README says what is there."""

from pathlib import Path

import pytest

from infonn.specs import CLASS_STRATEGIES, STRATEGIES, describe

README = (Path(__file__).parents[1] / "README.md").read_text()


@pytest.mark.parametrize("table", [STRATEGIES, CLASS_STRATEGIES], ids=["similarity", "labels"])
def test_the_table_of_strategies_is_the_one_in_specs(table) -> None:
    missing = [
        row for name, line in describe("Strategy", table).items() if (row := f"| `{name}` | {line} |") not in README
    ]
    assert not missing, "README.md lacks:\n" + "\n".join(missing)


def test_every_file_the_readme_points_to_is_there() -> None:
    targets = [part.split(")")[0] for part in README.split("](")[1:]]
    assert not [target for target in targets if not (Path(__file__).parents[1] / target).exists()]
