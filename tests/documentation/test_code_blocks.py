"""What the README and the documentation tell people to type works."""

import os
import shlex
import shutil
import signal
import socket
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
from infonn.specs.settings import Settings, check_spec

by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@by_name
def test_a_page_works_from_top_to_bottom(page: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    walk(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if any(b.mark == "slow" for b in blocks(p))], ids=lambda p: p.stem)
def test_a_page_works_with_its_slow_blocks(page: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    walk(page, with_slow=True)


def walk(page: Path, with_slow: bool = False) -> None:
    """In an empty folder. Python blocks share their names, as in a notebook; commands run where they are marked."""
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text)
        elif block.language == "python":
            code = compile("\n" * (block.line - 1) + block.text, block.where, "exec")
            if block.can_run and (with_slow or block.mark != "slow"):
                exec(code, names)
        elif block.mark == "run" or (with_slow and block.mark == "slow"):
            for command in block.commands:
                run_command(command)
        elif block.mark == "session":
            run_session(block)


def run_command(command: str) -> None:
    words = shlex.split(command, comments=True)
    assert words[0] == "infonn", f"{command}: only infonn is run by the tests"
    here = {**os.environ, "PYTHONPATH": str(Path(infonn.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", *words], env=here, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def run_session(block: Block) -> None:
    """The script as it is written, but for the port; its last word is what the server keeps of the answer."""
    for program in ("curl", "jq"):
        assert shutil.which(program), f"{block.where} needs {program}: apt-get install {program}."
    Path("bin").mkdir()
    command = Path("bin/infonn")
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m infonn "$@"\n')
    command.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = block.text.replace("8000", port).replace("infonn serve", f"infonn serve --port {port}")
    here = {
        **os.environ,
        "PYTHONPATH": str(Path(infonn.__file__).parents[1]),
        "PATH": f"{Path('bin').resolve()}:{os.environ['PATH']}",
    }
    with Path("session.txt").open("w") as kept:  # a file, as a pipe would wait for the server's last word
        bash = subprocess.Popen(["bash", "-euc", script], env=here, stdout=kept, stderr=kept, start_new_session=True)
        try:
            code = bash.wait(timeout=120)
        finally:
            os.killpg(bash.pid, signal.SIGKILL)
    printed = Path("session.txt").read_text()
    assert code == 0, f"{block.where}\n{printed}"
    assert "my-answer-1" in printed.splitlines()[-1], f"{block.where}: no answer in\n{printed}"


@by_name
def test_every_block_is_tested_somehow(page: Path) -> None:
    for block in blocks(page):
        if block.language in (*SHELL, "ini", "nginx") and block.mark not in ("run", "session", "slow"):
            if block.mark.startswith("tested: "):
                assert (ROOT / "tests" / block.mark.removeprefix("tested: ")).is_file(), f"{block.where}: {block.mark}"
            else:
                assert (block.mark, page.stem) == ("by hand", "server"), f"{block.where} is not tested."


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
        assert rest[0] in command.commands, f"{block.where}: {' '.join(words)}"
        command = command.commands[rest.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts} | {"-h", "--help"}
    known |= {"--install-completion", "--show-completion"}
    given = {word.split("=")[0] for word in rest if word.startswith("--")}
    assert given <= known, f"{block.where}: {given - known} of {' '.join(words)}"


@by_name
def test_every_study_that_is_written_down_is_a_valid_one(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            tables = tomllib.loads(block.text)
            if set(tables) <= set(Settings.model_fields):
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
