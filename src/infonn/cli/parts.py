"""`infonn strategies` and `infonn learners`: what can be plugged in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

PANEL = "Look"
WHY = """
Why info_nn: with the default learner it needed half to three quarters of the answers that random questions
needed, in every experiment, and no other rule was better in all of them (docs/selection.md has the figures)."""


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=PANEL)(strategies)
    app.command(rich_help_panel=PANEL)(learners)


def strategies() -> None:
    """List the selection strategies, one line each, and say why the default is the default."""
    from infonn.specs.registry import DEFAULT_STRATEGIES, strategies_of

    _show("Strategy", strategies_of("similarity"), DEFAULT_STRATEGIES["similarity"])
    typer.echo(WHY)
    typer.echo("\nFor labels:")
    _show("Strategy", strategies_of("labels"), DEFAULT_STRATEGIES["labels"])


def learners() -> None:
    """List the learners, one line each."""
    from infonn.specs.registry import DEFAULT_LEARNERS, learners_of

    _show("Learner", learners_of("similarity"), *DEFAULT_LEARNERS.values())
    typer.echo("\nFor labels:")
    _show("Learner", learners_of("labels"), *DEFAULT_LEARNERS.values())


def _show(kind: str, table: Mapping[str, Any], *defaults: str) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from infonn.specs.registry import describe

    shown = Table(box=None, pad_edge=False, show_header=False)
    for name, line in describe(kind, table).items():
        shown.add_row(f"[bold]{name}[/bold]", escape(line) + (" [green](default)[/green]" if name in defaults else ""))
    Console().print(shown)
