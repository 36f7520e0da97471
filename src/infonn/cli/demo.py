"""`infonn demo`: an active study of human taste, in about a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Start here")(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("runs/demo"),
    answers: Annotated[int, typer.Option(help="Answers per strategy and trial.", min=60)] = 360,
    trials: Annotated[int, typer.Option(help="Trials with paired seeds.", min=1)] = 3,
    restart: Annotated[bool, typer.Option("--restart", help="Begin again instead of showing what is there.")] = False,
) -> None:
    """Learn what tastes like what from people's answers: questions chosen by Info-NN beside random ones.

    Writes results.jsonl, curves, a map of 73 dishes and report.html, a page to look at.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from infonn.experiments.demo import STRATEGIES, DemoSize, run_demo
    from infonn.records import Round

    console = Console()
    if restart:
        (out / "results.jsonl").unlink(missing_ok=True)
    size = DemoSize(answers=answers, trials=trials)
    console.print("73 dishes, people's recorded answers: [bold]which of these three tastes most like that one?[/bold]")
    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[latest]}"), console=console) as progress:
        bars = {
            name: progress.add_task(title, total=size.rounds * trials, latest="") for name, title in STRATEGIES.items()
        }

        def watch(strategy: str, trial: int, round: Round) -> None:
            latest = f"trial {trial + 1}: {round.measures['triplet_accuracy']:.1%} after {round.n_answers} answers"
            progress.update(bars[strategy], advance=1, latest=latest)

        found = run_demo(out, size, watch)
    console.print(
        f"After {found['answers']:.0f} answers: Info-NN [bold]{found['active_accuracy']:.1%}[/bold], random "
        f"{found['random_accuracy']:.1%} of people's held-out judgements (medians of {trials} trials)."
    )
    console.print(
        f"The median curves reach {found['target']:.1%} after [bold]{found['active_answers']:.0f}[/bold] answers "
        f"(Info-NN) and {found['random_answers']:.0f} (random)."
    )
    console.print(f"Open [bold]{out / 'report.html'}[/bold] in a browser.")
