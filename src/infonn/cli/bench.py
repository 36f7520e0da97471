"""`infonn bench`: ours beside the plain way, as a table and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

ALONE = ("serve", "page", "attack", "growth", "workers")  # measurements that are no rows of the table


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command(rich_help_panel="Check the claims")(bench)


def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Entries to run; all of them if none is named.")] = None,
    json: Annotated[Path | None, typer.Option(help="Also write the entries to this file.")] = None,
    people: Annotated[int, typer.Option(help="serve: how many people answer at once.", min=1, max=2000)] = 100,
    seconds: Annotated[float, typer.Option(help="serve: for how long.", min=1, max=600)] = 60.0,
    learner: Annotated[str, typer.Option(help="serve: the learner that steers.")] = "posterior",
    items: Annotated[int, typer.Option(help="serve: how many items the study has.", min=4)] = 100,
    storage: Annotated[str | None, typer.Option(help="serve: a storage to use; else a new SQLite file.")] = None,
) -> None:
    """Measure speed and memory side by side with the plain way to do the same.

    Entries that take over 20 seconds run where they are named: `infonn bench label_pool_10m`.

    `infonn bench serve` instead lets a crowd answer at a server on this machine, and `infonn bench page` measures in a
    browser how long it takes from a choice to the next question, and how smoothly the owner's map of a thousand
    pictures moves. `infonn bench attack` lets a stranger do the worst a stranger can meanwhile, and compares how long
    people wait with and without. `infonn bench growth` fits how time and memory grow with items, answers, draws,
    queries, candidates and people; `infonn bench workers` has 50 studies fitted by three workers, one of which is
    killed. `infonn bench scale` writes docs/scale.md from the files of these.
    """
    import json as writer

    if names == ["scale"]:
        from infonn.bench.scale_page import write_scale_page

        typer.echo(f"Written: {write_scale_page(Path('results/bench'), Path('docs'))}")
        return
    if names and len(names) == 1 and names[0] in ALONE:
        text = writer.dumps(_alone(names[0], storage, people, seconds, learner, items), indent=1)
        typer.echo(text)
        if json is not None:
            json.write_text(text + "\n", encoding="utf-8")
        return

    from rich.console import Console
    from rich.table import Table

    from infonn.bench.entries import Entry
    from infonn.bench.table import check_names, run_entries

    console = Console()
    table = Table(title="infonn bench")
    table.add_column("entry", no_wrap=True)
    for number in ("seconds", "baseline seconds", "ratio"):
        table.add_column(number, justify="right")
    table.add_column("also")
    table.add_column("target")
    entries: list[Entry] = []
    wanted = check_names(names or [])
    with console.status("") as status:
        measured = run_entries(wanted)
        for name in wanted:
            status.update(f"Measuring {name} ({len(entries) + 1} of {len(wanted)})")
            entry = next(measured)
            entries.append(entry)
            table.add_row(
                entry.name,
                f"{entry.seconds:.3g}",
                "" if entry.baseline_seconds is None else f"{entry.baseline_seconds:.3g}",
                "" if entry.ratio is None else f"{entry.ratio:,.0f} x",
                "\n".join(f"{key} {value:.3g}" for key, value in entry.extra.items()),
                "\n".join(entry.told_targets()),
            )
            if json is not None:  # after each entry: an interrupted run keeps what it has
                json.write_text(writer.dumps([each.as_dict() for each in entries], indent=1) + "\n")
    console.print(table)
    for entry in entries:
        if entry.baseline:
            console.print(f"[bold]{entry.name}[/bold] against: {entry.baseline}", highlight=False)


def _alone(name: str, storage: str | None, people: int, seconds: float, learner: str, items: int) -> Any:
    """What one of the measurements gives that are no rows of the table."""
    from infonn.bench.attack import bench_attack
    from infonn.bench.growth import bench_growth
    from infonn.bench.map import bench_map
    from infonn.bench.page import bench_page
    from infonn.bench.serve import bench_serve
    from infonn.bench.workers import bench_workers

    if name == "serve":
        return bench_serve(storage, people, seconds, n_items=items, learner=learner)
    if name == "workers":
        return bench_workers(storage)
    if name == "growth":
        return bench_growth()
    return bench_page() | bench_map() if name == "page" else bench_attack()
