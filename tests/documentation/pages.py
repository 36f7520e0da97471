"""The fenced blocks of the README and the documentation, and how each is meant to be tested.

A comment on the line before a block says more about it:

    <!-- file: items.csv -->     the block is written to this file first
    <!-- run -->                 the lines of a console block that begin with "$ " are run
    <!-- session -->             a whole shell script, run by bash with a server on a free port
    <!-- slow -->                a Python block, or the commands of a console block, that only `make test-long` runs
    <!-- needs: PACKAGE -->      a Python block that runs where this package is installed, as `make test-ecosystem` does
    <!-- tested: FILE -->        commands that this file of tests/ runs, in its own way
    <!-- by hand -->             needs root on a machine of its own: only on the page about servers
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])

SHELL = ("console", "bash", "sh")

_BLOCK = re.compile(
    r"(?:<!-- (?P<mark>[^\n]*?) -->\n+)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its mark, its text, and the line at which the text begins."""

    page: Path
    language: str
    mark: str
    text: str
    line: int

    @property
    def where(self) -> str:
        """The page and the line, for a reader."""
        return f"{self.page.name}, line {self.line}"

    @property
    def file(self) -> str | None:
        """The file that this block stands for."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else None

    @property
    def can_run(self) -> bool:
        """Whether the package that this block needs is installed; most need none."""
        return not self.mark.startswith("needs: ") or find_spec(self.mark.removeprefix("needs: ")) is not None

    @property
    def commands(self) -> list[str]:
        """What a person would type: lines after a prompt; every line of a bash block."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if any(line.startswith("$ ") for line in lines):
            return [line[2:] for line in lines if line.startswith("$ ")]
        return [line for line in lines if line.strip() and not line.startswith("#")]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text()
    return [
        Block(page, m["language"], m["mark"] or "", m["text"], text.count("\n", 0, m.start("text")) + 1)
        for m in _BLOCK.finditer(text)
    ]
