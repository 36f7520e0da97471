"""The guides' blocks that need a neighbour run where it is installed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "documentation"))
from pages import PAGES, blocks

NEEDING = [page for page in PAGES if any(block.mark.startswith("needs: ") for block in blocks(page))]
HERE = [page for page in NEEDING if any(block.can_run for block in blocks(page) if block.mark.startswith("needs: "))]


def test_this_environment_is_here_for_some_guide() -> None:
    assert HERE


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", HERE, ids=lambda page: page.stem)
def test_a_guide_works_from_top_to_bottom(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Python blocks, in an empty folder; its commands are run by the tests of the documentation."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if block.language == "python" and block.can_run:
            exec(compile("\n" * (block.line - 1) + block.text, block.where, "exec"), names)
