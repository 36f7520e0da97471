"""`infonn plan`: how many answers a study will need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from infonn.cli.engine import ENGINE, PROCESSES, SCHEDULER


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Simulate")(plan)


def plan(
    items: Annotated[int, typer.Option(help="How many items.", min=3)] = 50,
    dims: Annotated[int, typer.Option(help="In how many ways they differ.", min=1)] = 2,
    candidates: Annotated[int, typer.Option(help="Candidates in a question.", min=2)] = 3,
    noise: Annotated[float, typer.Option(help="Share of answers given at random.")] = 0.1,
    target: Annotated[float, typer.Option(help="Share of triplets the embedding should order correctly.")] = 0.9,
    trials: Annotated[int, typer.Option(help="How many studies to simulate, if time allows.", min=1)] = 20,
    seconds: Annotated[float, typer.Option(help="Start no further simulated study after so many seconds.")] = 45.0,
    seed: Annotated[int, typer.Option(help="Same seed, same studies.", min=0)] = 0,
    engine: ENGINE = None,
    processes: PROCESSES = None,
    scheduler: SCHEDULER = None,
    out: Annotated[Path, typer.Option(help="Folder for the plot and the numbers.")] = Path("runs/plan"),
) -> None:
    """Simulate a study before you collect: how many answers until the embedding is good enough?

    Simulated studies are kept as they finish: the same command goes on from those that are there.
    """
    from rich.console import Console

    from infonn.engines import open_engine
    from infonn.experiments.curve_file import write_json
    from infonn.experiments.planning import (
        ACTIVE,
        FEWEST,
        MEASURE,
        RANDOM,
        Wanted,
        counts_of,
        estimate,
        gain_at,
        open_studies,
        plan_paces,
        run_plan,
        saving,
    )
    from infonn.findings import gain_sentences, length_sentences
    from infonn.plots.look import save
    from infonn.plots.planning import Trials, draw_plan

    console = Console()
    wanted = Wanted(items, dims, candidates, noise, target, seed)
    say = lambda text: console.print(text, markup=False)  # noqa: E731
    with open_engine(engine, processes, scheduler) as opened, _watched(console, trials) as progress:
        curves = run_plan(wanted, trials, seconds, progress, opened, open_studies(out, wanted, say))
    counts = {name: counts_of(curves, name, target) for name in (ACTIVE, RANDOM)}
    estimates = {name: estimate(values) for name, values in counts.items()}
    ratio = saving(counts[ACTIVE], counts[RANDOM])
    gain, lengths = gain_at(curves, ACTIVE, estimates[ACTIVE].median), plan_paces(wanted)
    ways = f"{dims} dimension{'' if dims == 1 else 's'}"
    title = f"{items} items, {ways}, {candidates} candidates, {noise:.0%} of answers given at random"
    drawn = {
        name: Trials(
            [(curve.queries, curve.measures[MEASURE]) for curve in curves if curve.method == name],
            (estimates[name].low, estimates[name].median, estimates[name].high),
        )
        for name in counts
    }
    written = save(draw_plan(drawn, target, title), out / "plan")
    summary = {
        "wanted": vars(wanted),
        "learner": curves[0].learner,
        "answers_to_target": {name: vars(value) for name, value in estimates.items()},
        "saving": None if ratio is None else vars(ratio),
        "gain_of_100_more": None if gain is None else vars(gain),
        "lengths": [{**vars(pace), "nats_per_minute": pace.nats_per_minute} for pace in lengths],
        "curves": [curve.to_json() for curve in curves],
    }
    write_json(out / "plan.json", summary)
    console.print(f"[bold]{title}[/bold]: answers until {target:.0%} of all triplets are ordered correctly")
    _show(console, wanted, estimates, len(counts[ACTIVE]))
    if ratio is not None:
        console.print(
            f"{ACTIVE} needs {ratio.ratio:.2f} of random's answers (95 % interval {ratio.low:.2f} to {ratio.high:.2f})."
        )
    if gain is not None:
        console.print(" ".join([f"After {gain.n_answers:,} answers:", *gain_sentences(gain)]))
    for sentence in length_sentences(lengths, candidates):
        console.print(sentence)
    if len(counts[ACTIVE]) < min(FEWEST, trials):
        console.print(
            f"[yellow]Too few studies for an interval; give it more time: --seconds {3 * seconds:.0f}.[/yellow]"
        )
    console.print(f"Learner {curves[0].learner}. Plot: [bold]{written[1]}[/bold]; numbers: {out / 'plan.json'}.")


@contextmanager
def _watched(console: Any, trials: int) -> Iterator[Callable[[int, int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[now]}"), console=console, transient=True) as progress:
        task = progress.add_task("simulated studies", total=trials, now="")
        yield lambda done, _, answers: progress.update(task, completed=done, now=f"{answers} answers")


def _show(console: Any, wanted: Any, estimates: Any, n_trials: int) -> None:
    from rich.table import Table

    def count(value: float) -> str:
        return f"{value:,.0f}" if value < float("inf") else f"over {wanted.most_answers:,}"

    table = Table("strategy", "median", "half of the studies between", "studies", box=None, padding=(0, 2, 0, 0))
    for name, value in estimates.items():
        table.add_row(name, count(value.median), f"{count(value.low)} and {count(value.high)}", str(n_trials))
    console.print(table)
