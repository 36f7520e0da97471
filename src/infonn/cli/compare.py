"""`infonn compare`: strategies and learners side by side, on a simulated study written as data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infonn.cli.engine import ENGINE, PROCESSES, SCHEDULER

if TYPE_CHECKING:
    from pandas import DataFrame

    from infonn.comparison import Comparison


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Simulate")(compare)


def compare(
    spec: Annotated[Path, typer.Argument(help="The study, written as TOML; its keys are in docs/study-toml.md.")],
    strategies: Annotated[
        str, typer.Option(help="Names with commas between; `infonn strategies` lists them.")
    ] = "default,random",
    learners: Annotated[
        str, typer.Option(help="Names with commas between; `infonn learners` lists them. [default: the study's]")
    ] = "",
    trials: Annotated[int, typer.Option(help="Times each is run; all share their seeds.", min=1)] = 20,
    answers: Annotated[int | None, typer.Option(help="Answers in a run, in place of [budget] answers.", min=1)] = None,
    batch: Annotated[int | None, typer.Option(help="Answers between two fits, likewise.", min=1)] = None,
    target: Annotated[
        float | None, typer.Option(help="Answers to this accuracy are counted. [default: where random ends]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same trials.", min=0)] = 0,
    engine: ENGINE = None,
    processes: PROCESSES = None,
    scheduler: SCHEDULER = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results. [default: runs/NAME of the study, then -compared]")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Forget an earlier comparison in the folder.")] = False,
) -> None:
    """Compare ways to choose questions on one study, answered by a simulation.

    Within a trial every strategy and learner meets the same truth, the same opening and the same seed, so their
    differences can be taken trial by trial. A study may be as short as

    ```toml
    [items]
    dataset = "gaussian"
    n_items = 20
    ```

    With `infonn compare study.toml --strategies info_nn,entropy,random` the table shows, for each, the median accuracy
    along the way, the answers until it stays where random ends, and its mean difference from random with a 95 %
    interval: above 0 throughout means better. Ten trials or more make that worth reading.

    Writes `comparison.csv`, `results.json` with every curve, and a figure for each measure. An interrupted comparison
    goes on where it stopped, and further strategies or trials are added to those that are there. Strategies of your
    own are compared from Python: docs/own-strategy.md.
    """
    from rich.console import Console

    from infonn.cli.progress import CurveBars
    from infonn.comparison import compare as run_comparison
    from infonn.engines import open_engine
    from infonn.specs.settings import read_spec

    console = Console()
    tables = read_spec(spec)
    folder = out or Path("runs") / f"{tables['study']['name']}-compared"
    with open_engine(engine, processes, scheduler) as opened, CurveBars(console) as bars:
        comparison = run_comparison(
            spec,
            strategies=_names(strategies),
            learners=_names(learners) if learners else {tables["learner"]["name"]: tables["learner"]},
            trials=trials,
            answers=answers,
            batch=batch,
            seed=seed,
            engine=opened,
            folder=folder,
            restart=restart,
            progress=bars.show,
            say=lambda text: console.print(text, markup=False),
        )
    table = comparison.table(target=target)
    table.to_csv(folder / "comparison.csv", index=False)
    _show(console, comparison, table)
    console.print(f"Written to [bold]{folder}[/bold]: comparison.csv, results.json and figures (.svg, .png).")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _show(console: Any, comparison: Comparison, table: DataFrame) -> None:
    """The table as a person reads it: few digits, and words for what never came or has nothing beside it."""
    from rich.table import Table

    measure = comparison.measures[0]
    columns = {column: column.rpartition(" ")[2] for column in table.columns if " at " in column}
    targets = {f"{target:.3f}" for target in table["target"]}
    shown = Table(box=None, padding=(0, 1, 0, 0))
    shown.add_column("strategy", style="bold", no_wrap=True)
    shown.add_column("learner", no_wrap=True)
    for name in (*columns.values(), f"to {targets.pop()}" if len(targets) == 1 else "to target", "difference"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("95 % interval", no_wrap=True)
    for _, row in table.iterrows():
        count = row["answers to target"]
        shown.add_row(
            row["strategy"],
            row["learner"],
            *(f"{row[column]:.3f}" for column in columns),
            f"{count:.0f}" if count < float("inf") else "never",
            "" if row.isna()["difference"] else f"{row['difference']:+.3f}",
            "" if row.isna()["low"] else f"{row['low']:+.3f} to {row['high']:+.3f}",
        )
    trials = f"{table['trials'].max()} trials"
    console.print(f"Median {measure.replace('_', ' ')} after so many answers, and answers to the target; {trials}.")
    console.print(shown)
