"""What the README and the documentation tell people to type works."""

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import typer
from pages import PAGES, ROOT, SHELL, Block, blocks

import infonn
from infonn.cli.main import app
from infonn.specs import SPEC, check_spec

by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@by_name
def test_a_page_works_from_top_to_bottom(page: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    walk(page, leave_out=("compile only", "slow"))


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if any(b.mark == "slow" for b in blocks(p))], ids=lambda p: p.stem)
def test_a_page_works_with_its_slow_blocks(page: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    walk(page, leave_out=("compile only",))


def walk(page: Path, leave_out: tuple[str, ...]) -> None:
    """In an empty folder. Python blocks share their names, as in a notebook; commands run where they are marked."""
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text)
        elif block.language == "python":
            where = f"{page.relative_to(ROOT)}, line {block.line}"
            code = compile("\n" * (block.line - 1) + block.text, where, "exec")
            if block.mark not in leave_out:
                exec(code, names)
        elif block.mark == "run":
            for command in block.commands:
                run_command(command)


def run_command(command: str) -> None:
    words = shlex.split(command, comments=True)
    assert words[0] == "infonn", f"{command}: only infonn is run by the tests"
    here = {**os.environ, "PYTHONPATH": str(Path(infonn.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", *words], env=here, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@by_name
def test_every_infonn_command_that_is_written_exists(page: Path) -> None:
    """Names of commands and of options; what they do is tested elsewhere."""
    for block in blocks(page):
        if block.language in SHELL:
            for command in block.commands:
                check_command(block, shlex.split(command.split("|")[0].split("&&")[0], comments=True))


def check_command(block: Block, words: list[str]) -> None:
    if words[:2] == ["sudo", "-u"]:
        words = words[3:]
    if not words or Path(words[0]).name != "infonn":
        return
    command: click.Command = typer.main.get_command(app)
    rest = words[1:]
    while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"{block.page.name}, line {block.line}: {' '.join(words)}"
        command = command.commands[rest.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts} | {"-h", "--help"}
    known |= {"--install-completion", "--show-completion"}
    given = {word.split("=")[0] for word in rest if word.startswith("--")}
    assert given <= known, f"{block.page.name}, line {block.line}: {given - known} of {' '.join(words)}"


@by_name
def test_every_study_that_is_written_down_is_a_valid_one(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            tables = tomllib.loads(block.text)
            if set(tables) <= set(SPEC):
                check_spec(tables)


def test_a_command_that_does_not_exist_is_found() -> None:
    block = Block(ROOT / "README.md", "console", "", "$ infonn nothing\n$ infonn plan --colour red\n", 1)
    for command in block.commands:
        with pytest.raises(AssertionError, match=r"README.md, line 1"):
            check_command(block, shlex.split(command))


def test_blocks_are_found_with_their_marks(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text("One\n\n```python\nx = 1\n```\n\n<!-- run -->\n```console\n$ infonn --help\nwords\n```\n")
    python, console = blocks(page)
    assert (python.text, python.mark, python.line) == ("x = 1\n", "", 4)
    assert (console.commands, console.mark) == (["infonn --help"], "run")
