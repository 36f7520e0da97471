"""The first minute with the command: it says what can be done, completes itself, and runs as a module."""

import os
import subprocess
import sys

from infonn.cli.main import app


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "infonn", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_without_arguments_it_says_what_can_be_done() -> None:
    shown = run().stdout
    for command in ("demo", "run", "plan", "label", "serve", "reproduce"):
        assert command in shown


def test_the_shell_can_complete_its_commands() -> None:
    offered = run(_INFONN_COMPLETE="complete_bash", COMP_WORDS="infonn re", COMP_CWORD="1").stdout
    assert {"reproduce", "report"} <= set(offered.split())


def test_every_command_says_what_it_is_for_in_a_line() -> None:
    import typer

    for name, command in typer.main.get_command(app).commands.items():
        assert (command.help or "").strip(), name
